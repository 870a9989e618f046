"""Where kernels are cached, when they are compiled again, and that processes do not mix them up."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import handful
from handful.compiling import cache, jit
from handful.compiling import sources as source_files
from handful.compiling.jit import kernel
from handful.errors import EngineError
from handful.policies import PhasedPolicy
from handful.rules import Moment, Rule
from handful.simulation import compiled, plan
from handful.simulation.execution import compiling_message
from tests.simulation.agree import assert_engines_agree


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's sources, which the cache looks at instead."""
    copy = tmp_path / "handful"
    copytree(source_files.ROOT, copy)
    monkeypatch.setattr(source_files, "ROOT", copy)
    monkeypatch.setattr(jit, "source_digest", source_files.source_digest.__wrapped__)
    return copy


def folder() -> Path:
    """The cache's folder, worked out anew."""
    return jit.cache_folder.__wrapped__()


@pytest.mark.parametrize(
    "source",
    [
        "core/rng.py",
        "core/shuffle.py",
        "core/slots.py",
        "core/state.py",
        "rules/ucb1.py",
        "policies/schedule.py",
        "instances/means.py",
        "instances/distributions.py",
        "simulation/kernels/phased.py",
        "simulation/kernels/record.py",
        "simulation/kernels/exact.py",
    ],
)
def test_a_change_to_what_kernels_are_made_of_moves_the_cache(source: str, sources: Path) -> None:
    before = folder()
    path = sources / source
    path.write_text(path.read_text() + "\n# changed\n")
    assert folder() != before


def test_a_new_rule_moves_the_cache_once_it_is_imported(sources: Path) -> None:
    rules = sources / "rules" / "__init__.py"
    (sources / "rules" / "new.py").write_text("SCALE = 1.0\n")
    rules.write_text(rules.read_text() + "\nfrom handful.rules.new import SCALE\n")
    before = folder()
    (sources / "rules" / "new.py").write_text("SCALE = 2.0\n")
    assert folder() != before


def test_a_change_elsewhere_leaves_the_cache_where_it_is(sources: Path) -> None:
    before = folder()
    for source in ("cli/run.py", "plots/style.py", "studies/advice.py", "policies/cover.py"):
        path = sources / source
        path.write_text(path.read_text() + "\n# changed\n")
    assert folder() == before


@pytest.mark.parametrize(
    ("source", "moved"),
    [
        ("policies/race.py", {"race"}),
        ("policies/racing/duels.py", {"race"}),
        ("policies/bounded.py", {"race", "bounded", "modern"}),
        ("policies/hand.py", set()),
        ("policies/schedule.py", {"race", "bounded", "modern"}),
        ("rules/ucb1.py", {"race", "bounded", "modern"}),
        ("policies/cover.py", set()),
        ("policies/__init__.py", set()),
    ],
)
def test_what_is_cached_of_a_policy_belongs_to_what_it_is_made_of(
    source: str, moved: set[str], sources: Path
) -> None:
    def digests() -> dict[str, str]:
        return {
            name: source_files.source_digest.__wrapped__(f"handful.policies.{name}")
            for name in ("race", "bounded", "modern")
        }

    before = digests()
    path = sources / source
    path.write_text(path.read_text() + "\n# changed\n")
    after = digests()
    assert {name for name in before if before[name] != after[name]} == moved


def test_modules_imported_from_the_package_by_name_count_too(sources: Path) -> None:
    race, digest = sources / "policies" / "race.py", source_files.source_digest.__wrapped__
    for text in (
        "from handful.policies import cover\n",
        "from handful.policies import (\n  cover,\n)\n",
    ):
        race.write_text(text)
        before = digest("handful.policies.race")
        cover = sources / "policies" / "cover.py"
        cover.write_text(cover.read_text() + "\n# changed\n")
        assert digest("handful.policies.race") != before


