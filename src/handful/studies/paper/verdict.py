"""Claims as lists of comparisons, and the verdict from how many of them hold.

A comparison is of two measured regrets. It is decided if the difference would be as rare
under equal means as three standard errors with many runs (1.3 in 1000 on each side), by Student's t
with the number of runs there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from handful.simulation.result import Estimate

CONFIRMED = "confirmed"
MOSTLY = "confirmed where decided"
PARTLY = "confirmed in part"
OPEN = "too close to call"
REFUTED = "not confirmed"

DECIDED = 3.0
"""Standard errors from which on a comparison counts, with many runs."""


@dataclass(frozen=True)
class Check:
    """One comparison: by how many standard errors it goes the way that the claim says."""

    what: str
    z: float
    bar: float = DECIDED
    """What z must exceed; below 0 where it is enough not to be decided the other way."""

    @property
    def holds(self) -> bool:
        """Whether it is decided as claimed."""
        return self.z > self.bar

    @property
    def fails(self) -> bool:
        """Whether it is decided the other way."""
        return self.z < -abs(self.bar)


@dataclass(frozen=True)
class Claim:
    """What is claimed, how it is read, and the comparisons that decide."""

    title: str
    says: str
    where: str
    reading: str
    checks: tuple[Check, ...]
    most: bool = False
    """It speaks of most cases, not of all."""
    papers: bool = True
    """The paper makes it; others are here for comparison."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many comparisons hold, how many go the other way, how many are too close."""
        holds = sum(check.holds for check in self.checks)
        fails = sum(check.fails for check in self.checks)
        return holds, fails, len(self.checks) - holds - fails

    @property
    def verdict(self) -> str:
        """The verdict, in a few words."""
        holds, fails, close = self.counts
        half = len(self.checks) / 2
        if self.most:
            return CONFIRMED if holds > half else REFUTED if holds + close <= half else OPEN
        if fails:
            return PARTLY if holds > half else REFUTED
        return CONFIRMED if not close else MOSTLY if holds > half else OPEN

    @property
    def against(self) -> list[Check]:
        """The comparisons that go the other way, the clearest first."""
        return sorted((check for check in self.checks if check.fails), key=lambda c: c.z)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        holds, fails, close = self.counts
        return {
            "title": self.title,
            "claim": self.says,
            "where": self.where,
            "reading": self.reading,
            "in_the_paper": self.papers,
            "verdict": self.verdict,
            "comparisons": len(self.checks),
            "hold": holds,
            "against": fails,
            "too_close": close,
            "against_which": [check.what for check in self.against],
        }


def below(what: str, a: Estimate, b: Estimate, share: float = 1.0) -> Check:
    """Return the comparison that a is below a share of b."""
    difference = share * b.mean - a.mean
    error = math.hypot(a.sem, share * b.sem)
    z = difference / error if error else math.copysign(math.inf, difference)
    return Check(f"{what}: {a.mean:,.0f} against {b.mean:,.0f}", z, _bar(a, b, share))


def _bar(a: Estimate, b: Estimate, share: float) -> float:
    """Return the t quantile that is as rare as `DECIDED`, by Welch's degrees of freedom."""
    from scipy.special import ndtr, stdtrit

    parts = [(a.sem**2, len(a.per_run)), ((share * b.sem) ** 2, len(b.per_run))]
    spread = sum(v**2 / (n - 1) for v, n in parts if n > 1)
    if not spread > 0.0:
        return DECIDED
    freedom = sum(v for v, _ in parts) ** 2 / spread
    return float(stdtrit(freedom, ndtr(DECIDED)))
