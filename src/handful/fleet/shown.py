"""The text that fleets print, and the codes of receipts, in one process and in shards."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from handful.core.tickets import RECEIPTS, Receipt
from handful.fleet.stats import Totals
from handful.policies import Policy


class Shown:
    """The part of a fleet that says what it is."""

    @abstractmethod
    def totals(self) -> Totals:
        """Return what is known of the whole fleet; this reads every member that has begun."""

    @abstractmethod
    def _about(self) -> tuple[Policy, int, str]:
        """Return a policy like those of all members, how many they are, and what else to say."""

    def __repr__(self) -> str:
        model, members, rest = self._about()
        return f"{type(self).__name__}({model._head()}, members={members:,}, {rest})"

    def __str__(self) -> str:
        t = self.totals()
        lines = [
            repr(self),
            f"  {t.begun:,} of {t.members:,} members have begun; {t.wide:,} are wide",
            f"  {t.decisions:,} decisions, {t.rewards:,} rewards, {t.in_flight:,} in flight, "
            f"{t.lost:,} lost, {t.forgotten:,} forgotten, {t.refused:,} refused",
        ]
        return "\n".join(lines)

    @staticmethod
    def receipts(codes: Any) -> list[Receipt]:
        """Return what became of rewards, by the codes that `reward` returned."""
        return [RECEIPTS[code] for code in np.asarray(codes).tolist()]
