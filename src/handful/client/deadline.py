"""A deadline for an attempt, however slowly its answer arrives.

The time-outs of httpx apply to each read, so an answer that arrives byte by byte never exceeds one.
Here, the time-out of every read and write is the time left until the deadline.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import httpx

PART = 2**16
"""Bytes that are written before the clock is looked at again."""
LEAST = 1e-3
"""Seconds: 0 would mean not to wait at all, even for what is there."""


class Deadline(threading.local):
    """When the attempt of the thread that asks must have ended, by the monotonic clock."""

    until = math.inf

    def left(self, timeout: float | None) -> float:
        """Return how many seconds are left, and never more than a time-out."""
        left = max(LEAST, self.until - time.monotonic())
        return left if timeout is None else min(timeout, left)


class _Stream:
    """A connection, in the interface of httpcore's network streams."""

    def __init__(self, stream: Any, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._stream.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PART):
            self._stream.write(buffer[start : start + PART], self._deadline.left(timeout))

    def start_tls(self, *given: Any, timeout: float | None = None, **named: Any) -> _Stream:
        left = self._deadline.left(timeout)
        return _Stream(self._stream.start_tls(*given, timeout=left, **named), self._deadline)


class _Backend:
    """What makes connections, in the interface of httpcore's network backends."""

    def __init__(self, backend: Any, deadline: Deadline) -> None:
        self._backend = backend
        self._deadline = deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def connect_tcp(self, *given: Any, timeout: float | None = None, **named: Any) -> _Stream:
        left = self._deadline.left(timeout)
        return _Stream(self._backend.connect_tcp(*given, timeout=left, **named), self._deadline)


def bounded_client() -> tuple[httpx.Client, Deadline]:
    """Return a client of httpx whose connections heed a deadline, and that deadline.

    httpx has no option for it, so the pools of its transports (one for each proxy that the
    environment names) are given another backend.
    """
    client = httpx.Client()
    deadline = Deadline()
    for transport in (client._transport, *client._mounts.values()):
        pool: Any = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Backend(pool._network_backend, deadline)
    return client, deadline
