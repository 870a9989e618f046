"""Limits: the size of a body, slow senders, requests at once, and requests per second."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

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


class Patience:
    """How long bodies are waited for: one look a second at all of them.

    A timer for each request would cost more than all else that is done before a decision.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._reading: dict[asyncio.Task[Any], float] = {}
        self._late: set[asyncio.Task[Any]] = set()
        self._looks: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._looks = asyncio.create_task(self._look())

    def stop(self) -> None:
        """Stop looking."""
        if self._looks is not None:
            self._looks.cancel()

    def begin(self) -> asyncio.Task[Any]:
        """Begin to wait for the body of the request that this task handles; return the task."""
        task = asyncio.current_task()
        assert task is not None
        self._reading[task] = time.monotonic()
        return task

    def refuse_if_late(self, task: asyncio.Task[Any]) -> None:
        """Refuse a request that was cancelled since its body did not come."""
        if task in self._late:
            task.uncancel()
            raise Problem(408, "the body did not come in time")

    def end(self, task: asyncio.Task[Any]) -> None:
        """Wait no longer."""
        del self._reading[task]
        self._late.discard(task)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._seconds))
            now = time.monotonic()
            for task, began in self._reading.items():
                if now - began > self._seconds:
                    self._late.add(task)
                    task.cancel()


class Buckets:
    """How many requests each caller has sent of late: a token bucket of one second."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_second
        self._most = max(1.0, per_second)
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> None:
        """Count a request; refuse it if there are too many."""
        if self._rate <= 0.0:
            return
        now = self._clock()
        left, then = self._left.get(caller, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        if left < 1.0:
            wait = math.ceil((1.0 - left) / self._rate)
            raise Problem(
                429, f"at most {self._rate:g} requests a second: send fewer", retry_after=wait
            )
        if caller not in self._left and len(self._left) >= MOST_CALLERS:
            self._left.pop(next(iter(self._left)))
        self._left[caller] = left - 1.0, now
