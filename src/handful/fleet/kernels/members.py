"""A member in a kernel: it is opened, begun if necessary, and closed again.

A kernel works on one record, its *desk*, bound as `handful.compiling.state` does it, so that it
calls the functions of the policy as they are. `opener` fills the desk from a member's row, and
`close` writes it back: into the row, or into a wide one if it does not fit. Until then the member
is unchanged, so that an error in a policy leaves no partial step behind.

Members are in blocks of 64. A block belongs to one thread, and is saved as a whole if one of its
members has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from handful.compiling.arrays import Ints
from handful.compiling.jit import inlined, named, use
from handful.compiling.packed import load, prefetch, read_word, store, write_word
from handful.compiling.state import empty_record
from handful.core import change
from handful.core.rng import as_int, as_word
from handful.core.state import NO_SLOT
from handful.fleet.kernels.seeds import BLOCK as HASH_BLOCK
from handful.fleet.kernels.seeds import key_of, step_of
from handful.fleet.layout import BEGUN, KEY, WIDE, Layout

SHIFT = 6
"""A block has 2^SHIFT members."""
AHEAD = 32
"""Rows are asked for so many at once, and so many members before they are needed.

A request for a row whose page is not in the TLB waits for the walk of the page table. If requests
were made one by one, between visits, each visit would wait for a walk; those made at once overlap.
"""
DONE, NO_ROOM, WRONG_SLOT, WRONG_ARM, TOO_MANY = range(5)
"""Why a kernel returns: all done; no wide row is left; what is wrong with a member."""
MOST_DECISIONS = 2**31 - 2
"""No member makes more decisions, since some counters have 32 bits."""
FEW_DRAWS = 64


class Rows(NamedTuple):
    """The members of a fleet, as kernels see them."""

    rows: Any
    """Bytes: a row for each member."""
    head: NDArray[np.void]
    slot: NDArray[np.void]
    """No elements: for their types."""
    wide: Any
    """Scalars of wide rows, ..."""
    wide_slots: Any
    """... and their slots."""
    dirty: Any
    """For each block, whether a member has changed since the last save."""
    first_seed: np.uint64
    """The seed of row 0; those of the others follow it."""


class Desk(NamedTuple):
    """What one thread works on."""

    scalars: NDArray[np.void]
    slots: NDArray[np.void]
    history: NDArray[np.void]
    blank: NDArray[np.void]
    """The scalars before a member begins."""
    hash_block: Any
    mine: Any
    """Room for the positions, in the call, of the members of the thread's part."""
    spare: Any
    """Numbers of wide rows that are free, ..."""
    at: Any
    """... how many of them are used; the next position in the call; the slot that was wrong."""


USED, NEXT, SLOT = range(3)
"""The places of `Desk.at`."""


def desk_for(layout: Layout, spare: NDArray[np.int64], slots_there: int = 0) -> Desk:
    """Return a desk for members of a layout, which may fill these wide rows.

    It has as many slots as the layout, or more.
    """
    scalars, slots, history = empty_record(layout.state, max(layout.memory, slots_there), 0)
    scalars["pending"] = NO_SLOT
    return Desk(
        scalars, slots, history, scalars.copy(), np.zeros(HASH_BLOCK, np.uint64),
        np.zeros(0, np.int64), spare, np.zeros(3, np.int64),
    )  # fmt: skip


@use
def draws_since(position: int, key: int, step: int, draws: int) -> int:
    """Return after how many draws a generator is at a position, if not long after `draws`."""
    here = key + as_word(draws) * step
    for more in range(FEW_DRAWS):
        if here == position:
            return draws + more
        here += step
    # The inverse of the step modulo 2^64, by Newton's method: each turn doubles the right bits.
    inverse = step
    for _ in range(5):
        inverse *= as_word(2) - step * inverse
    return as_int((position - key) * inverse)


