"""The common base of references that store every arm and are not an allocation rule.

All arms are in memory from the start, in the shuffled order: ties go to the first slot. Arms that
are added get slots at once; those that are removed lose theirs.
"""

from __future__ import annotations

from typing import Any

from handful.core.change import clear_slot, vacate
from handful.core.shuffle import arm_at
from handful.core.slots import admit, slot_of
from handful.errors import StateError
from handful.policies.base import Policy


def admit_all(state: Any, p: Any) -> None:
    """Put every arm in memory, in the shuffled order."""
    for place in range(p.K):
        admit(state, place, arm_at(place, p.K, state.key))


class EveryArm(Policy):
    """A reference with statistics of every arm of a finite set."""

    unbounded = True

    @staticmethod
    def start(state: Any, p: Any) -> None:
        """Put every arm in memory."""
        admit_all(state, p)

    @staticmethod
    def withdraw(state: Any, slot: int, p: Any) -> bool:
        """Let the arm leave; the others keep their statistics."""
        vacate(state, slot)
        return bool(state.held > 0)

    @staticmethod
    def resized(state: Any, before: int, p: Any) -> bool:
        """Put the new arms in memory; the others keep their statistics."""
        for arm in range(p.K):
            if slot_of(state, arm) < 0:
                clear_slot(state, state.held)
                admit(state, state.held, arm)
        return True

    @staticmethod
    def check(state: Any, p: Any) -> None:
        """Refuse a memory that does not hold every arm."""
        if state.held != p.K:
            raise StateError(f"the saved memory holds {state.held} of {p.K} arms")

    @staticmethod
    def place(state: Any, p: Any) -> str:
        """Return that every arm is in memory."""
        return "all arms in memory"
