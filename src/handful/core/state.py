"""The record: everything that a policy knows, declared once by annotations.

A subclass of `State` names its fields and their types. Three forms are derived from this
declaration:

    the plain object    that online use works on: numbers, and a list for each per-slot field
    the bytes           `pack` and `unpack`: the fields in order, then the slots in use; then, if
                        the first byte is 1, the same for the fields of decisions in flight; then
                        the entries of the history in use, if the record has one
    the NumPy dtype     `layout`, for arrays of records: `numpy.dtype(RaceState.layout(memory=8))`

Policies are functions of such a record. Numba compiles the same functions for records of an array
(`handful.compiling.state`), so a field has the same meaning online, on disk and in a kernel.

    >>> class Favourite(State):
    ...     favourite: Slot
    >>> state = Favourite()
    >>> state.clock, state.favourite, state.arm
    (0, 0, [])

Operations on slots are in `handful.core.slots`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from struct import Struct
from typing import Annotated, Any, NamedTuple, Self, get_args, get_origin, get_type_hints

from handful.core.arms import ENDLESS
from handful.errors import SettingError, StateError


class Kind(NamedTuple):
    """How a field is stored: its `struct` code, its NumPy type, whether each slot has one."""

    code: str
    numpy: str
    per_slot: bool = False
    length: int = 1
    is_slot: bool = False
    of_flight: bool = False
    of_history: bool = False


Int = Annotated[int, Kind("q", "<i8")]
"""A 64-bit integer."""
Count = Annotated[int, Kind("i", "<i4")]
"""A 32-bit integer."""
Small = Annotated[int, Kind("b", "i1")]
"""An 8-bit integer, also a flag."""
Word = Annotated[int, Kind("Q", "<u8")]
"""64 random bits. In a kernel, words do not mix with other integers."""
Float = Annotated[float, Kind("d", "<f8")]
"""A double that is never NaN."""
Slot = Annotated[int, Kind("i", "<i4", is_slot=True)]
"""The number of a slot in use, or of the first free one."""
Words = Annotated[list[int], Kind("Q", "<u8", length=2)]
"""The two words of a generator."""
Ints = Annotated[list[int], Kind("q", "<i8", per_slot=True)]
"""A 64-bit integer for each slot."""
Counts = Annotated[list[int], Kind("i", "<i4", per_slot=True)]
"""A 32-bit integer for each slot."""
Smalls = Annotated[list[int], Kind("b", "i1", per_slot=True)]
"""An 8-bit integer for each slot."""
Floats = Annotated[list[float], Kind("d", "<f8", per_slot=True)]
"""A double for each slot."""

# Fields of decisions in flight (`handful.core.flight`) and of other things that many policies never
# see. A record in which all of them are 0, as in one that `select` and `update` drive, is saved
# without them.
FlightInt = Annotated[int, Kind("q", "<i8", of_flight=True)]
FlightCount = Annotated[int, Kind("i", "<i4", of_flight=True)]
FlightWord = Annotated[int, Kind("Q", "<u8", of_flight=True)]
FlightFloat = Annotated[float, Kind("d", "<f8", of_flight=True)]
FlightFloats = Annotated[list[float], Kind("d", "<f8", per_slot=True, of_flight=True)]
FlightCounts = Annotated[list[int], Kind("i", "<i4", per_slot=True, of_flight=True)]

# Fields of a history (`WithHistory`): a list of entries beside the slots.
HistoryCounts = Annotated[list[int], Kind("i", "<i4", of_history=True)]
"""A 32-bit integer for each entry."""
HistorySmalls = Annotated[list[int], Kind("b", "i1", of_history=True)]
"""An 8-bit integer for each entry."""
HistoryFloats = Annotated[list[float], Kind("d", "<f8", of_history=True)]
"""A double for each entry."""

FIELD_TYPES = "Int, Count, Small, Float, Slot, Ints, Counts, Smalls, Floats"
"""The names of these types, for messages."""
NOT_FIELDS = frozenset({"capacity"})
"""What a record has that is not saved."""
NO_SLOT = -1
"""In `State.pending`: no decision is pending."""
MOST_COUNT = 2**31 - 1
"""A 32-bit counter that goes beyond this is saved as this."""
MOST_PULLS = 2**53
"""Counters beyond this are refused when a state is restored."""


class _Slotted(type):
    """Give each class `__slots__` for the fields that it declares, so that a typo is an error."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        declared = namespace.get("__annotations__")
        if declared is None:  # Python 3.14 keeps annotations in a function
            annotate = namespace.get("__annotate_func__") or namespace.get("__annotate__")
            declared = annotate(1) if annotate else {}
        namespace["__slots__"] = tuple(field for field in declared if field not in namespace)
        return super().__new__(mcs, name, bases, namespace)


