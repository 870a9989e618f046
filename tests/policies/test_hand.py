"""What every policy with one arm in hand must do, on endless arms and on finite sets."""

from __future__ import annotations

import itertools
import math
import random
from binascii import crc32
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handful
from handful.core.slots import credit
from handful.core.state import Float
from handful.errors import HandfulError, RewardError, SettingError
from handful.policies.definition import Parameters
from handful.policies.hand import HandPolicy, HandState
from handful.simulation import cell
from tests.helpers import drive, order_of, refused, untouched
from tests.policies.checked import saved_size
from tests.policies.hands import HANDS, NAMES, arms_of, made, mean_of, restored
from tests.simulation.agree import assert_engines_agree


@pytest.mark.parametrize("name", NAMES)
@given(cut=st.integers(0, 300), between=st.booleans(), seed=st.integers(0, 99))
@settings(derandomize=True, deadline=None, max_examples=20)
def test_saved_at_any_pull_it_goes_on_as_if_never_stopped(
    name: str, cut: int, between: bool, seed: int
) -> None:
    policy = made(name, seed)
    drive(policy, cut, random.Random(1))
    if between:
        policy.select()
    twin = restored(policy)
    assert repr(twin) == repr(policy)
    assert drive(twin, 200, random.Random(2)) == drive(policy, 200, random.Random(2))
    assert twin.to_bytes() == policy.to_bytes()
    assert len(policy.arms_in_memory) <= policy.memory == (HANDS[name].own_memory or 3)


@pytest.mark.parametrize("name", NAMES)
def test_a_clone_and_a_reset_policy_make_the_same_choices(name: str) -> None:
    policy = made(name)
    first = drive(policy, 150, random.Random(1))
    twin = policy.clone()
    assert drive(twin, 150, random.Random(2)) == drive(policy, 150, random.Random(2))
    policy.reset()
    assert drive(policy, 150, random.Random(1)) == first


@pytest.mark.parametrize("name", NAMES)
def test_the_memory_bound_holds_and_the_recommended_arm_is_in_memory(name: str) -> None:
    policy = made(name)
    rewards = random.Random(1)
    for _ in range(500):
        assert policy.recommend() in policy.arms_in_memory
        chosen = policy.select()
        held = policy.arms_in_memory
        assert 1 <= len(held) == len(set(held)) <= policy.memory
        assert chosen in held
        assert policy.recommend() in held
        assert len(policy.to_bytes()) == saved_size(policy)
        drive(policy, 1, rewards)


@pytest.mark.parametrize("name", NAMES)
def test_any_arm_in_memory_may_be_rewarded(name: str) -> None:
    policy = made(name)
    for t in range(300):
        arms = policy.arms_in_memory
        policy.update(arms[t % len(arms)], float(t % 3 > 0))
        assert policy.pulls == t + 1


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_update_changes_nothing(name: str) -> None:
    policy = made(name)
    drive(policy, 30, random.Random(1))
    arm = policy.select()
    for reward in (2.0, math.nan, "1", memoryview(b"1")):
        with untouched(policy), refused(RewardError, ValueError):
            policy.update(arm, reward)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_forged_bytes_are_refused_or_make_a_policy_that_works(name: str) -> None:
    policy = made(name)
    drive(policy, 120, random.Random(1))
    blob = policy.to_bytes()
    for place in range(5, len(blob) - 4):
        for value in {0, 1, 0x7F, 0x80, 0xFF, blob[place] ^ 1} - {blob[place]}:
            forged = bytearray(blob)
            forged[place] = value
            forged[-4:] = pack("<I", crc32(forged[:-4]))
            try:
                other = handful.from_bytes(bytes(forged), arms=arms_of(name))
            except HandfulError:
                continue
            assert isinstance(other, HandPolicy)
            other.reveal(mean_of)
            for reward in (1.0, 0.0, 0.0, 1.0, 0.5):
                assert other.select() in other.arms_in_memory
                other.update(other.select(), reward)
                other.reward(other.decide().ticket, reward)
                assert len(other.arms_in_memory) <= other.memory
                assert other.recommend() in other.arms_in_memory
            repr(other)


@pytest.mark.parametrize("name", [n for n in NAMES if HANDS[n].needs_horizon])
def test_the_horizon_must_be_given_to_those_that_plan_for_it(name: str) -> None:
    with refused(SettingError, ValueError, "horizon"):
        handful.policy(name, arms_of(name), 3 if HANDS[name].takes_memory() else None)


@pytest.mark.parametrize("name", [name for name in NAMES if HANDS[name].own_memory])
def test_a_memory_of_ones_own_is_refused(name: str) -> None:
    own = HANDS[name].own_memory
    with refused(SettingError, ValueError, f"{own} arm"):
        handful.policy(name, arms_of(name), 7)


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_is(name: str) -> None:
    cls = HANDS[name]
    assert cls.title
    assert cls.summary
    assert cls.citation
    assert cls.__doc__


@pytest.mark.parametrize("distribution", ["", "+beta"])
@pytest.mark.parametrize("tape", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_the_engines_make_the_same_choices(name: str, distribution: str, tape: bool) -> None:
    cls = HANDS[name]
    worlds = ["I1", "I4"] if cls.endless or cls.any_arms else []
    if not cls.endless:
        worlds.append(f"linear:{cls.own_arms or 7}")
    for world in worlds:
        for M in (2, 4, 8) if cls.takes_memory() else (None,):
            assert_engines_agree(
                cell(name, world + distribution, M, 2000, runs=2, seed=3, tape=tape)
            )


class BySlotState(HandState):
    """One number more."""

    total: Float


class BySlot(HandPolicy):
    """Three slots, rewards as they are: the arm in slot j is pulled j + 1 times, slots in turn."""

    name = "by-slot"
    own_memory = 3
    trials = False
    State = BySlotState

    @staticmethod
    def observe(state: BySlotState, slot: int, reward: float, p: Parameters) -> None:
        credit(state, slot, reward)
        state.total += state.sums[slot] / state.pulls[slot] + p.K
        if state.pulls[slot] > slot:
            state.hand = state.tried % 3
            state.up_next = 1


def by_slot(K: int, order: list[int], pulls: int) -> list[int]:
    """The choices of `BySlot` on arms in this order, by a list of slots."""
    slots: list[int] = []
    choices: list[int] = []
    for i in itertools.count():
        arm = order[i % K]
        if arm not in slots:
            slots[i % 3 : i % 3 + 1] = [arm]
        choices += [arm] * (slots.index(arm) + 1)
        if len(choices) >= pulls:
            return choices[:pulls]
    raise AssertionError


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 7])
def test_an_arm_that_is_in_memory_stays_in_its_slot_with_fresh_statistics(K: int) -> None:
    policy = BySlot(K, seed=2)
    assert drive(policy, 60, random.Random(1)) == by_slot(K, order_of(policy), 60)


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 7])
def test_the_engines_agree_on_arms_met_again_while_in_memory(K: int) -> None:
    assert_engines_agree(cell(BySlot, f"linear:{K}+uniform", None, 500, runs=2))


def test_observe_sees_the_statistics_and_the_number_of_arms() -> None:
    policy = BySlot(5, seed=2)
    for reward in (0.25, 0.5, 1.0):  # the first arm once, then the second twice
        policy.update(policy.select(), reward)
    total = (0.25 + 5) + (0.5 + 5) + (0.75 + 5)
    assert policy._state.total == total  # type: ignore[attr-defined]
