"""What every policy must do with rewards: those it takes, and those it refuses untouched."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import handful
from handful import FiniteArms
from handful.errors import (
    ForgottenArmError,
    RewardError,
    SettingError,
    UnknownArmError,
)
from tests.helpers import drive, new, refused, untouched
from tests.policies.checked import (
    KINDS,
    every_policy,
    every_policy_and_kind,
    mid_way,
    prompt,
    seeds,
    selected_or_not,
    steady,
)

BAD_REWARDS: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    -1e-9,
    math.nextafter(1, 2),
    -1,
    2,
    -(5e-324),
    Decimal("1.5"),
    np.float64("nan"),
]
NO_NUMBERS: list[Any] = [
    None, "0.5", b"1", bytearray(b"1"), memoryview(b"1"), "one",
    [0.5], (1,), {}, 1j, object(), np.zeros(2),
]  # fmt: skip


@every_policy
@selected_or_not
@pytest.mark.parametrize("reward", BAD_REWARDS, ids=repr)
def test_a_reward_out_of_range_is_refused_and_changes_nothing(
    name: str, selected: bool, reward: Any
) -> None:
    policy = mid_way(name, 9, selected)
    with untouched(policy), refused(RewardError, ValueError, repr(reward), "[0, 1]", "rescale"):
        policy.update(policy.arms_in_memory[0], reward)


@every_policy
@selected_or_not
@pytest.mark.parametrize("reward", NO_NUMBERS, ids=lambda reward: type(reward).__name__)
def test_a_reward_that_is_not_a_number_is_refused_and_changes_nothing(
    name: str, selected: bool, reward: Any
) -> None:
    policy = mid_way(name, 9, selected)
    with untouched(policy), refused(RewardError, ValueError, repr(reward)):
        policy.update(policy.arms_in_memory[0], reward)


@every_policy
def test_a_reward_too_large_for_a_float_is_refused(name: str) -> None:
    policy = mid_way(name, 9, True)
    with untouched(policy), refused(RewardError, ValueError, "not a finite number"):
        policy.update(policy.select(), 10**400)


@every_policy
@steady
@given(st.floats() | st.integers(), seeds)
def test_a_refused_reward_leaves_no_trace_in_later_choices(
    name: str, reward: float, seed: int
) -> None:
    policy, spared = new(name, 9, 3, seed=seed), new(name, 9, 3, seed=seed)
    for each in (policy, spared):
        drive(each, 20, random.Random(seed))
        each.select()
    if not 0 <= reward <= 1:
        with untouched(policy), refused(RewardError, ValueError):
            policy.update(policy.select(), reward)
    assert drive(policy, 60, random.Random(1)) == drive(spared, 60, random.Random(1))


@every_policy
@pytest.mark.parametrize(
    "reward",
    [0, 1, 0.0, 1.0, -0.0, 0.3, True, False, Fraction(1, 3), Decimal("0.3"), np.float32(1)],
)
def test_any_number_between_0_and_1_is_a_reward(name: str, reward: Any) -> None:
    policy = new(name, 9, 3)
    policy.update(policy.select(), reward)
    assert policy.pulls == 1


STRANGERS: list[Any] = [-1, 12, 2**70, "0", None, 0.5, (0,), True, [0], np.zeros(3), object()]


@every_policy
@selected_or_not
def test_an_arm_that_was_never_given_is_refused_and_changes_nothing(
    name: str, selected: bool
) -> None:
    policy = mid_way(name, 12, selected)
    for arm in STRANGERS:
        with untouched(policy), refused(UnknownArmError, LookupError, "in memory are"):
            policy.update(arm, 0.5)


@every_policy_and_kind
def test_a_stranger_is_refused_by_arms_of_every_kind(name: str, kind: str) -> None:
    none = "none" if kind == "labels of mixed kinds" else None
    policy = mid_way(name, KINDS[kind](), selected=True)
    error = ForgottenArmError if "function" in kind else UnknownArmError
    for stranger in ("purple", 99, none, 1.5, (0, 0), ["red"], True):
        with untouched(policy), refused(error, LookupError, repr(stranger)):
            policy.update(stranger, 0.5)


FORGETTING: dict[str, tuple[Any, list[Any]]] = {
    "a number": (12, list(range(12))),
    "a huge number": (10**12, [0, 10**11, 10**12 - 1]),
    "texts": (list("abcdefghijkl"), list("abcdefghijkl")),
    "a range": (range(0, 36, 3), list(range(0, 36, 3))),
    "tuples": ([(i,) for i in range(12)], [(i,) for i in range(12)]),
}


@every_policy
@selected_or_not
@pytest.mark.parametrize("kind", FORGETTING)
def test_a_known_arm_that_is_not_in_memory_is_refused_and_changes_nothing(
    name: str, selected: bool, kind: str
) -> None:
    arms, labels = FORGETTING[kind]
    policy = mid_way(name, arms, selected)
    forgotten = [label for label in labels if label not in policy.arms_in_memory]
    assert forgotten
    for arm in forgotten:
        with untouched(policy), refused(ForgottenArmError, LookupError, repr(arm), "not in memory"):
            policy.update(arm, 0.5)


@every_policy
def test_a_function_cannot_tell_a_forgotten_arm_from_a_stranger(name: str) -> None:
    policy = mid_way(name, FiniteArms(prompt, n=10**12), selected=True)
    for arm in ("prompt-5", "prompt-x"):
        with untouched(policy), refused(ForgottenArmError, LookupError, repr(arm), "not known"):
            policy.update(arm, 0.5)


@every_policy
def test_any_arm_in_memory_may_be_rewarded(name: str) -> None:
    policy = new(name, 9, 3)
    for t in range(100):
        arms = policy.arms_in_memory
        policy.update(arms[t % len(arms)], 0.5)
        assert policy.pulls == t + 1


@every_policy
def test_a_reward_counts_for_the_arm_that_it_is_given_for(name: str) -> None:
    policy = new(name, 3, 3)
    while len(policy.arms_in_memory) < 3:
        policy.update(policy.select(), 1.0)
    before = {arm.arm: arm.pulls for arm in policy.stats()}
    for arm, times in ((0, 5), (1, 2), (2, 9)):
        for _ in range(times):
            policy.update(arm, 1.0)
    assert {arm.arm: arm.pulls - before[arm.arm] for arm in policy.stats()} == {0: 5, 1: 2, 2: 9}
    assert {arm.mean for arm in policy.stats()} == {1.0}
    assert policy._state.sums == policy._state.pulls


@every_policy
@pytest.mark.parametrize("rescale", [(0.0, 100.0), (-5.0, 5.0), (1e300, 1.5e300), (-3, 4)])
def test_rescale_maps_rewards_to_the_unit_interval(name: str, rescale: tuple[float, float]) -> None:
    lo, hi = rescale
    scaled, plain = new(name, 9, 3, rescale=rescale), new(name, 9, 3)
    rewards = random.Random(0)
    for _ in range(200):
        reward = lo + rewards.choice((0.0, 0.25, 0.5, 1.0)) * (hi - lo)
        arm = scaled.select()
        assert plain.select() == arm
        scaled.update(arm, reward)
        plain.update(arm, (reward - lo) / (hi - lo))
    assert scaled._state.sums == plain._state.sums


@every_policy
def test_rescale_is_saved(name: str) -> None:
    policy = new(name, 9, 3, rescale=(-5.0, 5.0))
    twin = handful.from_bytes(policy.to_bytes(), arms=9)
    for each in (policy, twin):
        each.update(each.select(), -5.0)
    assert twin.to_bytes() == policy.to_bytes()


@every_policy
@pytest.mark.parametrize("reward", [-5.1, 5.1, math.nan, math.inf, -math.inf])
def test_a_reward_outside_of_rescale_is_refused_and_changes_nothing(
    name: str, reward: float
) -> None:
    policy = mid_way(name, 9, selected=True, rescale=(-5, 5))
    with untouched(policy), refused(RewardError, ValueError, repr(reward), "[-5, 5]"):
        policy.update(policy.select(), reward)


@every_policy
@pytest.mark.parametrize(
    "rescale",
    [
        (1, 1),
        (2, 1),
        (0, math.inf),
        (-math.inf, 0),
        (math.nan, 1),
        (0, math.nan),
        (-1e308, 1e308),
        (1,),
        (1, 2, 3),
        (),
        5,
        ("a", "b"),
        (None, 1),
        pytest.param((0, 10**400), id="more than a float holds"),
    ],
)
def test_a_rescale_that_cannot_work_is_refused(name: str, rescale: Any) -> None:
    with refused(SettingError, ValueError, f"rescale={rescale!r}"):
        new(name, 9, 3, rescale=rescale)
