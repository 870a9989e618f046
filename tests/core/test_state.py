"""The record: one declaration, from which follow the object, the bytes and the NumPy dtype."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import handful
from handful.core.slots import admit, extend
from handful.core.state import (
    MOST_COUNT,
    NO_SLOT,
    Count,
    Counts,
    Float,
    Floats,
    HistoryCounts,
    HistoryFloats,
    HistorySmalls,
    Int,
    Ints,
    Kind,
    Slot,
    Small,
    State,
    WithHistory,
    Word,
    Words,
    fields,
    slot_size,
)
from handful.errors import StateError
from tests.helpers import refused

RECORDS = sorted({cls.State for cls in handful.POLICIES.values()}, key=lambda cls: cls.__name__)
every_record = pytest.mark.parametrize("record", RECORDS, ids=lambda cls: cls.__name__)
FLIGHT_SLOT = struct.calcsize("<iiiidid")
N_ARMS = 1000
ENTRIES = 4
"""How many entries of its history a record uses, if it has one."""


class Base(State):
    favourite: Slot
    level: Float


class Derived(Base):
    flag: Small
    word: Word
    pair: Words
    count: Count
    number: Int
    weights: Floats
    marks: Ints
    tallies: Counts


class Past(WithHistory):
    then: HistoryCounts
    worth: HistoryFloats
    marked: HistorySmalls


def filled(record: type[State], slots: int, seed: int = 0) -> Any:
    """Return a record with different values in all fields, that could be a policy's."""
    rng = random.Random(seed)
    state = record()
    state.capacity = slots
    for slot, arm in enumerate(rng.sample(range(N_ARMS), slots)):
        admit(state, slot, arm)
        state.pulls[slot] = rng.randrange(1, 100)
        state.sums[slot] = state.pulls[slot] * rng.random()
        state.missing[slot] = rng.randrange(3)
        state.born[slot] = slot + 1
    if isinstance(state, WithHistory):
        extend(state, ENTRIES)
    for name, kind in fields(record).items():
        if name in fields(WithHistory):
            continue
        rows = ENTRIES if kind.of_history else slots if kind.per_slot else kind.length
        for place in range(rows):
            value: Any = rng.random() if kind.code == "d" else rng.randrange(slots + 1)
            if kind.per_slot or kind.of_history or kind.length > 1:
                getattr(state, name)[place] = value
            else:
                setattr(state, name, value)
    for slot in range(slots):
        state.in_flight[slot] = rng.randrange(2, 6)
        state.recent[slot] = rng.randrange(1, state.in_flight[slot])
        state.kept[slot] = rng.randrange(state.recent[slot] + 1)
        state.kept_sum[slot] = state.kept[slot] * rng.random()
        state.kept_before[slot] = rng.randrange(state.in_flight[slot] - state.recent[slot] + 1)
        state.kept_before_sum[slot] = state.kept_before[slot] * rng.random()
    state.rewards = sum(state.pulls) + 7
    state.clock = state.rewards + sum(state.in_flight) + sum(state.missing) + 9
    state.forgotten, state.refused, state.lost, state.answers = 3, 5, 6, 4
    state.delay, state.turned, state.turned_before = 2.5, 8, 1
    state.settled, state.key = rng.getrandbits(64), rng.getrandbits(64)
    state.rng = [rng.getrandbits(64), rng.getrandbits(64) | 1]
    state.pending = slots - 1
    return state


def values(state: State) -> dict[str, Any]:
    return {name: getattr(state, name) for name in fields(type(state))}


# From the declaration follow the object ...


def test_fields_are_those_declared_the_base_class_s_first() -> None:
    names = list(fields(Derived))
    assert names[: len(fields(State))] == list(fields(State))
    assert names[len(fields(State)) :] == [
        "favourite", "level", "flag", "word", "pair", "count", "number", "weights", "marks",
        "tallies",
    ]  # fmt: skip
    assert fields(Derived)["favourite"] == Kind("i", "<i4", is_slot=True)
    assert fields(Derived)["weights"].per_slot


def test_a_new_record_is_empty() -> None:
    state = Derived()
    assert (state.level, state.flag, state.pair, state.weights) == (0.0, 0, [0, 0], [])
    assert isinstance(state.level, float)
    assert (state.held, state.pending, state.arm) == (0, NO_SLOT, [])


@every_record
def test_a_typo_is_an_error(record: type[State]) -> None:
    with pytest.raises(AttributeError):
        record().clocks = 1  # type: ignore[attr-defined]
    assert not hasattr(record(), "__dict__")


def test_records_share_nothing() -> None:
    first, second = Derived(), Derived()
    admit(first, 0, 7)
    first.pair[0] = 9
    assert (second.arm, second.pair) == ([], [0, 0])


