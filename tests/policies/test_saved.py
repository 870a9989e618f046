"""What every policy must do when saved: go on exactly, stay small, refuse what is not its own."""

from __future__ import annotations

import random
import subprocess
import sys
from binascii import crc32
from struct import pack
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import handful
from handful import POLICIES, FiniteArms, HandfulError, PhasedPolicy
from handful.errors import (
    NewerStateError,
    OtherArmsError,
    StateError,
)
from tests.helpers import drive, new, plan, random_reward, refused
from tests.policies.checked import (
    CHECKED,
    arm_counts,
    every_policy,
    memories,
    mid_way,
    prompt,
    saved_size,
    seeds,
    selected_or_not,
    steady,
)


@every_policy
@steady
@given(arm_counts, memories, seeds, st.integers(0, 400), st.booleans(), st.integers(1, 100))
@example(3, 2, 0, 16, False, 60)
@example(3, 2, 0, 15, True, 60)
@example(2**62 - 1, 10, 0, 119, True, 60)
def test_a_restored_policy_goes_on_exactly_where_it_was(
    name: str, K: int, M: int, seed: int, pulls: int, selected: bool, further: int
) -> None:
    policy = new(name, K, M, seed=seed)
    drive(policy, pulls, random.Random(seed))
    if selected:
        policy.select()
    blob = policy.to_bytes()
    twin = handful.from_bytes(blob, arms=K)
    assert type(twin) is type(policy)
    assert twin.to_bytes() == blob
    assert drive(twin, further, random.Random(1)) == drive(policy, further, random.Random(1))
    assert twin.to_bytes() == policy.to_bytes()
    assert twin.recommend() == policy.recommend()


@every_policy
def test_a_policy_saved_and_restored_at_every_step_plays_as_if_never_stopped(name: str) -> None:
    policy, rewards, again = new(name, 11, 3), random.Random(7), random.Random(7)
    stopped = new(name, 11, 3)
    for _ in range(300):
        stopped = handful.from_bytes(stopped.to_bytes(), arms=11)
        arm = stopped.select()
        stopped = handful.from_bytes(stopped.to_bytes(), arms=11)
        stopped.update(arm, random_reward(rewards))
        assert drive(policy, 1, again) == [arm]
    assert stopped.to_bytes() == policy.to_bytes()


@every_policy
def test_a_reward_after_a_restore_needs_no_select_before_it(name: str) -> None:
    policy = new(name, 11, 3)
    arm = policy.select()
    twin = handful.from_bytes(policy.to_bytes(), arms=11)
    for each in (policy, twin):
        each.update(arm, 1.0)
    assert twin.to_bytes() == policy.to_bytes()


@every_policy
def test_a_policy_saved_in_another_process_goes_on_here(name: str) -> None:
    code = (
        "import random, sys, handful\n"
        f"plan = {plan(name)}\n"
        f"p = handful.policy({name!r}, arms=['a', 'b', 'c', 'd'], memory=2, seed=3, **plan)\n"
        "r = random.Random(4)\n"
        "for _ in range(45): p.update(p.select(), r.random())\n"
        "p.select()\n"
        "print(p.to_bytes().hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={}
    )
    policy = new(name, ["a", "b", "c", "d"], 2, seed=3)
    rewards = random.Random(4)
    for _ in range(45):
        policy.update(policy.select(), rewards.random())
    policy.select()
    assert bytes.fromhex(run.stdout) == policy.to_bytes()


@every_policy
@pytest.mark.parametrize("M", [2, 3, 4, 10, 50])
def test_the_state_takes_the_bytes_of_its_record_and_no_more(name: str, M: int) -> None:
    for K in (1, 2, 10, 49, 50, 51, 10**6, 10**12, 2**62 - 1):
        for rescale in (None, (-5.0, 5.0)):
            policy = new(name, K, M, rescale=rescale)
            for _ in range(20):
                assert len(policy.to_bytes()) == saved_size(policy)
                policy.update(policy.select(), 0.5)


@pytest.mark.parametrize("name", [n for n in CHECKED if issubclass(POLICIES[n], PhasedPolicy)])
@pytest.mark.parametrize("M", [3, 4, 10, 50])
def test_the_state_stays_under_128_and_40_bytes_an_arm(name: str, M: int) -> None:
    for K in (1, 2, 10, 49, 50, 51, 10**6, 10**12, 2**62 - 1):
        policy = new(name, K, M)
        sizes = [len(policy.to_bytes())]
        for _ in range(20):
            policy.update(policy.select(), 0.5)
            sizes.append(len(policy.to_bytes()))
        assert max(sizes) <= 128 + 40 * M, K


@every_policy
@steady
@given(arm_counts, st.integers(2, 50), seeds, st.integers(0, 300), st.booleans())
def test_the_state_stays_as_small_at_any_pull(
    name: str, K: int, M: int, seed: int, pulls: int, rescaled: bool
) -> None:
    policy = new(name, K, M, seed=seed, rescale=(0.0, 1.0) if rescaled else None)
    drive(policy, pulls, random.Random(seed))
    assert len(policy.to_bytes()) == saved_size(policy)
    assert policy._state.held <= min(K, M)


