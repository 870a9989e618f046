"""Recommendations: which arm in memory is vouched for.

`most_played` is the paper's choice (section 3.1, after Bubeck, Munos and Stoltz, "Pure exploration
in multi-armed bandits problems", ALT 2009).
"""

from __future__ import annotations

from collections.abc import Sequence


def most_played(pulls: Sequence[int]) -> int:
    """The slot with the most pulls; ties go to the first."""
    best = 0
    for slot in range(1, len(pulls)):
        if pulls[slot] > pulls[best]:
            best = slot
    return best
