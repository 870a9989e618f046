"""The short way of a request beside uvicorn's: the same answers, in the same order."""

from __future__ import annotations

import asyncio
import json

import pytest

from handful.service.http import PatientProtocol
from handful.service.limits import Limits
from tests.service.connection import DECIDE, connections, request
from tests.service.requests import in_loop

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
async def test_both_ways_and_requests_in_pieces_are_answered_alike(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for whole, may in ((True, True), (False, True), (True, False)):
        if not may:
            monkeypatch.setattr(PatientProtocol, "_may_be_short", lambda self: False)
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
            assert short == (may and name not in UVICORNS and (whole or not with_body))
    assert found[0] == found[1] == found[2]


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
async def test_connections_take_turns_with_the_place_that_they_read_into() -> None:
    async with connections() as connect:
        lines = [connect() for _ in range(3)]
        for half in (slice(0, 60), slice(60, None)):
            for line in lines:
                part = DECIDE[half]
                line.protocol.get_buffer(-1)[: len(part)] = part
                line.protocol.buffer_updated(len(part))
        for line in lines:
            (answer,) = await line.answers(1)
            assert answer[9:12] == b"201"


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
async def test_an_answer_without_content_says_nothing_of_its_length_and_kind() -> None:
    async with connections() as connect:
        line = connect()
        line.protocol.data_received(REQUESTS["delete"])
        (answer,) = await line.answers(1)
        assert answer.startswith(b"HTTP/1.1 204 ")
        assert b"content-" not in answer.replace(b"x-content-type-options", b"").lower()


@in_loop
async def test_the_body_of_a_request_that_takes_none_does_not_count() -> None:
    """In one piece, it was a part of what an `Idempotency-Key` stands for; in pieces, not."""
    async with connections() as connect:
        raw = request("DELETE", "/v1/bandits/front", {"more": 1}, "Idempotency-Key: one")
        for pieces in ([raw], [raw[:-3], raw[-3:]], [request("DELETE", "/v1/bandits/front", None,
                       "Idempotency-Key: one")]):  # fmt: skip
            line = connect()
            for piece in pieces:
                line.protocol.data_received(piece)
            (answer,) = await line.answers(1)
            assert answer[9:12] == b"204"


@in_loop
async def test_keys_that_are_removed_together_are_gone_whichever_way_they_were_removed() -> None:
    """A list of keys that was older than the last one was taken after it: a removed key worked."""
    async with connections() as connect:
        line = connect()
        service = line.protocol._service
        made: list[dict[str, str]] = []
        for scope in ("admin", "decide", "decide"):
            said = f"Authorization: Bearer {made[0]['key']}" if made else "X: y"
            body = {"name": "k", "scopes": [scope]}
            line = connect()
            line.protocol.data_received(request("POST", "/v1/keys", body, said))
            (answer,) = await line.answers(1)
            made.append(json.loads(answer.partition(b"\r\n\r\n")[2]))
        said = f"Authorization: Bearer {made[0]['key']}"
        ids = [each["id"] for each in made]
        long_way, short_way = connect(), connect()
        escaped = f"%{ord(ids[1][0]):x}{ids[1][1:]}"
        long_way.protocol.data_received(request("DELETE", f"/v1/keys/{escaped}", None, said))
        await asyncio.sleep(0)
        short_way.protocol.data_received(request("DELETE", f"/v1/keys/{ids[2]}", None, said))
        assert (short_way.is_short, long_way.is_short) == (True, False)
        assert service.writer.waiting == 2  # they share a transaction
        for each in (long_way, short_way):
            (answer,) = await each.answers(1)
            assert answer[9:12] == b"204"
        assert [service.keys.admits(id) for id in ids] == [True, False, False]
