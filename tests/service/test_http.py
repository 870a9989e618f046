"""The short way of a request beside uvicorn's: the same answers, in the same order."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from handful.service.app import Service, running
from handful.service.http import PatientProtocol, Whole
from handful.service.ids import Ids
from handful.service.limits import Limits
from tests.service.requests import FRONT, in_loop
from tests.service.world import World


class Line(asyncio.Transport):
    """A connection in memory: what was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: Any) -> None:
        assert not self.closed
        self.written += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


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
        yield connect
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
REQUESTS = {
    "decide": DECIDE,
    "nothing there": request("POST", "/v1/bandits/back/decisions", {}),
    "no JSON": request("POST", "/v1/bandits/front/decisions", b"{"),
    "wrong JSON": request("POST", "/v1/bandits/front/decisions", {"n": "many"}),
    "unknown id": request("PUT", "/v1/decisions/10000/reward", {"reward": 1.0}),
    "show": request("GET", "/v1/bandits/front"),
    "query": request("GET", "/v1/bandits/front/arms?limit=2&after=1"),
    "bad query": request("GET", "/v1/bandits/front/arms?limit=none"),
    "add": request("POST", "/v1/bandits/front/arms", {"arms": ["d"]}),
    "delete": request("DELETE", "/v1/bandits/front"),
    "idempotent": request("POST", "/v1/bandits/front/decisions", {}, "Idempotency-Key: one"),
    "make a key": request(
        "POST", "/v1/keys", {"name": "k", "scopes": ["admin"], "bandit": "front"}
    ),
    "percent": request("GET", "/v1/bandits/fr%6fnt"),
    "origin": request("GET", "/v1/bandits/front", None, "Origin: https://elsewhere.example"),
    "method": request("PATCH", "/v1/decisions/10000/reward", {"reward": 1.0}),
    "head": request("HEAD", "/v1/bandits/front"),
    "too large": request("POST", "/v1/bandits/front/decisions", b" " * 600 + b"{}"),
    "to close": request("GET", "/v1/bandits/front", None, "Connection: close"),
    "old version": request("GET", "/v1/bandits/front", None, version="1.0"),
    "elsewhere": request("GET", "/healthz"),
    "host": request("GET", "/v1/bandits").replace(b"localhost", b"elsewhere.example"),
}
UVICORNS = {"percent", "method", "head", "too large", "old version", "elsewhere"}
"""Requests that never take the short way."""


def _headers(answer: bytes) -> tuple[bytes, list[bytes], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    return status, sorted(line for line in lines if not line.startswith(b"date:")), body


@pytest.mark.parametrize("name", REQUESTS)
@in_loop
async def test_a_request_in_one_piece_and_one_in_many_are_answered_alike(name: str) -> None:
    found = []
    for whole in (True, False):
        async with connections(limits=Limits(body_bytes=500)) as connect:
            line = connect()
            raw = REQUESTS[name]
            pieces = [raw] if whole else [raw[i : i + 1] for i in range(len(raw))]
            for piece in pieces:
                line.protocol.data_received(piece)
            short = line.is_short
            answers = await line.answers(1, to_head=name == "head")
            assert len(answers) == 1
            await asyncio.sleep(0)
            found.append((*map(_headers, answers), line.line.closed))
            with_body = b"Content-Length" in raw
            assert short == (name not in UVICORNS and (whole or not with_body))
    assert found[0] == found[1]


@in_loop
async def test_answers_come_in_the_order_of_their_requests() -> None:
    """A second request waits for the first, whichever ways they take."""
    async with connections() as connect:
        line = connect()
        other = request("GET", "/healthz")
        line.protocol.data_received(DECIDE + other + DECIDE + other + DECIDE)
        line.protocol.data_received(other)
        answers = await line.answers(6)
        statuses = [answer[9:12] for answer in answers]
        assert statuses == [b"201", b"200"] * 3
        line.protocol.data_received(DECIDE)
        assert line.is_short
        assert len(await line.answers(7)) == 7


@in_loop
async def test_a_service_that_stops_answers_first_and_hangs_up_then() -> None:
    async with connections() as connect:
        line = connect()
        line.protocol.data_received(DECIDE)
        line.protocol.shutdown()
        assert not line.line.closed
        (answer,) = await line.answers(1)
        assert b"\r\nconnection: close\r\n" in answer
        assert line.line.closed
        idle = connect()
        idle.protocol.shutdown()
        assert idle.line.closed


@in_loop
async def test_a_caller_who_has_gone_is_sent_nothing() -> None:
    async with connections() as connect:
        gone, there = connect(), connect()
        gone.protocol.data_received(DECIDE)
        there.protocol.data_received(DECIDE)
        gone.line.closed = True
        gone.protocol.connection_lost(ConnectionResetError())
        assert len(await there.answers(1)) == 1
        assert gone.line.written == b""


@in_loop
async def test_a_connection_waits_for_the_next_request_after_an_answer() -> None:
    async with connections() as connect:
        line = connect()
        line.protocol.data_received(DECIDE)
        line.protocol.hang_up_if_late(1e12)
        assert not line.line.closed
        await line.answers(1)
        line.protocol.hang_up_if_late(1e12)
        assert line.line.closed
