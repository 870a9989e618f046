"""The transport of the HTTP protocol: fewer packets, and reading that pauses in time."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl


class Corked:
    """A connection that sends the head and the body of an answer in one packet.

    The server writes them one after the other, and each write would be a call of the system. What
    is written is held until the event loop has nothing else to do in this turn.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data soon."""
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)

    def flush(self) -> None:
        """Send what is held."""
        if self._held:
            held, self._held = self._held, []
            self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def write_now(self, data: bytes) -> None:
        """Send what is held, and data."""
        if self._held:
            self.flush()
        self._transport.write(data)

    def close(self) -> None:
        """Send what is held, and close the connection."""
        self.flush()
        self._transport.close()


class Flow(FlowControl):
    """When to read: not while requests wait for the answers to those before them.

    uvicorn reads on whenever an answer is complete, and whenever a body is asked for. A caller who
    sends requests without waiting could then fill the memory with them.
    """

    def __init__(self, transport: Any, waiting: deque[Any]) -> None:
        super().__init__(transport)
        self._waiting = waiting
        """Requests that have come, and whose turn it is not yet."""
        self.is_stopped = False
        """Whether nothing is to be read any more."""

    def resume_reading(self) -> None:
        """Read on, if there is room for what comes."""
        if not self._waiting and not self.is_stopped:
            super().resume_reading()
