"""CONTRIBUTING.md keeps its word: a rule, a policy, an engine, a table and a command are added.

Each is added to a copy of the package in as many places as the page says. A distribution and an
instance are added by `tests/instances/test_additions.py`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import pytest

from handful.core.envelope import VERSION
from tests.additions import Edit, copy_with, run_in
from tests.instances import test_additions
from tests.pages import ROOT, run_command

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PROGRAM = ("-c", "from handful.cli import main; main()")

RULE = (
    Edit(
        "rules/ucb_tuned.py",
        None,
        '''"""UCB1-tuned: the bonus shrinks with the arm's variance.

    score = mean + sqrt(min(1/4, V + sqrt(2 ln t / n)) ln t / n),   V = mean (1 - mean)

Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002, section 4.
"""

from __future__ import annotations

import math

from handful.rules.base import Moment, Rule


def score(n: int, s: float, now: Moment) -> float:
    """Return the upper confidence bound."""
    mean = s / n
    level = math.log(now.t) / n
    return mean + math.sqrt(min(0.25, mean * (1.0 - mean) + math.sqrt(2.0 * level)) * level)


UCB_TUNED = Rule("ucb-tuned", score)
''',
    ),
    Edit(
        "rules/__init__.py",
        "from handful.rules.ucb_v import UCB_V",
        "from handful.rules.ucb_tuned import UCB_TUNED\n",
    ),
    Edit("rules/__init__.py", '    "UCB_V",', '    "UCB_TUNED",\n'),
)
POLICY = (
    Edit(
        "policies/tuned.py",
        None,
        '''"""Algorithm 1 with UCB1-tuned."""

from __future__ import annotations

from handful.policies.phased import PhasedPolicy
from handful.rules import UCB_TUNED


class UCBTunedM(PhasedPolicy):
    """UCB-tuned-M: Algorithm 1 with UCB1-tuned."""

    name = "ucb-tuned-m"
    title = "UCB-tuned-M"
    summary = "Algorithm 1 with UCB1-tuned"
    rule = UCB_TUNED
''',
    ),
    Edit(
        "policies/__init__.py",
        "from handful.policies.two_target import TwoTarget",
        "from handful.policies.tuned import UCBTunedM\n",
    ),
    Edit("policies/__init__.py", "        RandomPolicy,", "        UCBTunedM,\n"),
)
ENGINE = (
    Edit(
        "simulation/kernels/at_random.py",
        None,
        '''"""The policy that picks an arm of a finite set at random, without its record."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from handful.core.rng import uniform
from handful.policies.base import Policy
from handful.policies.random import RandomPolicy
from handful.simulation.kernels.block import entry
from handful.simulation.kernels.exact import plus
from handful.compiling.jit import family, kernel
from handful.simulation.kernels.record import RecordSpace
from handful.simulation.kernels.world import Batch, Build, World


def is_random(policy: type[Policy]) -> bool:
    """Return whether the kernel serves a policy."""
    return policy.propose is RandomPolicy.propose


@cache
def at_random_kernel(build: Build) -> Callable[..., None]:
    """Return the kernel of run r."""
    enter = entry(build)

    def run(r: int, world: World, batch: Batch, space: RecordSpace) -> None:
        truth, choices = space.truth, space.generator
        choices[0] = batch.choices[r, 0]
        choices[1] = batch.choices[r, 1]
        K = world.n_arms
        high = 0.0
        low = 0.0
        t = 0
        for g in range(len(batch.grid)):
            batch.progress[0] += batch.grid[g] - t
            while t < batch.grid[g]:
                arm = min(K - 1, int(uniform(choices) * K))
                enter(0, arm, batch.arms[r], world, truth, space.scratch)
                high, low = plus(high, low, truth.gaps[0], 0.0)
                if batch.pulls.shape[1] > 0:
                    batch.pulls[r, arm] += 1
                t += 1
            batch.regret[r, g] = high + low
            if batch.stop[0] != 0:
                return

    return kernel(run, family(f"at_random_{build.tag}", "random", run))
