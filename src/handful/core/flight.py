"""Decisions in flight: made, and their rewards not in yet.

A decision is known by its number t and its slot. Its reward is credited if the slot is still in the
stay in which the decision was made, and if the stay has a decision in flight. These functions run
on records of both kinds: online below the tickets (`tickets.py`), and compiled in the simulator.
"""

from __future__ import annotations

from typing import Any

CREDITED, FORGOTTEN, DUPLICATE = range(3)
"""What becomes of a reward: added to the statistics, too late for its stay, or not expected."""


def issue(state: Any, slot: int) -> None:
    """Count a decision for a slot: it is in flight from now on."""
    state.clock += 1
    state.in_flight[slot] += 1


def turn_if_due(state: Any, window: int) -> None:
    """Write off decisions in flight for too long; with a window of 0, none. Call before propose."""


def answer(state: Any, slot: int, t: int) -> int:
    """Return what becomes of the reward of decision t, which was for this slot, and count it.

    The caller gives the reward to the policy's `observe` only if it is `CREDITED`.
    """
    if slot >= state.held or t < state.born[slot]:
        state.forgotten += 1
        return FORGOTTEN
    if state.in_flight[slot] == 0:
        state.refused += 1
        return DUPLICATE
    state.in_flight[slot] -= 1
    state.rewards += 1
    return CREDITED
