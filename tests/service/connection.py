"""Connections in memory to a service: what is sent byte by byte, and what comes back."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from handful.service.app import Service
from handful.service.http import PatientProtocol, Whole
from handful.service.ids import Ids
from tests.service.requests import FRONT, running
from tests.service.world import World


class Line(asyncio.Transport):
    """A connection in memory: what was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.unsent = 0
        """How much of it the caller has not taken."""
        self.reads = True
        self.closed = self.aborted = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: Any) -> None:
        assert not self.closed
        self.written += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = self.aborted = True

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def get_write_buffer_size(self) -> int:
        return self.unsent


class Connected:
    """A connection to a service."""

    def __init__(self, config: uvicorn.Config, state: ServerState) -> None:
        self.line = Line()
        self.protocol = PatientProtocol(config, state, {})
        self.protocol.connection_made(self.line)

    @property
    def is_short(self) -> bool:
        """Whether the last request took the short way."""
        cycle: Any = self.protocol.cycle
        return isinstance(cycle, Whole)

    async def answers(self, count: int, to_head: bool = False) -> list[bytes]:
        """Return so many answers, or fewer if the connection is closed before."""
        for _ in range(2000):
            found = _split(self.line.written, to_head)
            if len(found) >= count or self.line.closed:
                return found
            await asyncio.sleep(0.001)
        raise AssertionError("no answer came")


def _split(written: bytes, to_head: bool) -> list[bytes]:
    found = []
    while b"\r\n\r\n" in written:
        head, _, rest = written.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        size = int(length[1]) if length and not to_head else 0
        if len(rest) < size:
            break
        found.append(head + b"\r\n\r\n" + rest[:size])
        written = rest[size:]
    return found


@asynccontextmanager
async def connections(**options: Any) -> AsyncIterator[Callable[[], Connected]]:
    """A service with a bandit of a known seed, and a way to connect to it."""
    world = World()
    world.desk.ids = Ids(b"as in every test")
    service = Service(world.desk, **options)
    async with running(service):
        config = uvicorn.Config(
            service, http=PatientProtocol, ws="none", log_config=None, timeout_keep_alive=1
        )
        config.load()
        state = ServerState()
        open: list[Connected] = []

        def connect() -> Connected:
            open.append(Connected(config, state))
            return open[-1]

        first = connect()
        first.protocol.data_received(request("POST", "/v1/bandits", FRONT))
        await first.answers(1)
        try:
            yield connect
        finally:
            for each in open:
                each.protocol.connection_lost(None)


def request(method: str, path: str, body: Any = None, *headers: str, version: str = "1.1") -> bytes:
    """Return a request as bytes. A string is a body as it is."""
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost", "X-Request-Id: known", *headers]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(raw)}"]
    return "\r\n".join([*lines, "", ""]).encode() + raw


DECIDE = request("POST", "/v1/bandits/front/decisions", {"n": 2})
