"""Subsampled greedy against a plain program that looks at every arm of the sample at every pull."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

import handful
from handful.errors import StateError
from handful.policies.subsampled import SubsampledGreedy, sample_size
from handful.simulation import cell
from tests.helpers import drive, refused
from tests.policies.hands import Coin, assert_follows, coins
from tests.simulation.agree import assert_engines_agree


@pytest.mark.parametrize(
    ("K", "T", "m"), [(100, 100, 10), (100, 101, 11), (7, 10**6, 7), (2**62, 10**6, 1000)]
)
def test_the_size_of_the_sample(K: int, T: int, m: int) -> None:
    assert sample_size(K, float(T)) == m


def twin_of(m: int) -> Any:
    def twin(flip: Coin) -> Iterator[int]:
        seen: dict[int, list[float]] = defaultdict(list)
        for arm in range(m):
            yield arm
            seen[arm].append(flip(arm))
        last = -1
        while True:
            means = [sum(seen[arm]) / len(seen[arm]) for arm in range(m)]
            if last < 0 or means[last] < max(means):
                last = means.index(max(means))
            yield last
            seen[last].append(flip(last))

    return twin


@pytest.mark.parametrize("T", [30, 900, 2500])
@pytest.mark.parametrize("seed", range(3))
def test_it_makes_the_choices_of_a_plain_program(T: int, seed: int) -> None:
    policy = SubsampledGreedy(lambda i: i, seed=seed, horizon=T)
    assert_follows(policy, twin_of(math.ceil(math.sqrt(T))), lambda: coins(seed), 1500)


def test_the_sample_of_a_finite_set_is_at_random() -> None:
    samples = set()
    for seed in range(20):
        policy = SubsampledGreedy(10**12, seed=seed, horizon=9)
        drive(policy, 9, random.Random(0))
        samples.add(tuple(policy.arms_in_memory))
    assert len(samples) == 20
    assert {len(sample) for sample in samples} == {3}


def test_an_arm_is_not_pulled_again_while_its_first_reward_is_on_its_way() -> None:
    policy = SubsampledGreedy(10, seed=1, horizon=25)
    first = policy.decide(5)
    assert len({decision.arm for decision in first}) == 5
    policy.reward(first[2].ticket, 0.0)
    assert {decision.arm for decision in policy.decide(4)} == {first[2].arm}
    policy.reward(first[4].ticket, 0.5)
    assert policy.decide().arm == first[4].arm
    assert policy.recommend() == first[4].arm


def test_an_arm_whose_first_reward_is_lost_is_pulled_again() -> None:
    policy = SubsampledGreedy(10, seed=1, horizon=9, window=4)
    first, *others = policy.decide(3)
    for decision in others:
        policy.reward(decision.ticket, 1.0)
    assert first.arm in {policy.decide().arm for _ in range(8)}


@pytest.mark.parametrize(
    "traffic", [{}, {"delay": "20", "lost": 0.2}, {"drift": "swap:3"}], ids=str
)
def test_the_engines_make_the_same_choices(traffic: dict[str, Any]) -> None:
    assert_engines_agree(cell("subsampled-greedy", "linear:90+beta", None, 1500, runs=2, **traffic))
    if "drift" not in traffic:
        assert_engines_agree(cell("subsampled-greedy", "I4", None, 1500, runs=2, **traffic))


@pytest.mark.parametrize(("field", "value"), [("stale", 2), ("leader", 9), ("leader", 10)])
def test_a_forged_leader_is_refused(field: str, value: int) -> None:
    policy = SubsampledGreedy(40, seed=1, horizon=100)
    drive(policy, 50, random.Random(1))
    state: Any = policy._state
    state.pulls[9], state.sums[9] = 0, 0.0
    setattr(state, field, value)
    with refused(StateError, ValueError):
        handful.from_bytes(policy.to_bytes(), arms=40)


def test_other_arms_than_those_of_the_sample_are_refused() -> None:
    policy = SubsampledGreedy(40, seed=1, horizon=100)
    drive(policy, 50, random.Random(1))
    policy._state.arm[3] = next(arm for arm in range(40) if arm not in policy._state.arm)
    with refused(StateError, ValueError, "sample"):
        handful.from_bytes(policy.to_bytes(), arms=40)
