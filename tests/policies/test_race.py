"""Racing: against a plain program written from its definition, and with room for all arms."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import handful
from handful import Reservoir
from handful.errors import SettingError
from handful.policies.race import Race
from handful.policies.racing.record import Constants
from handful.policies.racing.watch import begin_again
from tests.helpers import order_of, refused
from tests.policies.hands import Coin
from tests.policies.naive_race import Racing


def coins(means: Callable[[int], float], seed: int, whole: bool) -> Coin:
    flips = random.Random(seed)

    def flip(arm: int) -> float:
        x = float(flips.random() < means(arm))
        return x if whole else 0.5 * x + 0.5 * flips.random() * means(arm)

    return flip


def drawn(seed: int, scale: float = 1.0) -> Callable[[int], float]:
    """Means of endless arms; without a scale, one of 30 ahead of equal ones."""
    if scale == 0.0:
        return lambda arm: 0.5 if arm % 30 else 0.7
    return lambda arm: scale * random.Random(1000 * seed + arm).betavariate(0.7, 1.5)


class Case(NamedTuple):
    """A setting in which policy and definition are compared."""

    K: int | None
    M: int
    scale: float = 1.0
    delay: float = 0.0
    """The mean of exponential delays; below 0, minus a fixed one."""
    lost: float = 0.0
    every: float = 0.0
    fall: bool = False
    """Whether all means fall to a third, one after the other."""
    watch: bool = True
    decisions: int = 3000
    mute: int = 0
    """So many arms never answer."""
    dropped: bool = False
    """Whether decisions for these arms are dropped at once."""


CASES = [
    *(Case(K, M) for K in (None, 8, 30) for M in (2, 3, 7)),
    Case(200, 3, 0.4, decisions=8000),
    Case(30, 3, 0.0, decisions=8000),  # equal arms but for one
    Case(8, 2, fall=True),
    *(Case(4, 2, fall=True, decisions=d) for d in (250, 300, 350, 400)),
    Case(8, 3, fall=True, decisions=8000),
    Case(20, 5, 0.9, fall=True, decisions=8000),
    Case(8, 3, watch=False, decisions=8000),
    Case(40, 4, every=300.0),
    Case(40, 4, 0.3, -30.0, every=500.0, fall=True),
    *(Case(30, M, delay=-d) for M in (2, 8) for d in (1.0, 20.0, 300.0)),
    *(Case(30, M, 0.5, delay=20.0, lost=0.2) for M in (2, 3, 8)),
    Case(None, 4, delay=-100.0, lost=0.1),
    Case(300, 8, 0.1, delay=60.0),
    *(Case(8, M, mute=k, dropped=True) for M in (2, 5) for k in (1, 6)),
    *(Case(8, M, delay=d, mute=k) for M in (2, 5) for d in (0.0, 20.0) for k in (1, 6)),
    Case(None, 3, mute=40, dropped=True, decisions=6000),
    Case(8, 3, mute=2, dropped=True, fall=True, every=300.0, decisions=8000),
]


def compared(cls: type[Race], case: Case, seed: int, whole: bool) -> int | None:
    """Return the first decision at which the policy leaves its definition, if any."""
    means = drawn(seed, case.scale)
    K, M, rng = case.K, case.M, random.Random(seed)
    policy = cls(K or Reservoir(lambda i: i), M, seed=seed, watch=case.watch, every=case.every)
    order: Iterator[int] = itertools.cycle(order_of(policy)) if K else itertools.count()
    twin = Racing(K or math.inf, M, order, case.watch, case.every)
    waiting: list[tuple[float, int, int, float]] = []
    for t in range(1, case.decisions + 1):
        arm, ticket = policy.decide()
        if arm != twin.decide():
            return t
        mean = means(arm)
        if case.fall and t % case.decisions > case.decisions * (arm % 5 + 1) / 6:
            mean /= 3
        value = float(rng.random() < mean)
        value = value if whole else 0.5 * value + 0.5 * rng.random() * mean
        late = rng.expovariate(1.0 / case.delay) if case.delay > 0 else -case.delay
        if arm < case.mute and case.dropped:
            policy.drop(ticket)
            twin.drop(t)
        elif rng.random() >= case.lost and arm >= case.mute:
            waiting.append((t + late, t, ticket, value))
        for entry in sorted(entry for entry in waiting if entry[0] <= t):
            policy.reward(entry[2], entry[3])
            twin.reward(entry[1], entry[3])
            waiting.remove(entry)
    assert len(policy.arms_in_memory) <= M
    return None


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_makes_the_choices_of_its_definition(case: Case, whole: bool) -> None:
    for seed in range(2 if whole else 1):
        assert compared(Race, case, seed, whole) is None


@pytest.mark.parametrize("constant", Constants._fields)
def test_its_definition_would_catch_a_change_of_any_constant(constant: str) -> None:
    class Changed(Race):
        name = "changed-race"
        constants = Constants()._replace(**{constant: 1.1 * getattr(Constants(), constant)})

    assert any(compared(Changed, case, seed, True) for case in CASES for seed in range(2))


@pytest.mark.parametrize("K", [1, 2, 5, 12])
@pytest.mark.parametrize("more", [0, 3])
def test_with_room_for_all_arms_it_is_imed(K: int, more: int) -> None:
    for seed in range(4):
        means = drawn(seed)
        race = Race(K, max(2, K + more), seed=seed)
        imed = handful.policy("imed", K, seed=seed)
        ours, theirs = coins(means, seed, True), coins(means, seed, True)
        for t in range(800):
            arm = race.select()
            assert arm == imed.select(), t
            reward = ours(arm)
            assert reward == theirs(arm)
            race.update(arm, reward)
            imed.update(arm, reward)
        assert race.arms_in_memory == imed.arms_in_memory
        assert race.recommend() == imed.recommend()


@pytest.mark.parametrize("M", [2, 8])
def test_the_luckiest_of_equal_arms_does_not_keep_the_best_out_for_long(M: int) -> None:
    # It is 3.3 to 5.0 times the mean, by seed; without the watch, pulls can be skipped.
    means = [0.55, *[0.5] * 19]
    result = handful.simulate("race:watch=0", means, memory=M, horizon=10**6, runs=1000, seed=2)
    assert result.regret.quantile(0.99) < 5.0 * result.regret.mean


@pytest.mark.parametrize("M", [2, 10])
def test_one_good_arm_is_found_among_very_many_equal_ones(M: int) -> None:
    means = [0.9, *[0.1] * 999]
    result = handful.simulate("race", means, memory=M, horizon=200_000, runs=100, seed=0)
    assert result.regret.mean < 5000


@pytest.mark.parametrize("M", [2, 4, 8])
def test_arms_that_never_answer_are_given_up(M: int) -> None:
    """Before, the first one to come up was pulled for ever, 5,000 times."""
    for seed in range(10):
        policy = Race(10, M, seed=seed)
        rng = random.Random(seed)
        mute = 0
        for _ in range(5000):
            arm, ticket = policy.decide()
            if arm == 3:
                policy.drop(ticket)
                mute += 1
            else:
                policy.reward(ticket, float(rng.random() < 0.09 * arm))
        assert mute <= 8 * 96  # a span of 6 (16 + 1.5 d) in each pass
        assert policy.recommend() in (8, 9)


@pytest.mark.parametrize("reward", [0.3, 0.7])
def test_equal_rewards_are_ties_whatever_their_sums_round_to(reward: float) -> None:
    # 0.3 + 0.3 + ... is not n times 0.3: compared as they are, 640 of the arms had come up.
    policy = Race(1000, 2, seed=0)
    for _ in range(60_000):
        policy.update(policy.select(), reward)
    state: Any = policy._state
    assert state.tried >= 1000


def test_endless_arms_do_not_come_up_again() -> None:
    with refused(SettingError, ValueError, "every=1000"):
        Race(arms=lambda i: i, memory=4, every=1000)
    with refused(SettingError, ValueError, "every=1000"):
        handful.simulate("race", "I1", memory=4, horizon=100, runs=1, every=1000)


def test_what_other_arms_keep_after_an_alarm_is_possible() -> None:
    """20 of 147 rewards of 1: 147 (20/147) is above 20 by rounding."""
    policy = Race(arms=5, memory=2, seed=1)
    for _ in range(50):
        policy.reward(policy.decide().ticket, 1.0)
    state: Any = policy._state
    other = 1 - state.incumbent
    state.pulls[other], state.sums[other] = 147, 147.0
    begin_again(state, policy._p)
    assert (state.pulls[other], state.sums[other]) == (20, 20.0)
