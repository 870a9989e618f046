from __future__ import annotations

import math
from struct import pack
from typing import Any

import pytest
from handful.core.memory import WORDS_PER_SLOT, ArmMemory, check_memory
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.errors import ForgottenArmError, MemoryFullError, SettingError, StateError
from tests.helpers import refused

steady = settings(derandomize=True, deadline=None)


def holding(*arms: int, capacity: int = 4) -> ArmMemory:
    memory = ArmMemory(capacity)
    for arm in arms:
        memory.admit(arm)
    return memory


def snapshot(memory: ArmMemory) -> tuple[list[int], list[int], list[float], list[int], int]:
    return (
        list(memory.arms),
        list(memory.pulls),
        list(memory.sums),
        list(memory.generations),
        memory.next_generation,
    )


def test_an_admitted_arm_starts_with_fresh_statistics() -> None:
    memory = holding(7)
    assert len(memory) == 1
    assert (memory.arms, memory.pulls, memory.sums) == ([7], [0], [0.0])


def test_an_arm_beyond_the_capacity_is_refused_and_nothing_changes() -> None:
    memory = holding(1, 2, capacity=2)
    before = snapshot(memory)
    with refused(MemoryFullError, RuntimeError, "2 arms", "arm 3"):
        memory.admit(3)
    assert snapshot(memory) == before


def test_an_arm_gets_no_second_slot() -> None:
    memory = holding(1, 2)
    before = snapshot(memory)
    with refused(MemoryFullError, RuntimeError, "arm 2"):
        memory.admit(2)
    assert snapshot(memory) == before


def test_more_arms_than_slots_cannot_be_filled_in() -> None:
    memory = ArmMemory(3)
    with refused(MemoryFullError, RuntimeError, "3 arms"):
        memory.refill(range(4))
    assert len(memory) <= 3


def test_a_pull_counts_for_the_arm_in_its_slot_only() -> None:
    memory = holding(5, 6)
    memory.record(1, 0.25)
    memory.record(1, 0.5)
    assert memory.pulls == [0, 2]
    assert memory.sums == [0.0, 0.75]
    assert memory.mean(1) == 0.375
    assert math.isnan(memory.mean(0))


def test_refilling_forgets_all_statistics_even_of_an_arm_that_stays() -> None:
    memory = holding(1, 2)
    memory.record(0, 1.0)
    memory.refill([1, 3, 4])
    assert memory.arms == [1, 3, 4]
    assert memory.pulls == [0, 0, 0]
    assert memory.sums == [0.0, 0.0, 0.0]


@steady
@given(st.lists(st.lists(st.integers(0, 9), unique=True, max_size=4), max_size=20))
def test_no_two_stays_share_a_generation(fillings: list[list[int]]) -> None:
    memory = ArmMemory(4)
    generations: list[int] = []
    for arms in fillings:
        memory.refill(arms)
        generations += memory.generations
    assert generations == list(range(1, len(generations) + 1))


def test_an_arm_is_found_by_its_index() -> None:
    memory = holding(8, 3)
    assert memory.slot_of(3) == 1
    with refused(ForgottenArmError, LookupError, "arm 5"):
        memory.slot_of(5)


slots = st.lists(
    st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**40), st.floats(0, 1)),
    max_size=8,
    unique_by=lambda slot: slot[0],
)


@steady
@given(slots, st.integers(0, 8))
def test_bytes_restore_the_memory(filled: list[tuple[int, int, float]], spare: int) -> None:
    memory = ArmMemory(len(filled) + spare)
    for arm, pulls, mean in filled:
        memory.admit(arm)
        memory.pulls[-1] = pulls
        memory.sums[-1] = mean * pulls
    data = memory.pack()
    restored = ArmMemory.unpack(data, memory.capacity, 2**63)
    assert snapshot(restored) == snapshot(memory)
    assert restored.pack() == data
    assert len(data) == 12 + 8 * WORDS_PER_SLOT * len(filled)


def test_slots_cut_or_lengthened_are_refused() -> None:
    data = holding(1, 2).pack()
    for size in range(len(data)):
        with refused(StateError, ValueError, "saved slots"):
            ArmMemory.unpack(data[:size], 4, 10)
    with refused(StateError, ValueError, "saved slots"):
        ArmMemory.unpack(data + b"\0", 4, 10)


def slot_bytes(*slots: tuple[int, int, float, int], next_generation: int = 9) -> bytes:
    return pack("<IQ", len(slots), next_generation) + b"".join(
        pack("<QQdQ", *slot) for slot in slots
    )


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(slot_bytes((10, 1, 0.5, 1)), id="an arm that does not exist"),
        pytest.param(slot_bytes((3, 1, 1.5, 1)), id="more reward than pulls"),
        pytest.param(slot_bytes((3, 1, -0.5, 1)), id="less reward than none"),
        pytest.param(slot_bytes((3, 1, math.nan, 1)), id="a sum that is no number"),
        pytest.param(slot_bytes((3, 1, math.inf, 1)), id="an infinite sum"),
        pytest.param(slot_bytes((3, 1, 0.5, 9)), id="a generation to come"),
        pytest.param(slot_bytes((3, 1, 0.5, 1), (3, 1, 0.5, 2)), id="an arm twice"),
        pytest.param(
            slot_bytes((1, 0, 0.0, 1), (2, 0, 0.0, 2), (3, 0, 0.0, 3)), id="more arms than slots"
        ),
    ],
)
def test_slots_that_cannot_be_are_refused(data: bytes) -> None:
    with refused(StateError, ValueError):
        ArmMemory.unpack(data, 2, 10)


@pytest.mark.parametrize("memory", [2, 3, 50, 2**32 - 1])
def test_a_memory_of_two_arms_or_more_is_allowed(memory: int) -> None:
    assert check_memory(memory) == memory


@pytest.mark.parametrize("memory", [1, 0, -1, -(10**30)])
def test_a_memory_of_fewer_than_two_arms_is_refused(memory: int) -> None:
    with refused(SettingError, ValueError, f"memory={memory} ", "memory >= 2"):
        check_memory(memory)


@pytest.mark.parametrize("memory", [True, False, 2.0, 2.5, math.nan, "2", [2], 2j])
def test_a_memory_that_is_not_a_whole_number_is_refused(memory: Any) -> None:
    with refused(SettingError, ValueError, f"memory={memory!r} ", "not an integer"):
        check_memory(memory)


@pytest.mark.parametrize("memory", [2**32, 10**30])
def test_a_memory_that_its_bytes_could_not_count_is_refused(memory: int) -> None:
    with refused(SettingError, ValueError, f"memory={memory} "):
        check_memory(memory)


def test_a_memory_that_was_not_given_is_asked_for() -> None:
    with refused(SettingError, ValueError, "memory is missing", "give memory=M"):
        check_memory(None)
