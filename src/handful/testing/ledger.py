"""A naive twin of `core/tickets.py`: it remembers every decision, and says what a reward is due.

A policy stores a count for each slot and a bit for each of the last 64 decisions. The ledger stores
a line for each decision, so it needs memory in their number, and is plainly right.
"""

from __future__ import annotations

from dataclasses import dataclass

from handful.core.tickets import WINDOW, Receipt
from handful.policies.base import Policy
from handful.testing.contract import expect, expect_equal


@dataclass(slots=True)
class Line:
    """One decision: its number, the stay that it belongs to, and whether its ticket was used."""

    number: int
    stay: tuple[int, int]
    used: bool = False


class Ledger:
    """Makes decisions of a policy, gives it rewards by ticket, and checks every receipt."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.lines: dict[int, Line] = {}
        self.decisions: dict[tuple[int, int], int] = {}
        self.credits: dict[tuple[int, int], int] = {}
        self.counts = dict.fromkeys(Receipt, 0)

    def stays(self) -> set[tuple[int, int]]:
        """Return the stays that go on: each by its slot and the decision that it began with."""
        state = self.policy._state
        return {(slot, state.born[slot]) for slot in range(state.held)}

    def decide(self) -> int:
        """Make a decision and return its ticket."""
        arm, ticket = self.policy.decide()
        state = self.policy._state
        expect(ticket not in self.lines, f"the ticket {ticket} was given out twice")
        slot = self.policy.arms_in_memory.index(arm)
        stay = slot, state.born[slot]
        self.lines[ticket] = Line(state.clock, stay)
        self.decisions[stay] = self.decisions.get(stay, 0) + 1
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
        # A ticket older than the window that is used again takes the place of one that is open.
        all_used = self.credits.get(line.stay, 0) == self.decisions[line.stay]
        return Receipt.DUPLICATE if all_used else Receipt.CREDITED

    def reward(self, ticket: int, value: float) -> Receipt:
        """Give a reward, check its receipt, and that only a credited one changes the statistics."""
        due = self.due(ticket)
        before = self.policy._state.copy()
        receipt = self.policy.reward(ticket, value)
        expect_equal(receipt, due, "what became of a reward")
        line = self.lines.get(ticket)
        if line is not None:
            line.used = True
        self.counts[receipt] += 1
        if receipt is Receipt.CREDITED:
            assert line is not None
            self.credits[line.stay] = self.credits.get(line.stay, 0) + 1
        else:
            after = self.policy._state.copy()
            for name in ("forgotten", "refused", "settled"):
                setattr(after, name, getattr(before, name))
            expect(after.pack() == before.pack(), f"a reward that was {receipt} changed the policy")
        return receipt

    def check_totals(self) -> None:
        """Compare the totals that the policy shows, and credits with decisions."""
        stats = self.policy.stats()
        refused = self.counts[Receipt.DUPLICATE] + self.counts[Receipt.UNKNOWN]
        expect_equal(stats.forgotten, self.counts[Receipt.FORGOTTEN], "rewards forgotten")
        expect_equal(stats.refused, refused, "rewards refused")
        for stay, credited in self.credits.items():
            expect(
                credited <= self.decisions[stay],
                f"a stay of {self.decisions[stay]} decisions was credited {credited} rewards",
            )
