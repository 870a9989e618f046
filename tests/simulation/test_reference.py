from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.core.rng import Generator
from handful.instances import Instance, instance
from handful.policies import policy
from handful.policies.schedule import schedule
from handful.simulation import plan, seeds
from handful.simulation.plan import FEW_ARMS, Cell
from handful.simulation.reference import ExactSum, simulate_run

POLICIES = ("ucb-m", "ucb-m:eta=0.2", "moss-m", "ts-m")
finite = st.floats(allow_nan=False, allow_infinity=False)


@dataclass(frozen=True)
class Watched(Instance):
    """An instance that writes down what it gave."""

    log: list[tuple[int, float]] = field(default_factory=list, compare=False)

    @classmethod
    def of(cls, spec: str) -> Watched:
        world = instance(spec)
        return cls(**{f.name: getattr(world, f.name) for f in fields(world)})

    def draw(self, arm: int, rng: Generator, key: int = 0) -> float:
        reward = super().draw(arm, rng)
        self.log.append((arm, reward))
        return reward


def watched(
    name: str, spec: str, *, horizon: int, memory: int = 2, seed: int = 0, tape: bool = False
) -> tuple[Cell, list[tuple[int, float]]]:
    """A cell, and the list to which its runs will write (arm, reward) pull by pull."""
    world = Watched.of(spec)
    return plan.cell(name, world, memory, horizon, seed=seed, tape=tape), world.log


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(finite, max_size=30))
def test_an_exact_sum_rounds_once_like_fractions(numbers: list[float]) -> None:
    total = ExactSum()
    for number in numbers:
        total.add(number)
    exact = sum(map(Fraction, numbers), Fraction(0))
    assert Fraction(total.units, 1 << 1074) == exact
    if abs(exact) < Fraction(2) ** 1023:
        assert total.value() == float(exact) == math.fsum(numbers)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.lists(finite, max_size=20).flatmap(lambda xs: st.tuples(st.just(xs), st.permutations(xs)))
)
def test_an_exact_sum_does_not_depend_on_the_order(orders: tuple[list[float], list[float]]) -> None:
    totals = [ExactSum(), ExactSum()]
    for total, order in zip(totals, orders, strict=True):
        for number in order:
            total.add(number)
    assert totals[0].units == totals[1].units


def test_an_exact_sum_keeps_what_doubles_lose() -> None:
    total = ExactSum()
    for number in (1e300, 5e-324, -1e300):
        total.add(number)
    assert total.value() == 5e-324


@pytest.mark.parametrize("name", POLICIES)
def test_regret_is_the_sum_of_the_gaps_of_the_arms_pulled(name: str) -> None:
    cell, log = watched(name, "linear:7", horizon=300)
    grid = plan.log_grid(300)
    outcome = simulate_run(cell, 0, grid)
    gaps = [Fraction(0.99 - cell.instance.mean(arm)) for arm, _ in log]
    assert outcome.regret[0].tolist() == [float(sum(gaps[:t])) for t in grid]


@pytest.mark.parametrize("name", POLICIES)
def test_pulls_are_those_that_were_made(name: str) -> None:
    cell, log = watched(name, "linear:7", horizon=300)
    outcome = simulate_run(cell, 0, [300])
    assert outcome.pulls is not None
    arms = [arm for arm, _ in log]
    assert outcome.pulls.tolist() == [[arms.count(arm) for arm in range(7)]]


def test_pulls_by_arm_are_stored_only_for_a_few_arms() -> None:
    few = simulate_run(plan.cell("ucb-m", f"linear:{FEW_ARMS}", 2, 50), 0, [50])
    many = simulate_run(plan.cell("ucb-m", f"linear:{FEW_ARMS + 1}", 2, 50), 0, [50])
    assert few.pulls is not None
    assert few.pulls.sum() == 50
    assert many.pulls is None


@pytest.mark.parametrize("name", POLICIES)
def test_a_run_can_be_replayed_with_a_policy_of_ones_own(name: str) -> None:
    cell, log = watched(name, "linear:9+uniform", memory=3, horizon=400, seed=5)
    simulate_run(cell, 4, [400])
    key, _, _ = name.partition(":")
    own = policy(key, 9, 3, seed=seeds.policy_seed(5, cell.id, 4), **cell.policy_settings())
    world = instance("linear:9+uniform")
    rng = seeds.reward_stream(5, cell.id, 4)
    for arm, reward in log:
        assert own.select() == arm
        assert world.draw(arm, rng) == reward
        own.update(arm, reward)


def test_runs_differ_from_each_other() -> None:
    cell = plan.cell("ts-m", "linear:10", 2, 200)
    curves = [tuple(simulate_run(cell, run, plan.log_grid(200)).regret[0]) for run in range(20)]
    assert len(set(curves)) == 20