def test_the_cache_lives_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDFUL_CACHE_DIR", str(tmp_path / "own"))
    assert tmp_path / "own" in folder().parents
    monkeypatch.delenv("HANDFUL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert tmp_path / "xdg" / "handful" in folder().parents
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Path.home() / ".cache" / "handful" in folder().parents


def add_one(x: float) -> float:
    return x + 1.0


def test_without_a_folder_to_write_to_kernels_work_and_are_not_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def beside_the_source() -> list[Path]:
        return list(Path(__file__).parent.rglob("*test_nowhere*.nb*"))

    for leftover in beside_the_source():
        leftover.unlink()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "file" / "folder")
    monkeypatch.setattr(cache, "_warned", False)
    with pytest.warns(RuntimeWarning, match="cannot be cached in .*HANDFUL_CACHE_DIR"):
        compiled = kernel(add_one, "test_nowhere")
    assert compiled(1.0) == 2.0
    # Beside the source, where Numba would cache it, nobody looks at the other sources.
    assert not beside_the_source()
    assert kernel(add_one, "test_nowhere")(2.0) == 3.0  # and no second warning


IN_ANOTHER_PROCESS = """
from handful.rules import MOSS, THOMPSON, UCB1
from handful.simulation import compiled, plan
from handful.simulation.kernels import phased, segments

for policy, rule in (("ucb-m", UCB1), ("moss-m", MOSS), ("ts-m", THOMPSON)):
    cell = plan.cell(policy, "linear:10", 2, 1000, runs=1)
    regret = compiled.simulate_runs(cell, [1000], n_jobs=1).regret[0, 0]
    build = segments.build_for(rule, bernoulli=True, endless=False, skipping=False, m=2)
    stats = phased.phased_kernel(rule, build).stats
    print(policy, regret, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def start_another_process(folder: Path | None = None) -> subprocess.Popen[str]:
    own = {} if folder is None else {"HANDFUL_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS]
    return subprocess.Popen(command, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True)


def rows(process: subprocess.Popen[str]) -> list[list[str]]:
    """What a process printed: policy, regret, cache hits, cache misses."""
    output, _ = process.communicate()
    assert process.returncode == 0
    return [line.split() for line in output.splitlines()]


def test_a_second_process_finds_the_kernels_of_the_first() -> None:
    first = rows(start_another_process())
    second = rows(start_another_process())
    assert [row[:2] for row in first] == [row[:2] for row in second]
    assert [row[2:] for row in second] == [["1", "0"]] * 3


@pytest.mark.long
def test_kernels_that_two_processes_compile_at_once_serve_a_third(tmp_path: Path) -> None:
    at_once = [start_another_process(tmp_path) for _ in range(2)]
    first, second = (rows(process) for process in at_once)
    third = rows(start_another_process(tmp_path))
    usual = rows(start_another_process())
    for some in (first, second, third):
        assert [row[:2] for row in some] == [row[:2] for row in usual]
    assert [row[2:] for row in third] == [["1", "0"]] * 3


HELPER = """
from handful.core.slots import admit

SCALE = {scale}
LISTED = [1, 2]


def pick(state):
    return 0 if state.sums[0] + SCALE / state.pulls[0] >= 0.9 else 1


def start(state, p):
    admit(state, 0, 0)
    admit(state, 1, 1)
    state.pulls[0] = 1


def listed(state):
    return LISTED[state.clock % 2] - 1
"""

OWN = """
import handful
import helper_of_own


class Own(handful.Policy):
    name = "own-by-module"
    start = staticmethod(helper_of_own.start)

    @staticmethod
    def propose(state, p):
        return helper_of_own.pick(state)


