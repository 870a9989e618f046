"""The parts of the kernels: exact sums, and plain functions that mean the same when compiled."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.core import rng
from handful.core.rng import State, stream
from handful.core.shuffle import Shuffle, backward, forward
from handful.instances import Instance, distributions, instance, means
from handful.simulation import reference
from handful.simulation import sources as source_files
from handful.simulation.kernels import jit
from handful.simulation.kernels.exact import plus, times
from handful.simulation.kernels.jit import kernel
from handful.simulation.kernels.world import (
    Floats,
    Ints,
    Words,
    World,
    any_reward,
    bernoulli_reward,
    tape_uniform,
)

thorough = settings(derandomize=True, deadline=None, max_examples=500)
counts = st.integers(0, 2**53)
gaps = st.floats(1e-12, 1.0)
pairs_of = st.lists(st.tuples(st.integers(0, 10**12), st.floats(1e-9, 1.0)), max_size=40)

# Exact sums.


@thorough
@given(counts, gaps)
def test_a_product_is_exact_as_a_pair(n: int, gap: float) -> None:
    high, low = times(float(n), gap)
    assert Fraction(high) + Fraction(low) == n * Fraction(gap)
    assert high == n * gap


@thorough
@given(pairs_of)
def test_a_sum_of_pairs_is_right_to_100_bits(terms: list[tuple[int, float]]) -> None:
    high, low, exact = 0.0, 0.0, Fraction(0)
    for n, gap in terms:
        high, low = plus(high, low, *times(float(n), gap))
        exact += n * Fraction(gap)
    assert abs(Fraction(high) + Fraction(low) - exact) <= exact / 2**100
    assert high == high + low


@thorough
@given(
    st.floats(1e-6, 1.0),
    st.lists(st.tuples(st.integers(0, 10**10), st.floats(0.0, 1.0)), max_size=60),
)
def test_regret_is_rounded_once_like_the_oracles(
    best: float, pulled: list[tuple[int, float]]
) -> None:
    high, low = 0.0, 0.0
    slow = reference.ExactSum()
    for n, share in pulled:
        gap = best - best * share
        high, low = plus(high, low, *times(float(n), gap))
        # n additions of the gap, at once: whole numbers lose nothing.
        one = reference.ExactSum()
        one.add(gap)
        slow.units += n * one.units
    assert Fraction(high) + Fraction(low) == Fraction(slow.units, 1 << 1074)
    assert high == slow.value()


def test_plain_doubles_would_not_do() -> None:
    dice = random.Random(1)
    terms = [(dice.randrange(10**6), dice.random()) for _ in range(1000)]
    assert sum(n * gap for n, gap in terms) != float(sum(n * Fraction(gap) for n, gap in terms))


def sum_exactly(n: Floats, gap: Floats, out: Floats) -> None:
    high = 0.0
    low = 0.0
    for i in range(len(n)):
        x, y = times(n[i], gap[i])
        high, low = plus(high, low, x, y)
        out[i, 0] = high
        out[i, 1] = low


def test_compiled_sums_are_the_plain_ones() -> None:
    dice = random.Random(2)
    n = np.array([float(dice.randrange(10**9)) for _ in range(10_000)])
    gap = np.array([dice.random() ** 3 for _ in range(10_000)])
    plain, fast = np.empty((10_000, 2)), np.empty((10_000, 2))
    sum_exactly(n, gap, plain)
    kernel(sum_exactly, "test_exact")(n, gap, fast)
    assert fast.tobytes() == plain.tobytes()


# The generator.

SHAPES = (0.01, 0.3, 1.0, 1.5, 4.0, 70.0, 3e5)


def draw_all(state: Any, a: Floats, b: Floats, out: Floats) -> None:
    for i in range(len(a)):
        out[i, 0] = rng.uniform(state)
        out[i, 1] = rng.positive_uniform(state)
        out[i, 2] = rng.normal(state)
        out[i, 3] = rng.beta(a[i], b[i], state)


def test_compiled_draws_are_the_plain_ones() -> None:
    shapes = [(a, b) for a in SHAPES for b in SHAPES] * 100
    a, b = (np.array(column) for column in zip(*shapes, strict=True))
    plain, fast = np.empty((len(a), 4)), np.empty((len(a), 4))
    state = stream("draws", 1)
    words = np.array(state, dtype=np.uint64)
    draw_all(state, a, b, plain)
    kernel(draw_all, "test_draws")(words, a, b, fast)
    assert fast.tobytes() == plain.tobytes()
    assert words.tolist() == state


def hash_all(x: Words, t: Words, arm: Words, out: Words) -> None:
    for i in range(len(x)):
        out[i, 0] = rng.mix(x[i])
        out[i, 1] = rng.tape_word(x[i], t[i], arm[i])


def test_compiled_words_are_the_plain_ones() -> None:
    dice = random.Random(3)
    edges = [0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
    x = [*edges, *(dice.randrange(2**64) for _ in range(10_000))]
    t = [*edges[::-1], *(dice.randrange(2**53) for _ in range(10_000))]
    arm = [*edges, *(dice.randrange(2**63) for _ in range(10_000))]
    fast = np.empty((len(x), 2), dtype=np.uint64)
    as_words = [np.array(column, dtype=np.uint64) for column in (x, t, arm)]
    kernel(hash_all, "test_words")(as_words[0], as_words[1], as_words[2], fast)
    assert fast[:, 0].tolist() == [rng.mix(word) for word in x]
    assert fast[:, 1].tolist() == [rng.tape_word(*cell) for cell in zip(x, t, arm, strict=True)]


# The shuffle.


def shuffle_all(x: Words, order: Words, out: Words) -> None:
    K, rows, columns, rounds, key = order
    for i in range(len(x)):
        out[i, 0] = forward(x[i], K, rows, columns, rounds, key)
        out[i, 1] = backward(x[i], K, rows, columns, rounds, key)


@pytest.mark.parametrize("K", [1, 2, 3, 5, 97, 255, 256, 257, 10**6, 10**12, 2**53, 2**63 - 1])
def test_compiled_shuffles_are_the_plain_ones(K: int) -> None:
    dice = random.Random(K)
    positions = range(K) if K < 300 else [0, K - 1, *(dice.randrange(K) for _ in range(1000))]
    shuffle = Shuffle.of(K, dice.randrange(2**64))
    fast = np.empty((len(positions), 2), dtype=np.uint64)
    x, order = np.array(positions, dtype=np.uint64), np.array(shuffle, dtype=np.uint64)
    kernel(shuffle_all, "test_shuffle")(x, order, fast)
    assert fast[:, 0].tolist() == [shuffle.arm_at(position) for position in positions]
    assert fast[:, 1].tolist() == [shuffle.position_of(arm) for arm in positions]


# Means and distributions.


def meet_all(world: World, arms: Ints, state: Any, out: Floats) -> None:
    for i in range(len(arms)):
        mean = means.mean_of(world.kind, arms[i], world.n_arms, world.a, world.top, world.listed)
        centre = distributions.centre_of(world.law, mean, world.spread)
        out[i, 0] = mean
        out[i, 1] = centre
        out[i, 2] = distributions.draw(world.law, mean, centre, world.spread, state)


def some_arms(world: Instance, count: int) -> list[int]:
    dice = random.Random(world.name)
    return [0, world.n_arms - 1, *(dice.randrange(world.n_arms) for _ in range(count))]


def plainly_met(world: Instance, arms: Sequence[int], state: State) -> list[list[float]]:
    rows = []
    for arm in arms:
        mean = world.mean(arm)
        centre = distributions.centre_of(world.distribution, mean, world.spread)
        rows.append([mean, centre, world.draw(arm, state)])
    return rows


@pytest.mark.parametrize("law", ["bernoulli", "beta", "beta:0.5", "uniform", "constant"])
@pytest.mark.parametrize(
    "spec", ["linear:10", "linear:1000000000000", "power:100:0.3", "bernoulli:0,1,0.5,1e-9,0.999"]
)
def test_compiled_means_and_rewards_are_the_plain_ones(spec: str, law: str) -> None:
    check_world(instance(f"{spec}+{law}"), 500)


@pytest.mark.parametrize("spread", [0.001, 0.1, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("spec", ["linear:10", "power:1000000:0.3", "bernoulli:0,1,1e-4,0.5,0.999"])
def test_compiled_truncated_normals_are_the_plain_ones(spec: str, spread: float) -> None:
    check_world(instance(f"{spec}+truncnorm:{spread!r}"), 50)


def check_world(world: Instance, count: int) -> None:
    arms = some_arms(world, count)
    state = stream("worlds", world.name)
    words = np.array(state, dtype=np.uint64)
    fast = np.empty((len(arms), 3))
    kernel(meet_all, "test_worlds")(World.of(world), np.array(arms), words, fast)
    assert fast.tolist() == plainly_met(world, arms, state)
    assert words.tolist() == state


# The tape.


def play_tape(world: World, arms: Ints, tape: Words, state: Words, out: Floats) -> None:
    for t in range(len(arms)):
        mean = means.mean_of(world.kind, arms[t], world.n_arms, world.a, world.top, world.listed)
        centre = distributions.centre_of(world.law, mean, world.spread)
        key = tape[0]
        out[t, 0] = any_reward(world.law, arms[t], mean, centre, world.spread, True, key, t, state)
        out[t, 1] = tape_uniform(key, t, arms[t])
        out[t, 2] = bernoulli_reward(0, arms[t], mean, 0.0, 0.0, True, key, t, state)


@pytest.mark.parametrize("law", ["bernoulli", "beta", "uniform", "truncnorm"])
@pytest.mark.parametrize("K", [10, 10**12])
def test_the_compiled_tape_is_the_oracles(law: str, K: int) -> None:
    world = instance(f"linear:{K}+{law}")
    arms = some_arms(world, 500)
    key = rng.words("tape", law, K, count=1)[0]
    fast = np.empty((len(arms), 3))
    words = np.zeros(2, dtype=np.uint64)
    tape = np.array([key], dtype=np.uint64)
    kernel(play_tape, "test_tape")(World.of(world), np.array(arms), tape, words, fast)
    for t, arm in enumerate(arms):
        assert fast[t, 0] == world.draw(arm, reference._tape_state(key, t, arm))
        assert fast[t, 1] == rng.uniform(reference._tape_state(key, t, arm))
        assert fast[t, 2] == distributions.bernoulli(
            world.mean(arm), reference._tape_state(key, t, arm)
        )


# The cache.


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
        "rng.py",
        "shuffle.py",
        "rules/ucb1.py",
        "policies/schedule.py",
        "instances/means.py",
        "instances/distributions.py",
        "simulation/kernels/phased.py",
        "simulation/kernels/exact.py",
    ],
)
def test_a_change_to_what_kernels_are_made_of_moves_the_cache(source: str, sources: Path) -> None:
    before = folder()
    path = sources / source
    path.write_text(path.read_text() + "\n# changed\n")
    assert folder() != before


def test_a_new_rule_moves_the_cache(sources: Path) -> None:
    before = folder()
    (sources / "rules" / "new.py").write_text("")
    (sources / "rules" / "new.py").write_text("SCALE = 2.0\n")
    assert folder() != before


def test_a_change_elsewhere_leaves_the_cache_where_it_is(sources: Path) -> None:
    before = folder()
    for source in ("errors.py", "simulation/plan.py"):
        path = sources / source
        path.write_text(path.read_text() + "\n# changed\n")
    assert folder() == before


@pytest.mark.parametrize(
    ("source", "moved"),
    [
        ("policies/race.py", {"race"}),
        ("policies/bounded.py", {"bounded", "modern"}),
        ("policies/automaton.py", {"race", "bounded", "modern"}),
        ("policies/schedule.py", {"race", "bounded", "modern"}),
        ("rules/ucb1.py", {"race", "bounded", "modern"}),
        ("policies/__init__.py", set()),
    ],
)
def test_what_is_kept_of_a_policy_belongs_to_what_it_is_made_of(
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


def test_without_a_folder_to_write_to_kernels_work_and_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept() -> list[Path]:
        return list(Path(__file__).parent.rglob("*test_nowhere*.nb*"))

    for leftover in kept():
        leftover.unlink()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "file" / "folder")
    assert kernel(add_one, "test_nowhere")(1.0) == 2.0
    # Beside the source, where Numba would keep it, nobody looks at the other sources.
    assert not kept()


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
