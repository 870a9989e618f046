"""The circuit breaker: while the service is down, not every call waits for a time-out."""

from __future__ import annotations

from threading import Lock


class Breaker:
    """Opens after some failed attempts in a row, and lets one call through after each pause.

    It guards calls that have a fallback. Other calls are always tried. Attempts of all calls are
    counted, and any answer closes it. Times are the caller's.
    """

    def __init__(self, failures: int, pause: float) -> None:
        self._failures = failures
        self._pause = pause
        self._in_a_row = 0
        self._until = 0.0
        self._lock = Lock()

    @property
    def is_open(self) -> bool:
        """Whether the service counts as dead."""
        return self._in_a_row >= self._failures

    def allows(self, now: float) -> bool:
        """Return whether a call that has a fallback should ask the service at this time.

        When a pause is over, one caller gets True, and the next pause begins for all others.
        """
        with self._lock:
            if not self.is_open:
                return True
            if now < self._until:
                return False
            self._until = now + self._pause
            return True

    def failed(self, now: float) -> None:
        """Count an attempt without an answer."""
        with self._lock:
            self._in_a_row += 1
            if self.is_open:
                self._until = now + self._pause

    def answered(self) -> None:
        """Count an attempt with an answer, if only a refusal: the service lives."""
        with self._lock:
            self._in_a_row = 0
