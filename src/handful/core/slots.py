"""Operations on the slots of a record: an arm enters memory; rewards are credited.

These functions run online, and in kernels on records of an array.

    >>> state = State()
    >>> admit(state, 0, arm=7)
    >>> credit(state, 0, 1.0)
    >>> state.arm, state.pulls, state.held, slot_of(state, 7)
    ([7], [1], 1, 0)
"""

from __future__ import annotations

from handful.core.state import State, WithHistory, fields
from handful.errors import MemoryFullError


def grow(state: State, slots: int) -> None:
    """Make room for so many slots. In a kernel there is room from the start."""
    if slots > state.capacity:
        raise MemoryFullError(
            f"the arm memory holds at most {state.capacity} arms: reuse a slot before slot {slots}"
        )
    for name, kind in fields(type(state)).items():
        if kind.per_slot:
            column = getattr(state, name)
            column.extend([0.0 if kind.code == "d" else 0] * (slots - len(column)))


def extend(state: WithHistory, entries: int) -> None:
    """Use so many entries of the history; new ones are 0. In a kernel there is room for them."""
    for name, kind in fields(type(state)).items():
        if kind.of_history:
            column = getattr(state, name)
            column.extend([0.0 if kind.code == "d" else 0] * (entries - len(column)))
    state.entries = entries


def admit(state: State, slot: int, arm: int) -> None:
    """Begin a stay: give an arm a slot, with fresh statistics. What was there is forgotten."""
    if slot >= len(state.arm):
        grow(state, slot + 1)
    if slot >= state.held:
        state.held = slot + 1
    state.arm[slot] = arm
    state.pulls[slot] = 0
    state.sums[slot] = 0.0
    begin_stay(state, slot)


def begin_stay(state: State, slot: int) -> None:
    """Begin a stay in a slot: earlier decisions are not of it, and none is in flight."""
    state.born[slot] = state.clock + 1
    state.missing[slot] = 0
    if state.in_flight[slot] == 0:
        return  # nor is anything recent or kept, which are parts of it
    state.in_flight[slot] = 0
    state.recent[slot] = 0
    state.kept[slot] = 0
    state.kept_sum[slot] = 0.0
    state.kept_before[slot] = 0
    state.kept_before_sum[slot] = 0.0


def slot_of(state: State, arm: int) -> int:
    """Return the slot of an arm, or -1 if it is not in memory."""
    arms = state.arm
    for slot in range(state.held):
        if arms[slot] == arm:
            return slot
    return -1


def credit(state: State, slot: int, value: float) -> None:
    """Count a reward of the arm in a slot, with a value in [0, 1]."""
    state.pulls[slot] += 1
    state.sums[slot] += value


def most_pulled(state: State) -> int:
    """Return the slot with the most pulls; ties go to the first."""
    best = 0
    for slot in range(1, state.held):
        if state.pulls[slot] > state.pulls[best]:
            best = slot
    return best
