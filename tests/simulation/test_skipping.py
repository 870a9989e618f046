"""The skipping engine has the distribution of the policy itself.

It makes other choices than the reference, so their distributions are compared: pulls by arm, and
regret at three times, over random settings. The compiled engine stands in for the reference, for
the sake of large samples: it makes the reference's choices to the last bit, which is tested
elsewhere and here again for the first run of each setting.

Each comparison is a Kolmogorov-Smirnov test and a Mann-Whitney test (both conservative with ties)
of independent samples with fixed seeds. All tests of this file together raise a false alarm with a
probability below 10^-4: `LEVEL` is that of one setting, divided further among its comparisons. Some
tests break the engine on purpose, to show that these samples see it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from handful.compiling import jit
from handful.compiling.jit import kernel
from handful.core.rng import stream
from handful.rules import IMED
from handful.simulation import compiled, engines, plan
from handful.simulation.kernels import monotone, phased, segments, stretches
from handful.simulation.kernels.block import Luck, space
from handful.simulation.kernels.scores import scores_of
from handful.simulation.kernels.world import FEW, Build
from handful.simulation.outcome import Outcome
from handful.simulation.plan import Cell
from handful.simulation.reference import simulate_run
from tests.simulation.agree import TRIALS, assert_same, first

LEVEL = 1e-4 / 330
RUNS = 1000


FINITE: list[Any] = [
    "ucb1", "moss", "kl-ucb", "imed", "ts", "ucb-mpa", "ucb-m", "ucb-m:eta=0.2", "moss-m", "ts-m",
    "klucb-m", "imed-m", "race", "constant-space:c=0.1", "constant-space", "robbins:r=2", "cover",
    "moss-anytime", "kl-ucbpp", "single-pass", "mpse", "mbse:c=0.1", "game-of-coins", "ucb-v",
    "ucbv-m", "subsampled-greedy", "proven-race",
]  # fmt: skip
ENDLESS: list[Any] = [
    "qucb-m", "qts-m", "qmoss-m", "qrm2", "herschkorn", "fixed-run:k=2", "k-failure:k=3",
    "nonrecalling-run", "sqrt-run", "sqrt-log-learning", "sqrt-run-tabulated",
    "sqrt-log-tabulated", "pekoz-a:k=3", "pekoz-b", "two-target",
]  # fmt: skip


def small_cell(policy: Any, index: int) -> Cell:
    """A setting with few arms and pulls; means may be equal, close, 0 or 1."""
    dice = random.Random(f"{policy} {index}")
    horizon = int(10 ** dice.uniform(1.7, 3.3))
    cls, _ = plan.parse_policy(policy)
    if cls.endless:
        a, b = (round(dice.choice([0.5, 1.0, 2.0, 5.0]), 2) for _ in range(2))
        world = f"beta:{a}:{b}:{dice.choice([1.0, 0.7])}"
        n_arms = 100
    else:
        n_arms = 2 if cls.name == "cover" else dice.randint(2, 6)
        centre, spread = dice.random(), 10 ** dice.uniform(-2, 0)
        means = [
            min(1.0, max(0.0, round(centre + spread * dice.uniform(-1, 1), 3)))
            for _ in range(n_arms)
        ]
        world = "bernoulli:" + ",".join(map(str, means))
    memory = dice.randint(2, min(5, n_arms)) if cls.takes_memory() else None
    return plan.cell(policy, world, memory, horizon, runs=RUNS)


def samples(cell: Cell) -> tuple[Outcome, Outcome]:
    """The same cell by the step engine and by the skipping engine, from different seeds."""
    grid = sorted({max(1, cell.horizon // 10), max(1, cell.horizon // 3), cell.horizon})
    stepped = compiled.simulate_runs(replace(cell, seed=1), grid)
    assert_same(first(stepped, 1), simulate_run(replace(cell, seed=1), 0, grid))
    return stepped, compiled.simulate_runs(replace(cell, seed=2), grid, skipping=True)


def columns(outcome: Outcome) -> Iterator[np.ndarray]:
    yield from outcome.regret.T
    if outcome.pulls is not None:
        yield from outcome.pulls.T[:10]


def least_p(one: Outcome, other: Outcome) -> float:
    """The smallest p-value of all comparisons, times their number."""
    values = [1.0]
    for x, y in zip(columns(one), columns(other), strict=True):
        if np.ptp(np.concatenate([x, y])) > 0:
            values.append(float(stats.ks_2samp(x, y, method="asymp").pvalue))
            values.append(float(stats.mannwhitneyu(x, y, method="asymptotic").pvalue))
    return min(values) * len(values)


@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("policy", [*FINITE, *ENDLESS], ids=lambda p: getattr(p, "name", p))
def test_small_settings(policy: Any, index: int) -> None:
    cell = small_cell(policy, index)
    assert engines.supports_skipping(cell)
    assert least_p(*samples(cell)) > LEVEL


LARGE: list[tuple[Any, str, int | None, int]] = [
    ("ucb1", "power:100:0.3", None, 50_000),
    ("ucb1", "linear:10", None, 200_000),
    ("ucb1", "bernoulli:0.9,0.5", None, 300_000),
    ("moss", "linear:100", None, 100_000),
    ("moss", "power:10:0.6", None, 200_000),
    ("ucb-m", "linear:100", 2, 100_000),
    ("race", "linear:100", 2, 100_000),
    ("ucb-m:eta=0.2", "linear:100", 10, 100_000),
    ("race", "I1", 3, 30_000),
    ("moss-m", "power:100:0.3", 5, 100_000),
    ("kl-ucb", "linear:10", None, 20_000),
    ("kl-ucb", "bernoulli:0.05,0.03,0.02", None, 50_000),
    ("imed", "linear:10", None, 50_000),
    ("imed", "power:30:0.3", None, 20_000),
    ("imed-m", "linear:30", 5, 20_000),
    ("ts", "linear:10", None, 100_000),
    ("ts", "bernoulli:0.99,0.98", None, 200_000),
    ("ts-m", "linear:100", 2, 200_000),
    ("ts-m", "linear:100", 10, 50_000),
    ("ts-m", "power:100:0.6", 50, 20_000),
    ("qts-m", "I1", 5, 50_000),
    ("ts-m", "linear:50+beta", 5, 50_000),
    ("constant-space:c=0.5", "linear:10", None, 200_000),
    ("herschkorn", "I1", None, 100_000),
    ("nonrecalling-run", "I2", None, 200_000),
    ("cover", "bernoulli:0.6,0.5", None, 200_000),
    ("ucb1", "linear:200", None, 30_000),
    ("moss", "power:200:0.3", None, 50_000),
    ("kl-ucb", "linear:30", None, 10_000),
    ("imed", "linear:40", None, 20_000),
    ("imed", "bernoulli:" + ",".join(["0.6"] * 20), None, 20_000),
    ("ucb-v", "bernoulli:0.99,0.97,0.9", None, 50_000),
    ("ucb-v", "linear:40", None, 20_000),
    ("ucbv-m", "power:30:0.3", 5, 20_000),
]


def assert_same_distribution(
    policy: Any, world: str, memory: int | None, horizon: int, runs: int
) -> None:
    cell = plan.cell(policy, world, memory, horizon, runs=runs)
    grid = [horizon // 100, horizon // 10, horizon]
    stepped = compiled.simulate_runs(replace(cell, seed=1), grid)
    skipped = compiled.simulate_runs(replace(cell, seed=2), grid, skipping=True)
    assert least_p(stepped, skipped) > LEVEL


def name_of(case: tuple[Any, str, int | None, int]) -> str:
    return f"{getattr(case[0], 'name', case[0])}-{case[1][:40]}-{case[2]}"


SOME = [case for index, case in enumerate(LARGE) if index % 3 != 1]


@pytest.mark.parametrize("case", SOME, ids=[name_of(case) for case in SOME])
def test_large_settings(case: tuple[Any, str, int | None, int]) -> None:
    policy, world, memory, horizon = case
    assert_same_distribution(policy, world, memory, horizon // 5, 200)


@pytest.mark.long
@pytest.mark.parametrize("case", LARGE, ids=[name_of(case) for case in LARGE])
def test_large_settings_at_length(case: tuple[Any, str, int | None, int]) -> None:
    assert_same_distribution(*case, 1000)


# What should never happen, made to happen.


def about_as_many(k: int, mu: float) -> int:
    """Failures that k pulls exceed every other time."""
    return min(k, int(k * (1.0 - mu)))


def changed(monkeypatch: pytest.MonkeyPatch, mark: str, **parts: Any) -> None:
    """Kernels compiled afresh, not cached, with other functions in `stretches`."""
    family = jit.family
    for name, function in parts.items():
        compiled_part = jit.use(function)
        monkeypatch.setattr(monotone, name, compiled_part)
        monkeypatch.setattr(stretches, name, compiled_part)
    monkeypatch.setattr(segments, "family", lambda *given: f"own_{mark}_{family(*given)}")
    monkeypatch.setattr(phased, "phased_kernel", cache(phased.phased_kernel.__wrapped__))


@pytest.mark.parametrize("policy", ["imed", pytest.param("ucb1", marks=pytest.mark.long)])
def test_rewards_from_the_urn_have_the_same_distribution(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(monkeypatch, "urn", misses=about_as_many)
    cell = plan.cell(policy, "bernoulli:0.9,0.8,0.8", None, 2000, runs=RUNS)
    assert least_p(*samples(cell)) > LEVEL


def test_an_arm_that_is_not_watched_can_have_the_highest_mean() -> None:
    # One arm of many pulls and a high mean: a low score by IMED, which looks at the highest mean.
    pulls = np.array([100_000, 100, 111, *[100] * 17])
    sums = np.array([60_000.0, 61.0, 66.0, *[30.0] * 17])
    counts = []
    for skipping in (False, True):
        build = Build(True, False, skipping, FEW)
        kin = f"own_state_{skipping}"
        run = monotone.segment(scores_of(IMED, kin), kin, build)
        leads = kernel(run, kin)
        room: Any = space(20, 1)
        memory = room.memory
        room.rewards[:] = stream("state", int(skipping))
        luck = Luck(room.choices, room.rewards, room.tape, False, TRIALS)
        memory.mus[:] = 0.5
        mine = []
        for _ in range(4000):
            memory.n[:], memory.s[:] = pulls, sums
            memory.hat[:] = sums / pulls
            room.scratch.numbers[:] = [0.0, 0.0, 0.0, 64.0, 0.1, 0.0, 0.0, 0.0]
            t = int(pulls.sum())
            leads(t + 12, t, t, True, 20, 1, 0, 1.0, memory, luck, room.scratch, room.tables)
            mine.append(int(memory.n[1]) - 100)
        counts.append(mine)
    assert stats.ks_2samp(*counts, method="asymp").pvalue > LEVEL


# What these samples see.


def lax(score: float, rival: float) -> bool:
    return score > rival - 0.1


def lax_by_far(score: float, rival: float) -> bool:
    return score > rival - 4.0


@pytest.mark.parametrize(
    ("policy", "wrong"),
    [
        ("ucb1", lax),
        ("imed", lax_by_far),
        pytest.param("moss", lax, marks=pytest.mark.long),
        pytest.param("kl-ucb", lax, marks=pytest.mark.long),
        pytest.param("ucb-v", lax, marks=pytest.mark.long),
    ],
)
def test_a_wrong_bound_would_be_seen(
    policy: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = plan.cell(policy, "bernoulli:0.5,0.4", None, 1000, runs=RUNS)
    assert least_p(*samples(cell)) > LEVEL
    changed(monkeypatch, "lax", certain=wrong)
    assert least_p(*samples(cell)) < LEVEL
