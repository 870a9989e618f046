"""Arms that come and go: what happens to a record when the set of arms changes.

Arms are numbered 0 to K-1 without gaps, so that no record needs memory in proportion to K:

    added      arms get the numbers from K on. They are **new** until they have come up: `news`
               counts them, and they are always the last of all arms.
    removed    the last arm that is not new gets the number of the removed one, and the last new arm
               takes its place in turn
    a slot     that loses its arm is given to the arm of the last slot, with its statistics. A stay
               ends by that: rewards of open decisions of the moved arm are forgotten, too, since
               their tickets name the slot in which it was.

A policy that does not say how it goes on (`handful.policies.definition`) starts again: it forgets
the arms in memory, and goes on with its clock, its generator and its counters.
"""

from __future__ import annotations

from typing import TypeVar

from handful.core.state import NO_SLOT, State, fields

S = TypeVar("S", bound=State)


def rename_removed(state: State, arm: int, n_arms: int) -> list[tuple[int, int]]:
    """Remove an arm from the numbers of `n_arms` arms; return the pairs (from, to) of new numbers.

    Its slot, if it has one, is given the arm -1.
    """
    last = n_arms - 1
    first_new = n_arms - state.news
    if arm >= first_new:
        state.news -= 1
        moves = [(last, arm)]
    else:
        moves = [(first_new - 1, arm), (last, first_new - 1)]
    moves = [(old, new) for old, new in moves if old != new]
    for slot in range(state.held):
        if state.arm[slot] == arm:
            state.arm[slot] = -1
            break
    for old, new in moves:
        for slot in range(state.held):
            if state.arm[slot] == old:
                state.arm[slot] = new
                break
    return moves


def move(state: State, source: int, slot: int) -> None:
    """Give a slot to the arm of another slot, with its statistics but without open decisions."""
    for name, kind in fields(type(state)).items():
        if kind.per_slot:
            column = getattr(state, name)
            column[slot] = column[source]
    state.in_flight[slot] = 0
    state.recent[slot] = 0
    state.missing[slot] = 0
    state.born[slot] = state.clock + 1
    if state.pending in (source, slot):
        state.pending = NO_SLOT


def vacate(state: State, slot: int) -> None:
    """Free a slot: the arm of the last slot moves there, and fields that name that slot follow."""
    last = state.held - 1
    if slot != last:
        move(state, last, slot)
    for name, kind in fields(type(state)).items():
        if kind.is_slot and getattr(state, name) == last:
            setattr(state, name, slot)
    if state.pending == last:
        state.pending = NO_SLOT
    state.held = last


def as_record(state: State, cls: type[S]) -> S:
    """Return a record of another class with the fields that all have; its own fields are 0."""
    made = cls()
    for name, kind in fields(State).items():
        value = getattr(state, name)
        setattr(made, name, value[: state.held] if kind.per_slot else _copied(value))
    for name, kind in fields(cls).items():
        if kind.per_slot and name not in fields(State):
            setattr(made, name, [0.0 if kind.code == "d" else 0] * state.held)
    made.capacity = state.capacity
    return made


def without_arms(state: State, cls: type[S]) -> S:
    """Return a record of a class with empty slots, but with the clock, generator and counters."""
    made = as_record(state, cls)
    for name, kind in fields(cls).items():
        if kind.per_slot:
            setattr(made, name, [])
    made.held = 0
    made.pending = NO_SLOT
    return made


def _copied(value: int | float | list[int]) -> int | float | list[int]:
    return value[:] if isinstance(value, list) else value
