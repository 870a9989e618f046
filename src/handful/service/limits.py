"""Limits: how large a body may be, how slow a sender, how many requests at once and a second."""

from __future__ import annotations

import time
from typing import NamedTuple

from handful.service.problems import Problem

MOST_CALLERS = 10_000


class Limits(NamedTuple):
    """The limits of a service."""

    body_bytes: int = 16 * 2**20
    body_seconds: float = 30.0
    """A body must have come by then."""
    at_once: int = 1000
    """Requests that are being handled."""
    per_second: float = 0.0
    """Requests of one caller; 0: any number."""
    streams: int = 100
    """Open event streams."""


class Buckets:
    """How many requests each caller has sent of late: a token bucket of one second."""

    def __init__(self, per_second: float) -> None:
        self._rate = per_second
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> None:
        """Count a request; refuse it if there are too many."""
        if self._rate <= 0.0:
            return
        now = time.monotonic()
        left, then = self._left.get(caller, (self._rate, now))
        left = min(max(1.0, self._rate), left + (now - then) * self._rate)
        if left < 1.0:
            raise Problem(
                429, f"at most {self._rate:g} requests a second: send fewer", retry_after=1
            )
        if caller not in self._left and len(self._left) >= MOST_CALLERS:
            self._left.pop(next(iter(self._left)))
        self._left[caller] = left - 1.0, now
