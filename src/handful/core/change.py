"""Arms that come and go: what happens to a record when the set of arms changes.

Arms are numbered 0 to K-1 without gaps, so that no record needs memory in proportion to K:

    added      arms get the numbers from K on. They are **new** until they have come up: `news`
               counts them, and they are always the last of all arms.
    removed    arms with higher numbers move down by one, so that all keep their order, whatever
               the record
    a slot     that loses its arm is given to the arm of the last slot, with its statistics. This
               ends the stay of the moved arm, too: rewards of its open decisions are forgotten,
               since their tickets name its former slot.

A policy that does not define how it continues (`handful.policies.definition`) starts again: it
forgets the arms in memory, and keeps its clock, its generator and its counters.

The simulator compiles the same functions, except for `copy_slot`, `clear_slot`, `follow` and
`forget_arms`, which inspect the fields of a record: `handful.compiling.state` has their compiled
counterparts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from handful.core.slots import begin_stay, grow, slot_of
from handful.core.state import NO_SLOT, State, fields

S = TypeVar("S", bound=State)


def rename_removed(state: State, arm: int, n_arms: int) -> None:
    """Remove an arm from the numbers of `n_arms` arms; its slot, if any, is given the arm -1."""
    if arm >= n_arms - state.news:
        state.news -= 1
    for slot in range(state.held):
        if state.arm[slot] == arm:
            state.arm[slot] = -1
        elif state.arm[slot] > arm:
            state.arm[slot] -= 1


def copy_slot(state: State, source: int, slot: int) -> None:
    """Copy all per-slot fields of a slot to another."""
    for name, kind in fields(type(state)).items():
        if kind.per_slot:
            column = getattr(state, name)
            column[slot] = column[source]


def clear_slot(state: State, slot: int) -> None:
    """Set all per-slot fields of a slot, which may be the first free one, to 0."""
    if slot >= len(state.arm):
        grow(state, slot + 1)
    for name, kind in fields(type(state)).items():
        if kind.per_slot:
            getattr(state, name)[slot] = 0.0 if kind.code == "d" else 0


def follow(state: State, source: int, slot: int) -> None:
    """Let the fields that name a slot name another instead."""
    for name, kind in fields(type(state)).items():
        if kind.is_slot and getattr(state, name) == source:
            setattr(state, name, slot)


def move(state: State, source: int, slot: int) -> None:
    """Give a slot to the arm of another slot, with its statistics but without open decisions."""
    copy_slot(state, source, slot)
    begin_stay(state, slot)
    if state.pending == source or state.pending == slot:
        state.pending = NO_SLOT


def vacate(state: State, slot: int) -> None:
    """Free a slot: the arm of the last slot moves there, and fields that name that slot follow."""
    last = state.held - 1
    if slot != last:
        move(state, last, slot)
    follow(state, last, slot)
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


def forget_arms(state: State) -> None:
    """Empty all slots, and set the policy's own fields to 0; clock, generator, counters stay."""
    shared = fields(State)
    for name, kind in fields(type(state)).items():
        if kind.per_slot or kind.of_history:
            setattr(state, name, [])
        elif name not in shared:
            setattr(state, name, 0.0 if kind.code == "d" else 0)
    state.held = 0
    state.pending = NO_SLOT


def without_arms(state: State, cls: type[S]) -> S:
    """Return a record of a class with empty slots, but with the clock, generator and counters."""
    made = as_record(state, cls)
    forget_arms(made)
    return made


def changer(
    start: Callable[[Any, Any], None],
    withdraw: Callable[[Any, int, Any], bool],
    resized: Callable[[Any, int, Any], bool],
    news_first: bool,
) -> Callable[[Any, Any, int, int, Any], None]:
    """Return `change_arms(state, removed, added, before, p)` for a policy with these functions.

    It removes the arms `removed`, the highest number first, from `before` arms, and adds so many
    new ones; p is for the arms that there are then.
    """

    def change_arms(state: Any, removed: Any, added: int, before: int, p: Any) -> None:
        goes_on = True
        n_arms = before
        for arm in removed:
            slot = slot_of(state, arm)
            rename_removed(state, arm, n_arms)
            n_arms -= 1
            if slot >= 0 and goes_on:
                goes_on = withdraw(state, slot, p)
        state.news = state.news + added if news_first else 0
        if goes_on:
            goes_on = resized(state, before, p)
        if not goes_on:
            forget_arms(state)
            start(state, p)

    return change_arms


def _copied(value: int | float | list[int]) -> int | float | list[int]:
    return value[:] if isinstance(value, list) else value
