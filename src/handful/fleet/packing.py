"""Conversion between a member's row and the plain record of a policy, in Python.

This is what `handful.compiling.packed` does in kernels, in plain Python. It lifts single members
out of a fleet and puts them back; tests compare both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.compiling.packed import DRAWS, NO_FIELDS, STATUS, STEP
from handful.core.rng import MASK
from handful.core.state import NO_SLOT, State, fields
from handful.errors import StateError
from handful.fleet.layout import BEGUN, Layout


def unpacked(row: NDArray[np.uint8], layout: Layout) -> State:
    """Return the record of an ordinary row."""
    data = row.tobytes()
    head = np.frombuffer(data, layout.head, 1)[0]
    slots = np.frombuffer(data, layout.slot, layout.memory, layout.head.itemsize)
    state = layout.state()
    for name in layout.head.names or ():
        if name not in NO_FIELDS:
            _set(state, name, _values(head[name], layout.head[name], layout.state, name))
    key, step, draws = state.key, int(head[STEP]), int(head[DRAWS])
    state.rng = [(key + draws * step) & MASK, step]
    for name, kind in fields(layout.state).items():
        if kind.per_slot:
            column = [0.0 if kind.code == "d" else 0] * state.held
            if name in (layout.slot.names or ()):
                column = _values(slots[name][: state.held], layout.slot[name], layout.state, name)
            _set(state, name, column)
    return _finished(state, layout)


def packed(state: State, layout: Layout) -> NDArray[np.uint8] | None:
    """Return a record as an ordinary row; None if a value does not fit."""
    head = np.zeros(1, layout.head)
    slots = np.zeros(layout.memory, layout.slot)
    step = state.rng[1]
    draws = (state.rng[0] - state.key) * pow(step, -1, 2**64) & MASK
    try:
        head[STATUS], head[STEP], head[DRAWS] = BEGUN, step, draws
        for name in layout.head.names or ():
            if name not in NO_FIELDS:
                head[name] = _stored(getattr(state, name), layout.head[name], layout.state, name)
        for name in layout.slot.names or ():
            for slot in range(state.held):
                value = getattr(state, name)[slot]
                slots[name][slot] = _stored(value, layout.slot[name], layout.state, name)
    except OverflowError:
        return None
    row = head.tobytes() + slots.tobytes()
    return np.frombuffer(row.ljust(layout.size, b"\0"), np.uint8)


def from_wide(scalars: np.void, slots: NDArray[np.void], layout: Layout) -> State:
    """Return the record of a wide row."""
    state = layout.state()
    for name, kind in fields(layout.state).items():
        if not kind.per_slot:
            _set(state, name, scalars[name].tolist())
    for name, kind in fields(layout.state).items():
        if kind.per_slot:
            _set(state, name, slots[name][: state.held].tolist())
    return _finished(state, layout)


def to_wide(state: State, scalars: NDArray[np.void], slots: NDArray[np.void]) -> None:
    """Write a record to a wide row: an array of one element, and its slots."""
    for name, kind in fields(type(state)).items():
        try:
            if kind.per_slot:
                slots[name] = 0
                slots[name][: state.held] = getattr(state, name)[: state.held]
            else:
                scalars[name] = getattr(state, name)
        except OverflowError:
            raise StateError(
                f"{name}={getattr(state, name)!r} is more than a member of a fleet can count: keep "
                "this policy by itself"
            ) from None


def _finished(state: State, layout: Layout) -> State:
    state.pending = NO_SLOT
    state.capacity = layout.memory
    return state


def _less(kind: np.dtype[Any], state: type[State], name: str) -> bool:
    """Return whether a field holds the value plus 1."""
    return kind.kind == "u" and fields(state)[name].code not in "Q"


def _values(value: Any, kind: np.dtype[Any], state: type[State], name: str) -> Any:
    found = value.tolist()
    if not _less(kind, state, name):
        return found
    return [each - 1 for each in found] if isinstance(found, list) else found - 1


def _stored(value: Any, kind: np.dtype[Any], state: type[State], name: str) -> Any:
    return value + 1 if _less(kind, state, name) else value


def _set(state: State, name: str, value: Any) -> None:
    setattr(state, name, value)