class Listed(Own):
    name = "listed"

    @staticmethod
    def propose(state, p):
        return helper_of_own.listed(state)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module with policies of a user's, which use a module of theirs."""
    (tmp_path / "helper_of_own.py").write_text(HELPER.format(scale=0.5))
    (tmp_path / "policies_of_own.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("policies_of_own")
    for name in ("policies_of_own", "helper_of_own"):
        del sys.modules[name]


def test_functions_of_modules_are_followed(own: Any) -> None:
    assert_engines_agree(plan.cell(own.Own, "linear:9", 2, 1000, runs=2))


def test_what_cannot_be_compiled_is_named_with_its_line(own: Any) -> None:
    with pytest.raises(EngineError) as caught:
        handful.simulate(own.Listed, "linear:9", memory=2, horizon=100, runs=1, engine="compiled")
    said = str(caught.value)
    assert said.startswith("listed of listed cannot be compiled: scores and functions of policies")
    assert "Numba says" in said
    assert "helper_of_own.py, line 19: return LISTED[state.clock % 2] - 1)" in said


HITS = """
from policies_of_own import Own

from handful.simulation import compiled, plan

cell = plan.cell(Own, "linear:9", 2, 1000, runs=1)
regret = compiled.simulate_runs(cell, [1000], n_jobs=1).regret[0, 0]
stats = compiled._kernel(cell, False).stats
print(compiled.compiles_once(cell), regret, sum(stats.cache_hits.values()))
"""


def run_own(folder: Path, **variables: str) -> list[str]:
    """Run the policy of a user's in another process; return whether cached, regret, hits."""
    paths = {"HANDFUL_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", HITS],
        env={**os.environ, **paths, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize("by_name", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_kernel_of_a_user_s_is_cached_until_anything_it_reads_changes(
    by_name: bool, tmp_path: Path
) -> None:
    helper, policies = tmp_path / "helper_of_own.py", tmp_path / "policies_of_own.py"
    own = OWN
    if by_name:
        own = OWN.replace("return helper_of_own.pick", "return pick")
        own = own.replace(
            "import helper_of_own\n", "import helper_of_own\nfrom helper_of_own import pick\n"
        )
    policies.write_text(own)
    helper.write_text(HELPER.format(scale=0.5))
    first, second = run_own(tmp_path), run_own(tmp_path)
    assert first == ["True", first[1], "0"]
    assert second == ["True", first[1], "1"]
    helper.write_text(HELPER.format(scale=5.0))
    changed = run_own(tmp_path)
    assert changed[2] == "0"
    assert changed[1] != first[1]
    # A value that is not in any source.
    helper.write_text(HELPER.format(scale="float(__import__('os').environ['SCALE'])"))
    assert run_own(tmp_path, SCALE="0.5")[1:] == [first[1], "0"]
    assert run_own(tmp_path, SCALE="5.0")[1:] == [changed[1], "0"]
    assert run_own(tmp_path, SCALE="0.5")[1:] == [first[1], "1"]


def test_what_has_no_source_is_compiled_in_every_process() -> None:
    space: dict[str, Any] = {"__name__": "nowhere"}
    exec("def score(n, s, now):\n    return s / n", space)
    policy = type("Typed", (PhasedPolicy,), {"name": "typed", "rule": Rule("t", space["score"])})
    cell = plan.cell(policy, "linear:9", 2, 100, runs=1)
    assert not compiled.compiles_once(cell)
    assert "in every process" in compiling_message(cell)
    assert compiling_message(plan.cell("ucb-m", "linear:9", 2, 100)) == "compiling kernels, once"


LEVEL = 1.0


def levelled(n: int, s: float, now: Moment) -> float:
    return s / n + LEVEL / n


def test_a_function_that_changed_after_it_was_compiled_is_not_cached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy = type("Level", (PhasedPolicy,), {"name": "level", "rule": Rule("l", levelled)})
    finite = plan.cell(policy, "linear:9", 2, 100, runs=1)
    assert compiled.compiles_once(finite)
    # Another kernel of the same function, which Numba may have compiled for the first.
    monkeypatch.setitem(globals(), "LEVEL", 2.0)
    other = plan.cell(policy, "linear:9+beta", 2, 100, runs=1)
    assert not compiled.compiles_once(other)