''',
    ),
    Edit(
        "simulation/kinds.py",
        "from handful.simulation.kernels.block import",
        "from handful.simulation.kernels.at_random import at_random_kernel, is_random\n",
    ),
    Edit(
        "simulation/kinds.py",
        "def kind_of(",
        '''class AtRandom(Records):
    """An arm at random."""

    def serves(self, policy: type[Policy]) -> bool:
        """The policy that picks at random."""
        return is_random(policy)

    def supports(self, cell: Cell) -> bool:
        """Whether the arms are a finite set."""
        return super().supports(cell) and not cell.instance.endless

    def kernel(self, cell: Cell, build: Build) -> Any:
        """One for all."""
        return at_random_kernel(build)

    def start(self, cell: Cell, kernel: Any, lanes: int) -> Run:
        """With the space of a record, for what is true of the arm."""
        world = World.of(cell.instance)
        mine = record.record_space(cell.policy, 1)
        return lambda block, batch: kernel(block.first, world, batch, mine.cleared())

    def forget(self) -> None:
        """The kernel."""
        at_random_kernel.cache_clear()


AT_RANDOM = AtRandom()


''',
    ),
)
TABLE = (
    Edit(
        "studies/paper/published.py",
        "TABLE_2: dict",
        '''TABLE_3: dict[tuple[str, int], Numbers] = {
    ("QMoss-M", 2): ((1.5, 0.2), (0.3, 0.1), (1.0, 0.1), (0.4, 0.1)),
}
"""alpha = 0.4, made up."""

''',
    ),
    Edit(
        "studies/paper/experiments.py",
        '    "fig1": ByPolicy(',
        '    "table3": Table(0.4, published.TABLE_3),\n',
    ),
    Edit("cli/paper.py", "    fig1    K = 100", "    table3  the same with alpha = 0.4\n"),
)
COMMAND = (
    Edit(
        "cli/instances.py",
        None,
        '''"""`handful instances`: the means of an instance."""

from __future__ import annotations

import click

from handful.cli.show import HELP
from handful.instances import instance


@click.command("instances", context_settings=HELP)
@click.argument("spec")
def command(spec: str) -> None:
    """Print the means of the first arms of an instance."""
    world = instance(spec)
    for arm in range(min(world.n_arms, 10)):
        click.echo(world.mean(arm))
