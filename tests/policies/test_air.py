"""UCB-AIR against a plain program that looks at every arm at every pull."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import pytest

import handful
from handful.errors import SettingError, StateError
from handful.policies.air import UCBAIR
from handful.simulation import cell
from tests.helpers import drive, refused
from tests.policies.hands import Coin, Twin, assert_follows, coins
from tests.simulation.agree import assert_engines_agree


def twin_of(beta: float) -> Twin:
    def twin(flip: Coin) -> Iterator[int]:
        seen: list[list[float]] = []

        def score(rewards: list[float], t: int) -> float:
            n, mean = len(rewards), sum(rewards) / len(rewards)
            u = next(2**k for k in itertools.count(2) if 2**k >= t)
            E = 2 * math.log(10 * math.log(u))
            return mean + math.sqrt(2 * mean * (1 - mean) * E / n) + 3 * E / n

        for t in itertools.count(1):
            power = beta / 2 if beta < 1 else beta / (beta + 1)
            if len(seen) < t**power:
                arm = len(seen)
                seen.append([])
            else:
                scores = [score(rewards, t) for rewards in seen]
                arm = scores.index(max(scores))
            yield arm
            seen[arm].append(flip(arm))

    return twin


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0, 7.0])
@pytest.mark.parametrize("seed", range(3))
def test_it_makes_the_choices_of_a_plain_program(beta: float, seed: int) -> None:
    policy = UCBAIR(lambda i: i, seed=seed, beta=beta)
    assert_follows(policy, twin_of(beta), lambda: coins(seed), 1500)


@pytest.mark.parametrize("world", ["I1", "I4", "beta:1:1:0.9+uniform", "I2+beta"])
@pytest.mark.parametrize("tape", [False, True])
def test_the_engines_make_the_same_choices(world: str, tape: bool) -> None:
    for beta in (0.5, 1.0, 2.0):
        assert_engines_agree(cell(f"ucb-air:beta={beta}", world, None, 3000, runs=2, tape=tape))


def test_a_reward_for_another_arm_is_taken_in() -> None:
    policy = UCBAIR(lambda i: i, seed=1)
    dice = random.Random(1)
    for t in range(500):
        arms = policy.arms_in_memory
        policy.update(arms[dice.randrange(len(arms))], dice.random())
        assert policy.pulls == t + 1
    twin = handful.from_bytes(policy.to_bytes(), arms=lambda i: i)
    assert drive(twin, 300, random.Random(2)) == drive(policy, 300, random.Random(2))


def test_the_skipping_engine_says_that_it_cannot() -> None:
    with refused(SettingError, ValueError, "cannot run ucb-air", "does not say when it is calm"):
        handful.simulate("ucb-air", "I1", horizon=100, runs=1, engine="skip")


def test_a_state_saved_after_pulls_that_the_user_decided_on_is_restored_to_the_bit() -> None:
    policy = UCBAIR(lambda i: i, seed=1)
    for _ in range(9):  # beyond the pulls that the scores hold for, which only a decision extends
        policy.update(0, 0.5)
    twin = handful.from_bytes(policy.to_bytes(), arms=lambda i: i)
    assert twin.to_bytes() == policy.to_bytes()
    assert drive(twin, 300, random.Random(2)) == drive(policy, 300, random.Random(2))


@pytest.mark.parametrize("bound", [0, 2, 6, 32, -4])
def test_scores_for_a_number_of_pulls_that_cannot_be_are_refused(bound: int) -> None:
    policy = UCBAIR(lambda i: i, seed=1)
    drive(policy, 9, random.Random(1))
    policy._state.bound = bound  # type: ignore[attr-defined]
    with refused(StateError, ValueError, f"up to {bound}"):
        handful.from_bytes(policy.to_bytes(), arms=lambda i: i)