@every_record
def test_a_copy_is_equal_and_independent(record: type[State]) -> None:
    state = filled(record, 3)
    twin = state.copy()
    assert (values(twin), twin.capacity) == (values(state), state.capacity)
    before = twin.pack()
    state.arm[0] += 1
    state.rng[0] ^= 1
    state.clock += 1
    assert twin.pack() == before


# ... the bytes ...


@every_record
@pytest.mark.parametrize("slots", [1, 2, 5])
def test_what_is_packed_is_unpacked(record: type[State], slots: int) -> None:
    state = filled(record, slots)
    twin = record.unpack(state.pack(), slots, N_ARMS)
    assert values(twin) == values(state)
    assert twin.pack() == state.pack()
    assert twin.capacity == slots


def test_only_slots_in_use_are_packed() -> None:
    state = filled(Derived, 4)
    size = len(state.pack())
    state.held = state.pending = 2
    assert len(state.pack()) == size - 2 * (slot_size(Derived) + FLIGHT_SLOT)
    state.pending = 1
    twin = Derived.unpack(state.pack(), 4, N_ARMS)
    assert twin.arm == state.arm[:2]


def test_the_bytes_are_the_scalars_then_the_slots_then_those_of_decisions_in_flight() -> None:
    state = filled(State, 2)
    head = struct.pack("<BqqQQQii", 1, state.clock, state.rewards, state.key, *state.rng, 2, 1)
    columns = zip(state.arm, state.pulls, state.sums, state.born, strict=True)
    rows = b"".join(struct.pack("<qqdq", *row) for row in columns)
    flight = struct.pack("<Qiiiidqqi", state.settled, 3, 5, 6, 4, 2.5, 8, 1, 0)
    names = ("in_flight", "recent", "missing", "kept", "kept_sum", "kept_before", "kept_before_sum")
    counts = zip(*(getattr(state, name) for name in names), strict=True)
    flights = b"".join(struct.pack("<iiiidid", *row) for row in counts)
    assert state.pack() == head + rows + flight + flights


def test_without_decisions_in_flight_the_bytes_end_before_them() -> None:
    state = filled(State, 2)
    whole = state.pack()
    for name, kind in fields(State).items():
        if kind.of_flight:
            setattr(state, name, [0, 0] if kind.per_slot else 0)
    assert state.pack() == b"\0" + whole[1 : len(state.pack())]
    assert len(whole) == len(state.pack()) + struct.calcsize("<Qiiiidqqi") + 2 * FLIGHT_SLOT
    assert values(State.unpack(state.pack(), 2, N_ARMS)) == values(state)
    with refused(StateError, ValueError, "none"):
        zeros = bytes(len(whole) - len(state.pack()))
        State.unpack(b"\1" + state.pack()[1:] + zeros, 2, N_ARMS)


def test_only_entries_of_the_history_in_use_are_packed_after_all_else() -> None:
    state = filled(Past, 2)
    whole = state.pack()
    state.entries = 1
    assert len(state.pack()) == len(whole) - 3 * struct.calcsize("<idb")
    entry = struct.pack("<idb", state.then[0], state.worth[0], state.marked[0])
    assert state.pack().endswith(entry)
    twin = Past.unpack(state.pack(), 2, N_ARMS)
    assert (twin.then, twin.worth, twin.entries) == (state.then[:1], state.worth[:1], 1)
    state.entries = 0
    assert Past.unpack(state.pack(), 2, N_ARMS).worth == []
    assert len(Past().pack()) == len(State().pack()) + 4


@pytest.mark.parametrize("entries", [-1, 3, 5, 2**31 - 1])
def test_a_wrong_number_of_entries_is_refused(entries: int) -> None:
    state = filled(Past, 2)
    data = bytearray(state.pack())
    struct.pack_into("<i", data, struct.calcsize("<BqqQQQii"), entries)
    with refused(StateError, ValueError):
        Past.unpack(bytes(data), 2, N_ARMS)


# ... and the NumPy dtype.


def part_of(row: Any, kind: Kind) -> Any:
    """The part of a NumPy record that has a field of this kind."""
    if kind.of_history:
        return row["history"]
    return row["flights" if kind.of_flight else "slots"] if kind.per_slot else row


@every_record
@pytest.mark.parametrize("slots", [1, 2, 7])
def test_packed_bytes_are_those_of_a_numpy_record(record: type[State], slots: int) -> None:
    state = filled(record, slots)
    row = np.zeros((), dtype=np.dtype(record.layout(slots, ENTRIES)))
    for name, kind in fields(record).items():
        part_of(row, kind)[name] = getattr(state, name)
    assert b"\1" + row.tobytes() == state.pack()


@every_record
def test_a_numpy_record_read_from_packed_bytes_has_the_same_fields(record: type[State]) -> None:
    state = filled(record, 3)
    row = np.frombuffer(state.pack()[1:], dtype=np.dtype(record.layout(3, ENTRIES)))[0]
    for name, kind in fields(record).items():
        assert part_of(row, kind)[name].tolist() == getattr(state, name), name


