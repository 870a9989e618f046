"""The counters of a bandit besides those of its policy."""

from __future__ import annotations

import msgspec


class Counted(msgspec.Struct, array_like=True):
    """The counters of a bandit besides those of its policy."""

    decisions: int = 0
    rewards: int = 0
    """Rewards that came in time."""
    forgotten: int = 0
    """... whose arm had left memory."""
    dropped: int = 0
    expired: int = 0
    late: int = 0
    """Rewards that came after the window of their decision."""
    total: float = 0.0
    """The sum of the rewards that came in time."""
    recent: float = 0.0
    closed: int = 0
    """The last decision whose window has ended, as far as windows were looked at."""

    @property
    def waiting(self) -> int:
        """Decisions whose reward may still come."""
        return self.decisions - self.rewards - self.dropped - self.expired