@use
def list_part(ids: Ints, at: int, part: int, parts: int, mine: Any) -> int:
    """List the positions, from `at` on, of the members of a part; return how many there are.

    There are so many parts, a power of 2, and a part has every so many-th block. Whose a member is
    cannot be foreseen, so there is no branch on it.
    """
    n = 0
    for i in range(at, len(ids)):
        mine[n] = i
        n += (ids[i] >> SHIFT) & (parts - 1) == part
    return n


@use
def ask_for(rows: Any, ids: Ints, mine: Any, first: int, last: int) -> None:
    """Ask for the rows of some of the members that are listed."""
    for i in range(first, last):
        prefetch(rows, ids[mine[i]])


@inlined
def ask_ahead(rows: Any, ids: Ints, mine: Any, turn: int, n: int) -> None:
    """Ask, now and then, for the rows of the members whose turns are about to come, of n."""
    if turn % AHEAD == 0:
        ask_for(rows, ids, mine, turn + AHEAD if turn else 0, min(turn + 2 * AHEAD, n))


@use
def widen(member: int, rows: Any, wide: Any, wide_slots: Any, desk: Desk) -> None:
    """Write a member to its wide row, which is a spare one if it has none yet."""
    if rows[member, 0] == WIDE:
        row = as_int(read_word(rows, member, KEY))
    else:
        row = desk.spare[desk.at[USED]]
        desk.at[USED] += 1
        rows[member, 0] = WIDE
        write_word(rows, member, KEY, as_word(row))
    wide[row] = desk.scalars[0]
    for slot in range(wide_slots.shape[1]):
        wide_slots[row, slot] = desk.slots[slot]


@inlined
def close(now: Any, member: int, fleet: Rows, desk: Desk, draws: int) -> None:
    """Write a member back. A wide row must be spare."""
    rows = fleet.rows
    if fleet.dirty[member >> SHIFT] == 0:  # threads read it side by side, but write it in turns
        fleet.dirty[member >> SHIFT] = 1
    if rows[member, 0] != WIDE:
        draws = draws_since(now.rng[0], now.key, now.rng[1], draws)
        if store(now, rows, member, fleet.head, fleet.slot, draws):
            rows[member, 0] = BEGUN
            return
    widen(member, rows, fleet.wide, fleet.wide_slots, desk)


def beginner(start: Callable[[Any, Any], None], kin: str) -> Any:
    """Return `begin(now, member, fleet, desk, p)`: open a member that is not an ordinary row."""

    def begin(now: Any, member: int, fleet: Rows, desk: Desk, p: Any) -> None:
        rows = fleet.rows
        if rows[member, 0] == WIDE:
            row = as_int(read_word(rows, member, KEY))
            desk.scalars[0] = fleet.wide[row]
            for slot in range(fleet.wide_slots.shape[1]):
                desk.slots[slot] = fleet.wide_slots[row, slot]
            return
        desk.scalars[0] = desk.blank[0]
        for slot in range(len(desk.slots)):
            change.clear_slot(now, slot)
        seed = read_word(rows, member, KEY)
        if seed == as_word(0):
            seed = fleet.first_seed + as_word(member)
        key = key_of(seed, desk.hash_block)
        now.key = key
        now.rng[0] = key
        now.rng[1] = step_of(key, desk.hash_block)
        start(now, p)

    return named(begin, "begin", kin)


def opener(start: Callable[[Any, Any], None], kin: str) -> Any:
    """Return `open_member(now, member, fleet, desk, p)`, which returns the number of draws."""
    begin = beginner(start, kin)

    def open_member(now: Any, member: int, fleet: Rows, desk: Desk, p: Any) -> int:
        if fleet.rows[member, 0] == BEGUN:
            draws: int = load(now, fleet.rows, member, fleet.head, fleet.slot)
            # What another member left behind must not be seen.
            for slot in range(now.held, len(desk.slots)):
                change.clear_slot(now, slot)
            return draws
        begin(now, member, fleet, desk, p)
        return 0

    return named(open_member, "open_member", kin, inline=True)