def test_a_policy_s_own_bytes_end_with_its_record() -> None:
    policy = handful.UCBM(arms=9, memory=3, seed=1)
    blob = policy.to_bytes()
    assert blob[:-4].endswith(policy._state.pack())


# What no policy could have left behind is refused.

FORGED: list[tuple[str, Any]] = [
    ("clock", -1),
    ("clock", 2**53 + 1),
    ("rewards", -1),
    ("rewards", 10**9),
    ("forgotten", -1),
    ("refused", -1),
    ("lost", -1),
    ("answers", -1),
    ("delay", -1.0),
    ("delay", math.nan),
    ("delay", 1e9),
    ("turned", -1),
    ("turned", 0),
    ("turned", 10**6),
    ("turned_before", -1),
    ("turned_before", 9),
    ("held", -1),
    ("pending", -2),
    ("pending", 3),
    ("favourite", -1),
    ("favourite", 4),
    ("level", math.nan),
    ("number", 2**62 + 1),
    ("number", -(2**62) - 1),
]
FORGED_SLOTS: list[tuple[str, Any]] = [
    ("arm", -1),
    ("arm", N_ARMS),
    ("pulls", -1),
    ("pulls", 10**9),
    ("sums", -0.5),
    ("sums", 101.0),
    ("sums", math.nan),
    ("in_flight", -1),
    ("in_flight", 10**6),
    ("recent", -1),
    ("recent", 5),
    ("missing", -1),
    ("missing", 10**6),
    ("born", 0),
    ("born", 10**6),
    ("weights", math.nan),
    ("marks", 2**62 + 1),
]


@pytest.mark.parametrize(("name", "value"), FORGED)
def test_a_forged_value_is_refused(name: str, value: Any) -> None:
    state = filled(Derived, 3)
    Derived.unpack(state.pack(), 3, N_ARMS)
    setattr(state, name, value)
    packed = State.pack(state) if name != "held" else _with_held(state, value)
    with refused(StateError, ValueError):
        Derived.unpack(packed, 3, N_ARMS)


def _with_held(state: Any, held: int) -> bytes:
    state.held = 3
    data = bytearray(state.pack())
    struct.pack_into("<i", data, struct.calcsize("<BqqQQQ"), held)
    return bytes(data)


@pytest.mark.parametrize(("name", "value"), FORGED_SLOTS)
@pytest.mark.parametrize("slot", [0, 2])
def test_a_forged_slot_is_refused(name: str, value: Any, slot: int) -> None:
    state = filled(Derived, 3)
    getattr(state, name)[slot] = value
    with refused(StateError, ValueError):
        Derived.unpack(state.pack(), 3, N_ARMS)


def test_an_arm_that_is_held_twice_is_refused() -> None:
    state = filled(State, 3)
    state.arm[2] = state.arm[0]
    with refused(StateError, ValueError, "twice"):
        State.unpack(state.pack(), 3, N_ARMS)


def test_a_generator_with_an_even_step_is_refused() -> None:
    state = filled(State, 3)
    state.rng[1] ^= 1
    with refused(StateError, ValueError, "counters"):
        State.unpack(state.pack(), 3, N_ARMS)


def test_more_slots_than_the_memory_are_refused() -> None:
    with refused(StateError, ValueError, "memory size"):
        State.unpack(filled(State, 3).pack(), 2, N_ARMS)


@every_record
def test_bytes_that_end_too_early_or_too_late_are_refused(record: type[State]) -> None:
    packed = filled(record, 3).pack()
    for size in range(len(packed)):
        with refused(StateError, ValueError):
            record.unpack(packed[:size], 3, N_ARMS)
        with refused(StateError, ValueError):
            record.unpack(packed + bytes(size + 1), 3, N_ARMS)


@given(st.binary(max_size=250))
def test_any_bytes_are_refused_or_a_record(data: bytes) -> None:
    try:
        state = State.unpack(data, 3, N_ARMS)
    except StateError:
        return
    assert state.pack() == data


# Counters have limits.


def test_counters_of_lost_rewards_stop_at_their_limit_when_saved() -> None:
    state = filled(State, 2)
    state.forgotten = state.refused = 2**31
    state.in_flight[0] = 2**33
    state.clock += 2**34
    twin = State.unpack(state.pack(), 2, N_ARMS)
    assert twin.forgotten == twin.refused == twin.in_flight[0] == MOST_COUNT
    assert state.forgotten == 2**31


def test_a_value_that_its_type_cannot_hold_is_an_error_that_names_it() -> None:
    state = filled(Derived, 2)
    state.flag = 300
    with refused(StateError, ValueError, "flag=300", "Derived", "Int"):
        state.pack()
