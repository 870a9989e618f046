"""Tickets: each decision issues one, with which its reward is reported, late and in any order.

A ticket is a plain integer: the number of the decision, its slot, and 16 check bits that depend on
the policy's key. A made-up number, or a ticket of a policy with another seed, is `unknown`, except
with a probability of 2^-16. A clone, or another policy with the same seed, has the same key, so the
check bits do not distinguish their tickets. The check bits are no authentication.

A reward is credited if its arm is still in the stay in which the decision was made. A stay begins
with decision `born`; a ticket of the slot with a lower number belongs to an earlier stay, and its
reward is `forgotten`. This is exact. A **guest** is an arm that is pulled without a slot, since no
arm in memory was allowed: its ticket names a slot that no memory has, so its reward is `forgotten`.

A ticket is used once. For each of the last 64 decisions, a bit says whether its ticket was used: a
second reward is always recognised as a `duplicate`. For older tickets only the number of open
decisions of the stay and window is known (`flight`); a reward is refused when it is 0. Before that,
a second reward is credited in place of another decision of the same arm, stay and window. So an arm
is never credited with more rewards than it had decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

from handful.core import flight
from handful.core.flight import CREDITED, DUPLICATE, EXPIRED
from handful.core.rng import GOLDEN, MASK, as_word
from handful.core.state import NO_SLOT, State

CHECK_BITS = 16
CHECK_MASK = 2**CHECK_BITS - 1
ABOVE_CHECK = 64 - CHECK_BITS
WINDOW = 64
"""The last decisions for which a second reward is recognised for certain."""
Close = Callable[[State, int, int], int]
"""What counts the answer to decision t for a slot: `close`, `answer` or `keep` of `flight`."""


class Decision(NamedTuple):
    """An arm to pull, by its label, and the ticket that its reward is given with."""

    arm: Any
    ticket: int


class Receipt(StrEnum):
    """What became of a reward."""

    CREDITED = "credited"
    """It was added to the statistics of its arm; with a default reward, when its window ends."""
    FORGOTTEN = "forgotten"
    """Its arm has left memory since, or was never in it, so it changed nothing."""
    DUPLICATE = "duplicate"
    """Its ticket was used before, so it changed nothing."""
    UNKNOWN = "unknown"
    """No such ticket was given out, so it changed nothing."""
    EXPIRED = "expired"
    """Its decision was answered by default before, so it changed nothing."""
    DROPPED = "dropped"
    """No reward of it is waited for any more."""


OPEN, UNKNOWN = 6, 5
"""What `recognised` returns besides `flight.DUPLICATE`: no code of `flight`."""
RECEIPTS = (
    Receipt.CREDITED, Receipt.FORGOTTEN, Receipt.DUPLICATE, Receipt.EXPIRED, Receipt.CREDITED,
    Receipt.UNKNOWN,
)  # fmt: skip
"""By the codes of `flight`, and `UNKNOWN`."""


def issue(state: State, slot: int) -> None:
    """Count a decision for a slot, whose ticket is not used yet."""
    flight.issue(state, slot)
    if state.settled:
        state.settled &= ~(1 << state.clock % WINDOW)


def issue_guest(state: State) -> None:
    """Count a decision for an arm without a slot, whose ticket is not used yet."""
    state.clock += 1
    if state.settled:
        state.settled &= ~(1 << state.clock % WINDOW)


def ticket_for(state: State, slot: int, memory: int) -> int:
    """Return the ticket of the last decision, which was for this slot, or for `memory`: a guest."""
    number = state.clock * (memory + 1) + slot
    return number << CHECK_BITS | _check(number, state.key)


def recognised(state: State, ticket: int, memory: int) -> tuple[int, int, int]:
    """Return whether a ticket is open as far as it shows, and its decision and slot.

    `OPEN`: what becomes of it is for `flight` to say. Else `UNKNOWN`, or `flight.DUPLICATE`.
    """
    number = ticket >> CHECK_BITS
    t, slot = divmod(number, memory + 1)
    if ticket & CHECK_MASK != _check(number, state.key) or not 1 <= t <= state.clock:
        state.refused += 1
        return UNKNOWN, 0, NO_SLOT
    if state.clock - t < WINDOW:
        bit = 1 << t % WINDOW
        if state.settled & bit:
            state.refused += 1
            return DUPLICATE, 0, NO_SLOT
        state.settled |= bit
    return OPEN, t, slot


def settle(
    state: State, ticket: int, memory: int, close: Close = flight.answer
) -> tuple[Receipt, int]:
    """Return the receipt for a reward with a ticket, and the slot if it must be observed now.

    `close` counts the answer to a decision for a slot: a function of `flight`.
    """
    became, t, slot = recognised(state, ticket, memory)
    if became == OPEN:
        became = close(state, slot, t)
        if became == CREDITED:
            return RECEIPTS[became], slot
        if became in (DUPLICATE, EXPIRED):
            state.refused += 1
    return RECEIPTS[became], NO_SLOT


def _check(number: int, key: int) -> int:
    """Return the check bits of a number: the highest bits of a product modulo 2^64.

    Each check bit depends on every bit of the number and of the key up to its place in the product.
    No run of 16 equal bits is in the constant, so a number with one bit changed has other check
    bits.
    """
    return (as_word(number ^ key) * GOLDEN & MASK) >> ABOVE_CHECK
