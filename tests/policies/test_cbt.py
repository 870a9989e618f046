"""CBT against a plain program that computes every bound at every pull."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import pytest

import handful
from handful.errors import StateError
from handful.policies import cbt
from handful.policies.cbt import CBT
from handful.simulation import cell
from tests.helpers import drive, refused
from tests.policies.hands import Coin, assert_follows, coins
from tests.simulation.agree import assert_engines_agree


def twin_of(T: int, top: float, target: float) -> Any:
    def bound(rewards: list[float]) -> float:
        n, b = len(rewards), max(1.0, math.log(math.log(T)))
        mean = sum(rewards) / n
        variance = max(0.0, sum(x * x for x in rewards) / n - mean**2)
        return max((top - mean) / b, top - mean - b * math.sqrt(variance / n))

    def twin(flip: Coin) -> Iterator[int]:
        seen: list[list[float]] = []
        last = -1
        while True:
            bounds = [bound(rewards) for rewards in seen]
            lost = sum(top - x for rewards in seen for x in rewards)
            aim = target or max(0.0, lost / T)
            if not seen or min(bounds) > aim:
                last = len(seen)
                seen.append([])
            elif bounds[last] > min(bounds):
                last = bounds.index(min(bounds))
            yield last
            seen[last].append(flip(last))

    return twin


@pytest.mark.parametrize(("top", "target"), [(1.0, 0.0), (1.0, 0.05), (0.97, 0.0)])
@pytest.mark.parametrize("seed", range(3))
def test_it_makes_the_choices_of_a_plain_program(top: float, target: float, seed: int) -> None:
    policy = CBT(lambda i: i, seed=seed, horizon=1000, top=top, target=target)
    assert_follows(policy, twin_of(1000, top, target), lambda: coins(seed), 1000)


def test_with_a_given_target_an_arm_that_was_left_does_not_come_back() -> None:
    policy = CBT(lambda i: i, seed=1, horizon=1000, target=0.02)
    chosen = drive(policy, 1000, random.Random(1))
    assert chosen == sorted(chosen)


def test_after_the_last_arm_of_a_finite_set_the_lowest_bound_is_pulled() -> None:
    policy = CBT(3, seed=1, horizon=1000)
    for _ in range(300):
        arm = policy.select()
        policy.update(arm, 0.5 if arm == 2 else 0.1)
    assert policy.recommend() == 2
    assert len(policy.arms_in_memory) == 3


def test_no_more_arms_are_met_than_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cbt, "MOST_ARMS", 5)
    policy = CBT(lambda i: i, seed=1, horizon=10**6)
    for _ in range(100):
        policy.update(policy.select(), 0.0)
    assert policy.arms_in_memory == [0, 1, 2, 3, 4]


WORLDS: list[dict[str, Any]] = [{}, {"delay": "20", "lost": 0.2}, {"drift": "swap:3"}]


@pytest.mark.parametrize("traffic", WORLDS, ids=str)
def test_the_engines_make_the_same_choices(traffic: dict[str, Any]) -> None:
    assert_engines_agree(cell("cbt", "linear:30+beta", None, 1500, runs=2, **traffic))
    if "drift" not in traffic:
        assert_engines_agree(cell("cbt:top=0.6", "I4", None, 1500, runs=2, **traffic))


@pytest.mark.parametrize(
    ("field", "value"), [("stale", 2), ("leader", 40), ("loss", 51.0), ("loss", -51.0)]
)
def test_a_forged_leader_is_refused(field: str, value: float) -> None:
    policy = CBT(40, seed=1, horizon=100)
    drive(policy, 50, random.Random(1))
    setattr(policy._state, field, value)
    with refused(StateError, ValueError):
        handful.from_bytes(policy.to_bytes(), arms=40)


@pytest.mark.parametrize(("field", "value"), [("squares", -0.1), ("squares", 51.0), ("arm", 39)])
def test_forged_arms_are_refused(field: str, value: float) -> None:
    policy = CBT(40, seed=1, horizon=100)
    drive(policy, 50, random.Random(1))
    getattr(policy._state, field)[1] = value
    with refused(StateError, ValueError):
        handful.from_bytes(policy.to_bytes(), arms=40)
