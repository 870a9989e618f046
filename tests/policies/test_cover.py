"""Cover's rule for two arms."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import pytest

import handful
from handful.errors import SettingError
from handful.policies.cover import Cover, pulls_of_test
from handful.simulation import cell, simulate
from tests.helpers import refused
from tests.policies.hands import Coin, assert_follows
from tests.simulation.agree import assert_engines_agree


def twin(first: int, flip: Coin) -> Iterator[int]:
    favourite = first
    k = 0
    while True:
        k += 1
        for _ in range(math.factorial(k)):
            for arm in (first, 1 - first):
                wins = []
                for _ in range(k):
                    yield arm
                    wins.append(flip(arm))
                if all(wins):
                    favourite = arm
        for _ in range((k + 2) * 2 * (k + 1) * math.factorial(k + 1)):
            yield favourite
            flip(favourite)


@pytest.mark.parametrize("seed", range(10))
def test_it_makes_the_choices_of_a_plain_program(seed: int) -> None:
    policy = Cover(2, seed=seed)
    first = policy.select()

    def rewards() -> Coin:
        flips = random.Random(seed)
        return lambda arm: float(flips.random() < (0.9, 0.6)[arm])

    assert_follows(policy, lambda flip: twin(first, flip), rewards, 10_000)


def test_either_arm_can_come_first() -> None:
    assert {Cover(2, seed=seed).select() for seed in range(10)} == {0, 1}


def test_test_blocks_have_the_stated_lengths() -> None:
    assert [pulls_of_test(k) for k in (1, 2, 3, 4, 5)] == [2, 8, 36, 192, 1200]
    ends = itertools.accumulate(
        pulls_of_test(k) + (k + 2) * pulls_of_test(k + 1) for k in range(1, 7)
    )
    assert list(ends) == [26, 178, 1174, 8566, 70_246, 643_366]


def share_of_the_better(horizon: int) -> float:
    result = simulate("cover", "bernoulli:0.4,0.8", horizon=horizon, runs=200, seed=1)
    return 1.0 - result.regret.mean / (0.4 * horizon)


def test_the_share_of_pulls_of_the_better_arm_grows_with_time() -> None:
    # At the ends of blocks 1, 2, 4 and 6; within a test block the share falls a little. The
    # standard error of 200 runs is below 0.03, of the last below 0.01.
    shares = [share_of_the_better(horizon) for horizon in (26, 178, 8566, 643_366)]
    assert shares == sorted(shares)
    assert shares[0] < 0.75
    assert shares[-1] > 0.95


def test_the_favourite_is_what_it_recommends_and_failures_do_not_change_it() -> None:
    policy = Cover(2, seed=1)
    first = policy.select()
    policy.update(first, 0.0)
    other = policy.select()
    assert other == 1 - first
    policy.update(other, 1.0)
    assert policy.recommend() == other
    for _ in range(500):
        policy.update(policy.select(), 0.0)
    assert policy.recommend() == other


@pytest.mark.parametrize("world", ["bernoulli:0.4,0.8", "linear:2", "linear:2+uniform"])
@pytest.mark.parametrize("horizon", [1, 2, 3, 26, 27, 20_000])
def test_the_engines_make_the_same_choices(world: str, horizon: int) -> None:
    assert_engines_agree(cell("cover", world, None, horizon, runs=2, seed=2))


@pytest.mark.parametrize("arms", [1, 3, 10**12, ["a", "b", "c"]])
def test_any_other_number_of_arms_is_refused(arms: int | list[str]) -> None:
    with refused(SettingError, ValueError, "exactly 2 arms", "cover"):
        handful.policy("cover", arms)


def test_a_simulation_with_more_arms_is_refused_before_it_starts() -> None:
    with refused(SettingError, ValueError, "exactly 2 arms"):
        cell("cover", "linear:3", None, 100)
