"""How late rewards are: counts of delays on a logarithmic scale, in a fixed number of bytes."""

from __future__ import annotations

import math

STEPS = 4
"""Counts for each doubling of the delay: a quantile is right to a factor of 2^(1/4)."""
COUNTS = 1 + 40 * STEPS
"""Up to 2^40 milliseconds, 35 years."""


class Delays:
    """Counts of delays in milliseconds: the first of 0, then for each quarter of a doubling."""

    __slots__ = ("counts",)

    def __init__(self, counts: list[int] | None = None) -> None:
        self.counts: list[int] = counts or []
        """Without zeros at the end."""

    def add(self, milliseconds: int) -> None:
        """Count a delay."""
        place = 0
        if milliseconds > 0:
            place = min(COUNTS - 1, 1 + int(STEPS * math.log2(milliseconds)))
        while len(self.counts) <= place:
            self.counts.append(0)
        self.counts[place] += 1

    def quantile(self, share: float) -> float | None:
        """Return a delay in seconds that this share of the rewards did not exceed."""
        total = sum(self.counts)
        if total == 0:
            return None
        needed = share * total
        for place, count in enumerate(self.counts):
            needed -= count
            if needed <= 0:
                return _middle(place)
        return _middle(len(self.counts) - 1)

    def mean(self) -> float | None:
        """Return the mean delay in seconds."""
        total = sum(self.counts)
        if total == 0:
            return None
        return sum(_middle(place) * count for place, count in enumerate(self.counts)) / total


def _middle(place: int) -> float:
    """Return a delay in the middle of those that are counted at a place, in seconds."""
    return 0.0 if place == 0 else 2.0 ** ((place - 0.5) / STEPS) / 1000.0