def test_a_shorter_horizon_is_a_prefix_of_a_longer_one() -> None:
    long, long_log = watched("ucb-m", "linear:10", horizon=500)
    short, short_log = watched("ucb-m", "linear:10", horizon=123)
    simulate_run(long, 0, [500])
    simulate_run(short, 0, [123])
    assert short_log == long_log[:123]


@pytest.mark.parametrize("distribution", ["bernoulli", "beta", "uniform", "truncnorm"])
def test_on_a_tape_all_policies_meet_the_same_reward_in_the_same_place(distribution: str) -> None:
    rewards: dict[tuple[int, int], float] = {}
    met_again = 0
    for name in (*POLICIES, "ucb-m:eta=0.5"):
        cell, log = watched(name, f"linear:3+{distribution}", horizon=400, seed=2, tape=True)
        simulate_run(cell, 1, [400])
        for t, (arm, reward) in enumerate(log):
            met_again += (t, arm) in rewards
            assert rewards.setdefault((t, arm), reward) == reward
    assert met_again > 400


def test_without_a_tape_each_cell_has_its_own_luck() -> None:
    logs = []
    for name in ("ucb-m", "ucb-m:eta=0.999999"):
        cell, log = watched(name, "linear:3+uniform", horizon=100)
        simulate_run(cell, 0, [100])
        logs.append([reward for _, reward in log])
    assert not set(logs[0]) & set(logs[1])


def test_tapes_differ_by_seed_and_run() -> None:
    met = set()
    for seed, run in ((0, 0), (0, 1), (1, 0)):
        cell, log = watched("ucb-m", "linear:3+uniform", horizon=100, seed=seed, tape=True)
        simulate_run(cell, run, [100])
        met |= {reward for _, reward in log}
    assert len(met) == 300


@pytest.mark.parametrize("horizon", [1, 7, 8, 16, 17, 311, 312, 313, 400])
def test_stays_follow_the_schedule_to_the_last_pull(horizon: int) -> None:
    # K = 14, M = 2: 13 sub-phases of 8 pulls end at pull 104, 13 of 16 at pull 312.
    cell = plan.cell("ucb-m", "linear:14", 2, horizon, record=True)
    outcome = simulate_run(cell, 0, [horizon])
    assert outcome.stays is not None
    stays = outcome.stays[0]
    assert stays.pulls.sum() == horizon
    for row, sub_phase in zip(range(len(stays.start)), schedule(14, 2), strict=False):
        length = min(sub_phase.b, horizon - stays.start[row])
        assert stays.pulls[row].sum() == length
        assert stays.recommended[row] == stays.arms[row, stays.pulls[row].argmax()]
        if row + 1 < len(stays.start):
            assert stays.start[row + 1] == stays.start[row] + length
            assert stays.arms[row + 1, 0] == stays.recommended[row]


def test_stays_show_empty_slots() -> None:
    # K - 1 = 4 challengers in windows of 3: the second window is short.
    cell = plan.cell("ucb-m", "linear:5", 4, 48, record=True)
    outcome = simulate_run(cell, 0, [48])
    assert outcome.stays is not None
    stays = outcome.stays[0]
    assert stays.arms.shape == (2, 4)
    assert (stays.arms[0] >= 0).all()
    assert (stays.arms[1] >= 0).tolist() == [True, True, False, False]
    assert (stays.pulls[1, 2:] == 0).all()


def test_with_all_arms_in_memory_there_is_one_stay() -> None:
    outcome = simulate_run(plan.cell("ts-m", "linear:5", 9, 300, record=True), 0, [300])
    assert outcome.stays is not None
    assert outcome.pulls is not None
    assert outcome.stays[0].start.tolist() == [0]
    assert sorted(outcome.stays[0].arms[0]) == list(range(5))
    assert outcome.stays[0].pulls.sum() == 300


def test_nothing_is_recorded_unless_asked_for() -> None:
    assert simulate_run(plan.cell("ucb-m", "linear:5", 2, 10), 0, [10]).stays is None


def test_progress_is_reported_at_the_times_of_the_grid() -> None:
    seen: list[int] = []
    grid = plan.log_grid(100)
    simulate_run(plan.cell("ucb-m", "linear:5", 2, 100), 0, grid, seen.append)
    assert seen == grid


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("K", [1, 10**12, 2**62 - 1])
def test_one_arm_and_huge_sets_of_arms_run(name: str, K: int) -> None:
    outcome = simulate_run(plan.cell(name, f"linear:{K}", 2, 200), 0, plan.log_grid(200))
    assert np.all(np.diff(outcome.regret[0]) >= 0.0)
    assert bool(outcome.regret[0, -1] == 0.0) is (K == 1)
