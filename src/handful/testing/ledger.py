"""A naive twin of `core/tickets.py`: it stores every decision, and gives the expected receipts.

A policy stores some counts for each slot and a bit for each of the last 64 decisions. The ledger
stores a line for each decision. It takes memory in proportion to the decisions, and is obviously
correct.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handful.core.state import State
from handful.core.tickets import WINDOW, Receipt
from handful.policies.base import Policy
from handful.testing.contract import expect, expect_equal


@dataclass(slots=True)
class Line:
    """One decision: its arm, number, stay and window, and whether its ticket was used."""

    arm: Any
    number: int
    stay: tuple[int, int] | None
    """None for an arm that was pulled without being in memory."""
    window: int
    """How many windows had ended when the decision was made."""
    used: bool = False
    credited: bool = False
    """Whether a reward was credited for it, its own or a second one of another decision; or it was
    dropped."""


class Ledger:
    """Makes decisions of a policy, gives it rewards by ticket, and checks every receipt."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.lines: dict[int, Line] = {}
        self.stay_lines: dict[tuple[int, int] | None, list[Line]] = {}
        self.counts = dict.fromkeys(Receipt, 0)
        self.windows = 0
        self.turned = 0
        self.defaults = policy._defaults

    def stays(self) -> set[tuple[int, int]]:
        """Return the stays that go on: each by its slot and the decision that it began with."""
        state = self.policy._state
        return {(slot, state.born[slot]) for slot in range(state.held)}

    def decide(self, allowed: Any = None) -> int:
        """Make a decision and return its ticket."""
        arm, ticket = self.policy.decide(allowed=allowed)
        state = self.policy._state
        if state.turned != self.turned:
            self.turned = state.turned
            self.windows += 1
        expect(ticket not in self.lines, f"the ticket {ticket} was given out twice")
        held = self.policy.arms_in_memory
        slot = held.index(arm) if arm in held else None
        stay = None if slot is None else (slot, state.born[slot])
        line = self.lines[ticket] = Line(arm, state.clock, stay, self.windows)
        self.stay_lines.setdefault(stay, []).append(line)
        return ticket

    def due(self, ticket: int) -> Receipt:
        """Return what must become of a reward with this ticket."""
        line = self.lines.get(ticket)
        if line is None:
            return Receipt.UNKNOWN
        if line.used and self.policy.decisions - line.number < WINDOW:
            return Receipt.DUPLICATE
        if line.stay not in self.stays():
            return Receipt.FORGOTTEN
        if self.defaults and self.windows - line.window >= 2:
            return Receipt.EXPIRED
        return Receipt.DUPLICATE if self._answered(line) is None else Receipt.CREDITED

    def _answered(self, line: Line) -> Line | None:
        """Return the decision that a reward with this ticket is credited for.

        It is its own if that is open. A ticket older than the last 64 that is used again takes the
        place of an open decision of the same stay and window; all windows before the last two count
        as one.
        """
        if not line.credited:
            return line
        ended = min(self.windows - line.window, 2)
        peers = self.stay_lines[line.stay]
        same = (peer for peer in peers if min(self.windows - peer.window, 2) == ended)
        return next((peer for peer in same if not peer.credited), None)

    def reward(self, ticket: int, value: float) -> Receipt:
        """Give a reward, check its receipt, and that only a credited one changes the statistics."""
        due = self.due(ticket)
        before = self.policy._state.copy()
        receipt = self.policy.reward(ticket, value)
        expect_equal(receipt, due, "what became of a reward")
        self._note(ticket, receipt, before)
        return receipt

    def drop(self, ticket: int) -> Receipt:
        """Drop a decision, and check the receipt."""
        due = self.due(ticket)
        before = self.policy._state.copy()
        receipt = self.policy.drop(ticket)
        dropped = due is Receipt.CREDITED and not self.defaults
        wanted = Receipt.DROPPED if dropped else due
        expect_equal(receipt, wanted, "what became of a decision that was dropped")
        self._note(ticket, receipt, before)
        return receipt

    def _note(self, ticket: int, receipt: Receipt, before: State) -> None:
        """Mark the ticket as used, and expect a policy that no reward was credited to unchanged."""
        line = self.lines.get(ticket)
        self.counts[receipt] += 1
        if line is not None:
            line.used = True
        if receipt in (Receipt.CREDITED, Receipt.DROPPED):
            assert line is not None
            answered = self._answered(line)
            assert answered is not None
            answered.credited = True
        else:
            after = self.policy._state.copy()
            for name in ("forgotten", "refused", "settled", "answers", "delay"):
                setattr(after, name, getattr(before, name))
            expect(after.pack() == before.pack(), f"a reward that was {receipt} changed the policy")

    def check_totals(self) -> None:
        """Compare the totals that the policy shows, and credits with decisions."""
        stats = self.policy.stats()
        refused = sum(
            self.counts[each] for each in (Receipt.DUPLICATE, Receipt.UNKNOWN, Receipt.EXPIRED)
        )
        expect_equal(stats.forgotten, self.counts[Receipt.FORGOTTEN], "rewards forgotten")
        expect_equal(stats.refused, refused, "rewards refused")
        for slot, born in self.stays():
            lines = self.stay_lines.get((slot, born), [])
            open_now = [each for each in lines if self._is_open(each)]
            state = self.policy._state
            counted = state.in_flight[slot] + state.missing[slot]
            expect_equal(counted, len(open_now), "decisions of a stay that are open")

    def _is_open(self, line: Line) -> bool:
        """Return whether a decision is waited for, or its reward is kept, or was written off."""
        if self.defaults:
            return self.windows - line.window < 2
        return not line.credited