class State(metaclass=_Slotted):
    """The fields that every policy has."""

    clock: Int
    """Decisions so far. The next decision is number `clock + 1`."""
    rewards: Int
    """Rewards credited so far."""
    key: Word
    """The 64-bit key, derived from the seed; the arm order and the generator derive from it."""
    rng: Words
    """The generator: position and step (`rng`)."""
    held: Count
    """How many slots are in use: slots 0 to held - 1."""
    pending: Count
    """The slot that `select` gave and that no `update` has answered, or `NO_SLOT`."""

    arm: Ints
    """The index of the arm in each slot."""
    pulls: Ints
    """Rewards credited to it since it entered memory."""
    sums: Floats
    """The sum of what was credited."""
    born: Ints
    """The first decision that can belong to this stay; earlier tickets belong to earlier stays."""

    settled: FlightWord
    """Whether the ticket of each of the last 64 decisions was used: bit t mod 64 for decision t."""
    forgotten: FlightCount
    """Rewards that came after their arm had left memory."""
    refused: FlightCount
    """Rewards with a ticket that was used before or never given, or that came too late."""
    lost: FlightCount
    """Decisions that were written off: their rewards are not waited for any more."""
    answers: FlightCount
    """Rewards that came with a ticket, counted up to `flight.RECENT`."""
    delay: FlightFloat
    """The mean delay of recent rewards, in decisions."""
    turned: FlightInt
    """The last decision before the present window."""
    turned_before: FlightInt
    """The last decision before the window before it."""
    news: FlightCount
    """The last so many arms were added and have not come up yet (`handful.core.change`)."""

    in_flight: FlightCounts
    """Decisions of this stay whose reward is waited for; the pending one is not counted."""
    recent: FlightCounts
    """Those of them that were made in the present window."""
    missing: FlightCounts
    """Decisions of this stay that were written off, and whose reward has not come after all."""
    kept: FlightCounts
    """With a default reward: decisions of the present window that are in flight although their
    reward has come, ..."""
    kept_sum: FlightFloats
    """... the sum of these rewards, ..."""
    kept_before: FlightCounts
    """... and the same for the window before."""
    kept_before_sum: FlightFloats

    capacity: int
    """M, the most slots that may be in use. Set by the policy; not a field of the record."""

    def __init__(self) -> None:
        for name, kind in fields(type(self)).items():
            if kind.per_slot or kind.of_history:
                setattr(self, name, [])
            elif kind.length > 1:
                setattr(self, name, [0] * kind.length)
            else:
                setattr(self, name, 0.0 if kind.code == "d" else 0)
        self.pending = NO_SLOT
        self.capacity = 2**31

    @classmethod
    def layout(cls, memory: int, entries: int = 0) -> list[tuple[Any, ...]]:
        """Return the fields as `numpy.dtype` takes them, in the order of a saved record.

        The scalars, `memory` slots, and then the same for the fields of decisions in flight. A
        record with a history also has so many entries of it.
        """
        form = _form(cls)
        past = [("history", columns(cls, form.history), (entries,))] if form.history else []
        return [
            *columns(cls, form.scalars),
            ("slots", columns(cls, form.slots), (memory,)),
            *columns(cls, form.flight_scalars),
            ("flights", columns(cls, form.flight_slots), (memory,)),
            *past,
        ]

    def entries_in_use(self) -> int:
        """Return how many entries of its history the record uses; 0 if it has none."""
        return 0

    def pack(self) -> bytes:
        """Return the scalars and the slots in use, as bytes."""
        try:
            return self._packed()
        except struct.error:
            return self._fitted()._packed()

    def _packed(self) -> bytes:
        form = _form(type(self))
        flies = any(getattr(self, name) for name in form.flight_scalars) or any(
            any(getattr(self, name)[: self.held]) for name in form.flight_slots
        )
        parts = [bytes([flies])]
        held = self.held
        parts += [self._row(form.scalars, form.head), self._rows(form.slots, form.slot, held)]
        if flies:
            parts.append(self._row(form.flight_scalars, form.flight_head))
            parts.append(self._rows(form.flight_slots, form.flight_slot, held))
        parts.append(self._rows(form.history, form.entry, self.entries_in_use()))
        return b"".join(parts)

    def _row(self, names: tuple[str, ...], form: Struct) -> bytes:
        return form.pack(*(value for name in names for value in _listed(getattr(self, name))))

    def _rows(self, names: tuple[str, ...], form: Struct, count: int) -> bytes:
        columns = [getattr(self, name)[:count] for name in names]
        return b"".join(form.pack(*row) for row in zip(*columns, strict=True))

    def _fitted(self) -> Self:
        """Return a copy whose counters of lost and late rewards are cut to 32 bits."""
        twin = self.copy()
        for name, kind in fields(type(self)).items():
            if kind.of_flight and kind.code == "i":
                value = getattr(self, name)
                cut = [min(each, MOST_COUNT) for each in _listed(value)]
                setattr(twin, name, cut if kind.per_slot else cut[0])
            for value in _listed(getattr(twin, name)):
                try:
                    struct.pack(f"<{kind.code}", value)
                except struct.error:
                    raise StateError(
                        f"{name}={value!r} does not fit the type that {type(self).__name__} "
                        "declares for it: declare a wider one, such as Int"
                    ) from None
        return twin

    @classmethod
    def unpack(cls, data: bytes, capacity: int, n_arms: int) -> Self:
        """Set the fields from packed bytes; refuse what no record of this capacity can hold."""
        form = _form(cls)
        state = cls()
        state.capacity = capacity
        flies, rest = data[:1], state._take_row(form.scalars, form.head, data[1:])
        if flies not in (b"\0", b"\1"):
            raise StateError("the saved policy has a flag that is neither set nor unset")
        if not 0 <= state.held <= min(capacity, len(rest) // form.slot.size):
            raise StateError("the saved slots do not fit the saved memory size")
        rest = state._take_rows(form.slots, form.slot, rest, state.held)
        past = state.entries_in_use() * form.entry.size
        if not 0 <= past <= len(rest):
            raise StateError("the saved history does not fit the saved number of its entries")
        rest, history = rest[: len(rest) - past], rest[len(rest) - past :]
        if past:
            state._take_rows(form.history, form.entry, history, state.entries_in_use())
        for name in form.flight_slots:
            setattr(state, name, [0] * state.held)
        if flies == b"\1":
            if not any(rest):
                raise StateError("the saved policy has a flag for decisions in flight, and none")
            rest = state._take_row(form.flight_scalars, form.flight_head, rest)
            if len(rest) != state.held * form.flight_slot.size:
                raise StateError("the saved slots do not fit the saved memory size")
            rest = state._take_rows(form.flight_slots, form.flight_slot, rest, state.held)
        if rest:
            raise StateError("the saved slots do not fit the saved memory size")
        state.check_fields(n_arms)
        return state

    def _take_row(self, names: tuple[str, ...], form: Struct, data: bytes) -> bytes:
        """Set scalars from the front of some bytes, and return the rest."""
        try:
            values = iter(form.unpack_from(data))
        except struct.error:
            raise StateError("the saved policy ends too early") from None
        for name in names:
            length = fields(type(self))[name].length
            taken = [next(values) for _ in range(length)]
            setattr(self, name, taken if length > 1 else taken[0])
        return data[form.size :]

    def _take_rows(self, names: tuple[str, ...], form: Struct, data: bytes, count: int) -> bytes:
        """Set columns of so many rows from the front of some bytes; return the rest."""
        size = count * form.size
        columns = list(zip(*form.iter_unpack(data[:size]), strict=True))
        for name, column in zip(names, columns, strict=False):
            setattr(self, name, list(column))
        return data[size:]

    def check_fields(self, n_arms: int) -> None:
        """Refuse values that no policy could have left behind."""
        for name, kind in fields(type(self)).items():
            for value in _listed(getattr(self, name)):
                if kind.is_slot and not 0 <= value <= self.held:
                    raise StateError(f"the saved policy has no slot {value} ({name})")
                if value != value or (kind.code == "q" and abs(value) > 2**62):
                    raise StateError(f"the saved policy cannot have {name}={value}")
        if len(set(self.arm)) < self.held:
            raise StateError("the saved memory holds an arm twice")
        if not NO_SLOT <= self.pending < self.held:
            raise StateError("the saved choice is not in the saved memory")
        waited_for = sum(self.in_flight) + sum(self.missing)
        answered = self.rewards + waited_for + (self.pending != NO_SLOT)
        counted = 0 <= sum(self.pulls) <= self.rewards and answered <= self.clock <= MOST_PULLS
        seldom = (self.forgotten, self.refused, self.lost, self.answers, self.delay, self.news)
        timed = 0 <= self.turned_before <= self.turned <= self.clock >= self.delay
        if not self.rng[1] & 1 or not counted or not timed or min(seldom) < 0:
            raise StateError("the saved counters are not possible")
        if self.news > (0 if n_arms == ENDLESS else n_arms):
            raise StateError(f"the saved policy has {self.news} new arms, more than can be")
        for slot in range(self.held):
            open_now = self.in_flight[slot] + self.missing[slot] + (slot == self.pending)
            possible = (
                0 <= self.arm[slot] < n_arms
                and 0.0 <= self.sums[slot] <= self.pulls[slot]
                and 0 <= self.recent[slot] <= self.in_flight[slot]
                and self.missing[slot] >= 0
                and 0 <= self.kept[slot] <= self.recent[slot]
                and 0 <= self.kept_before[slot] <= self.in_flight[slot] - self.recent[slot]
                and 0.0 <= self.kept_sum[slot] <= self.kept[slot]
                and 0.0 <= self.kept_before_sum[slot] <= self.kept_before[slot]
                # An arm that was moved into this slot has its rewards from before (`change`).
                and 1 <= self.born[slot] <= self.clock + 1 - open_now
            )
            if not possible:
                raise StateError(f"the saved statistics of slot {slot} are not possible")

    def copy(self) -> Self:
        """Return an independent record with the same values."""
        twin = object.__new__(type(self))
        _copier(type(self))(self, twin)
        twin.capacity = self.capacity
        return twin


class WithHistory(State):
    """A record with a history: a list of entries beside the slots, for what slots cannot hold.

    A policy says how many entries it can use (`Definition.entries_for`), and calls `extend` before
    it uses more than before.
    """

    entries: Count
    """How many entries of the history are in use: entries 0 to entries - 1."""

    def entries_in_use(self) -> int:
        """Return how many entries of its history the record uses."""
        return self.entries


@cache
def _copier(cls: type[State]) -> Callable[[State, State], None]:
    """Return a function that copies all fields of a record to another one.

    It is written out field by field, as a dataclass does it: a loop over the names takes three
    times as long, and a policy on an iterator copies its record with every decision.
    """
    lines = ["def copy(this, twin):"]
    for name, kind in fields(cls).items():
        is_list = kind.per_slot or kind.of_history or kind.length > 1
        lines.append(f"    twin.{name} = this.{name}{'[:]' if is_list else ''}")
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    made: Callable[[State, State], None] = names["copy"]
    return made


class _Form(NamedTuple):
    """How a record is packed: scalars and slots, those of decisions in flight, the history."""

    scalars: tuple[str, ...]
    slots: tuple[str, ...]
    flight_scalars: tuple[str, ...]
    flight_slots: tuple[str, ...]
    history: tuple[str, ...]
    head: Struct
    slot: Struct
    flight_head: Struct
    flight_slot: Struct
    entry: Struct


@cache
def fields(cls: type[State]) -> dict[str, Kind]:
    """Return the fields of a record and how each is stored, the base class's first."""
    found = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, State):
            hints = get_type_hints(base, include_extras=True)
            for name in base.__annotations__:
                kind = get_args(hints[name])[1] if get_origin(hints[name]) is Annotated else None
                if isinstance(kind, Kind):
                    found[name] = kind
                elif name not in NOT_FIELDS:
                    raise SettingError(
                        f"{name}: {base.__annotations__[name]} in the record {base.__name__} is no "
                        f"type of a field: declare it as one of {FIELD_TYPES} "
                        "(from handful.own)"
                    )
    return found