@every_policy
@pytest.mark.parametrize("setting", [(2, 8), (10, 50)])
def test_words_of_state_do_not_depend_on_the_arms_or_the_time(
    name: str, setting: tuple[int, int]
) -> None:
    memory, pulls = setting
    words = set()
    for arms in (memory + 1, 20, 10**12, [f"arm {i}" for i in range(memory + 1)]):
        policy = new(name, arms, memory)
        words.add(policy.memory_words)
        drive(policy, pulls, random.Random(0))
        words.add(policy.memory_words)
    assert len(words) == 1
    drive(policy, 1000, random.Random(0))
    assert policy._state.held == memory
    assert words == {-(-saved_size(policy) // 8)}


@every_policy
def test_words_of_state_do_not_count_slots_that_no_arm_can_have(name: str) -> None:
    assert new(name, 3, 50).memory_words == new(name, 3, 3).memory_words


@every_policy
def test_labels_are_not_in_the_bytes(name: str) -> None:
    blob = mid_way(name, ["secret one", "secret two", "secret three"], selected=True).to_bytes()
    assert b"secret" not in blob


@every_policy
@selected_or_not
def test_bytes_cut_at_any_length_are_refused(name: str, selected: bool) -> None:
    blob = mid_way(name, 9, selected).to_bytes()
    for size in range(len(blob)):
        for part in (blob[:size], blob[len(blob) - size :]):
            with refused(StateError, ValueError):
                handful.from_bytes(part, arms=9)


@every_policy
@selected_or_not
def test_any_bit_flipped_is_seen(name: str, selected: bool) -> None:
    blob = mid_way(name, 9, selected).to_bytes()
    for place in range(len(blob)):
        for bit in range(8):
            flipped = bytearray(blob)
            flipped[place] ^= 1 << bit
            with refused(StateError, ValueError):
                handful.from_bytes(bytes(flipped), arms=9)


def with_sum_mended(data: bytes | bytearray) -> bytes:
    return bytes(data[:-4]) + pack("<I", crc32(data[:-4]))


@every_policy
def test_bytes_of_a_newer_version_are_refused_as_such(name: str) -> None:
    newer = bytearray(mid_way(name, 9, selected=True).to_bytes())
    newer[4] += 1
    for load in (handful.from_bytes, handful.POLICIES[name].from_bytes):
        with refused(NewerStateError, ValueError, "format 2", "upgrade"):
            load(with_sum_mended(newer), 9)


@every_policy
@selected_or_not
@pytest.mark.parametrize("settings", [{}, {"rescale": (-5.0, 5.0)}], ids=["plain", "rescaled"])
def test_forged_bytes_are_refused_or_make_a_policy_that_works(
    name: str, selected: bool, settings: dict[str, Any]
) -> None:
    blob = mid_way(name, 9, selected, **settings).to_bytes()
    for place in range(5, len(blob) - 4):
        for value in {0, 1, 0x7F, 0x80, 0xFF, blob[place] ^ 1} - {blob[place]}:
            forged = bytearray(blob)
            forged[place] = value
            try:
                policy = handful.from_bytes(with_sum_mended(forged), arms=9)
            except HandfulError:
                continue
            assert policy.select() in policy.arms_in_memory
            for reward in policy._rescale or (0.0, 1.0):
                policy.update(policy.select(), reward)
                policy.reward(policy.decide().ticket, reward)
                assert len(policy.arms_in_memory) <= policy.memory
                assert policy.recommend() in policy.arms_in_memory
            repr(policy)


@every_policy
@pytest.mark.parametrize("given", [None, "text", 7, [1]])
def test_what_is_not_bytes_is_refused(name: str, given: Any) -> None:
    for load in (handful.from_bytes, handful.POLICIES[name].from_bytes):
        with refused(StateError, ValueError, type(given).__name__):
            load(given, 9)


@every_policy
@pytest.mark.parametrize(
    ("saved_with", "given"),
    [
        (9, 8),
        (9, 10**12),
        (3, ["a", "b", "c"]),
        (["a", "b", "c"], 3),
        (["a", "b", "c"], ["a", "b"]),
        (["a", "b", "c"], ["a", "c", "b"]),
        (["a", "b", "c"], ["a", "b", "d"]),
        ([0, 1, 2], ["0", "1", "2"]),
        (FiniteArms(prompt, n=99), FiniteArms(prompt, n=98)),
        (FiniteArms(prompt, n=99), FiniteArms(lambda i: f"p{i}", n=99)),
        (FiniteArms(prompt, n=99), 99),
    ],
)
def test_other_arms_are_refused(name: str, saved_with: Any, given: Any) -> None:
    blob = new(name, saved_with, 2).to_bytes()
    for load in (handful.from_bytes, handful.POLICIES[name].from_bytes):
        with refused(OtherArmsError, ValueError, str(FiniteArms.of(saved_with).n)):
            load(blob, given)


@every_policy
def test_the_state_of_another_policy_is_refused(name: str) -> None:
    blob = new(name, 9, 3).to_bytes()
    for other, cls in handful.POLICIES.items():
        if other != name:
            with refused(StateError, ValueError, repr(name), repr(other)):
                cls.from_bytes(blob, 9)