''',
    ),
    Edit(
        "cli/app.py",
        '    "doctor": ',
        '    "instances": "Print the means of the first arms of an instance.",\n',
    ),
)
ADDED: dict[str, tuple[Any, ...]] = {
    "a rule": RULE,
    "a policy": POLICY,
    "a distribution": test_additions.DISTRIBUTION,
    "an instance": test_additions.INSTANCE,
    "an engine": ENGINE,
    "a table": TABLE,
    "a command": COMMAND,
}

SIMULATE = """
import json, sys
import handful
from handful import testing
from handful.policies import POLICIES
from handful.simulation.kinds import kind_of

def regrets(policy, memory, engine):
    found = handful.simulate(policy, "linear:9+beta", memory=memory, horizon=700, runs=3, seed=2,
                             engine=engine)
    return found.curve.per_run.tolist(), found.pulls.tolist()

testing.check_policy(POLICIES["ucb-tuned-m"])
print(json.dumps({
    "file": handful.__file__,
    "tuned": [regrets("ucb-tuned-m", 3, engine) for engine in ("python", "compiled")],
    "random": [regrets("random", None, engine) for engine in ("python", "compiled")],
    "kind": type(kind_of(POLICIES["random"])).__name__,
    "restored": handful.from_bytes(
        handful.policy("ucb-tuned-m", arms=9, memory=2).to_bytes(), arms=9
    ).name,
}))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("added")
    copy_with((*RULE, *POLICY, *ENGINE, *TABLE, *COMMAND), folder)
    return folder


in_one_worker = pytest.mark.xdist_group("added")  # the package is copied once


def places(text: str) -> dict[str, tuple[int, list[str]]]:
    """What the table says of each addition: how many places, and in which files."""
    rows = re.findall(r"^\| (an? \w+)[^|]*\| (\d+) \| ([^|]*)\|", text, flags=re.MULTILINE)
    return {name: (int(count), re.findall(r"`([\w/]+\.py)`", where)) for name, count, where in rows}


@pytest.mark.parametrize("name", ADDED)
def test_it_takes_as_many_places_as_the_table_says(name: str) -> None:
    count, named = places(PAGE)[name]
    edits = ADDED[name]
    assert count == len(edits)
    assert count <= 3
    edited = {edit.file for edit in edits if edit.before is not None}
    made = {str(Path(edit.file).parent / "yours.py") for edit in edits if edit.before is None}
    assert set(named) == edited | made


@in_one_worker
def test_a_rule_a_policy_and_an_engine_are_added(home: Path) -> None:
    report = json.loads(run_in(home, "-c", SIMULATE))
    assert report["file"] == str(home / "handful" / "__init__.py")
    for name in ("tuned", "random"):
        by_python, compiled = report[name]
        assert by_python == compiled
        assert min(map(min, by_python[0])) >= 0.0
        assert sum(by_python[1][0]) == 700
    assert report["kind"] == "AtRandom"
    assert report["restored"] == "ucb-tuned-m"


OVER_ALL_POLICIES = (
    "tests/golden",
    "tests/policies/test_layout.py",
    "tests/policies/test_contract.py::test_every_policy_is_checked",
    "tests/test_docs.py::test_every_policy_is_defined_on_the_page_of_mathematics",
    "tests/test_readme.py::test_it_counts_the_policies_that_it_does_not_name",
)


@in_one_worker
def test_an_added_policy_passes_the_tests_once_it_has_what_the_page_says(home: Path) -> None:
    for name in ("tests", "docs"):
        copytree(ROOT / name, home / name, ignore=ignore_patterns("__pycache__", "images"))
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        (home / name).write_bytes((ROOT / name).read_bytes())
    run_tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    golden = home / "tests" / "golden" / f"format-{VERSION}"
    before = {path.name: path.read_bytes() for path in golden.iterdir()}

    printed = run_in(home, *run_tests, *OVER_ALL_POLICIES, status=1)
    failed = {line.split()[1].split("[")[0] for line in printed.splitlines() if "FAILED" in line}
    assert {name.partition("::")[2] for name in failed} == {
        "test_every_policy_has_a_saved_state_of_the_current_format",
        "test_a_policy_still_saves_the_same_fields",
        "test_every_policy_has_a_layout",
        "test_every_policy_is_defined_on_the_page_of_mathematics",
    }
    assert {path.name: path.read_bytes() for path in golden.iterdir()} == before

    page = home / "docs" / "mathematics.md"
    page.write_text(page.read_text("utf-8") + "\n`ucb-tuned-m`\n", "utf-8")
    run_in(home, "-m", "tests.golden.write")
    run_in(home, *run_tests, *OVER_ALL_POLICIES)
    after = {path.name: path.read_bytes() for path in golden.iterdir()}
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"ucb-tuned-m.bin", "next.json", "layout.json"}


SHORT = """
from handful.cli import main
from handful.simulation import execution
from handful.studies.paper import experiments

experiments.HORIZON = 10**4
execution.choose = lambda planned, engine: "python"  # nothing to compile
main()
"""


@in_one_worker
def test_a_table_is_added(home: Path) -> None:
    words = ("paper", "table3", "--runs", "2", "--json", "--out", "report")
    cells = json.loads(run_in(home, "-c", SHORT, *words))
    assert [(cell["instance"], cell["published_mean"]) for cell in cells] == [
        ("I1", 1.5), ("I2", 0.3), ("I3", 1.0), ("I4", 0.4)
    ]  # fmt: skip
    assert all(0.0 < cell["mean"] < 10.0 for cell in cells)


@in_one_worker
def test_a_command_is_added(home: Path) -> None:
    assert run_in(home, *PROGRAM, "instances", "bernoulli:0.9,0.5") == "0.9\n0.5\n"
    assert "  instances " in run_in(home, *PROGRAM, "--help")


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make ([a-z-]+)`", PAGE))))
def test_the_targets_that_it_names_exist(target: str) -> None:
    run_command(f"make -n {target}", ROOT)


@pytest.mark.parametrize(
    "named", sorted(set(re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.-]+)`", PAGE)))
)
def test_the_files_that_it_names_exist(named: str) -> None:
    assert (ROOT / named).exists() or Path(named).stem == "yours"