def columns(cls: type[State], names: Iterable[str]) -> list[tuple[Any, ...]]:
    """Return these fields of a record as `numpy.dtype` takes them."""
    known = fields(cls)
    return [
        (name, known[name].numpy, (known[name].length,))
        if known[name].length > 1
        else (name, known[name].numpy)
        for name in names
    ]


@cache
def _form(cls: type[State]) -> _Form:
    known = fields(cls)

    def names(of_flight: bool, per_slot: bool) -> tuple[str, ...]:
        asked = (of_flight, per_slot)
        return tuple(
            n
            for n, kind in known.items()
            if (kind.of_flight, kind.per_slot) == asked and not kind.of_history
        )

    def struct_of(part: tuple[str, ...]) -> Struct:
        return Struct("<" + "".join(known[name].code * known[name].length for name in part))

    scalars, slots = names(False, False), names(False, True)
    flight_scalars, flight_slots = names(True, False), names(True, True)
    history = tuple(n for n, kind in known.items() if kind.of_history)
    return _Form(
        scalars, slots, flight_scalars, flight_slots, history,
        struct_of(scalars), struct_of(slots), struct_of(flight_scalars), struct_of(flight_slots),
        struct_of(history),
    )  # fmt: skip


def slot_size(cls: type[State]) -> int:
    """Return the bytes that a slot in use takes while no decision is in flight."""
    return _form(cls).slot.size


def _listed(value: Any) -> Iterator[Any]:
    yield from value if isinstance(value, list) else (value,)
