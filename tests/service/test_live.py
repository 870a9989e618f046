"""Server-sent events: what a page is sent, and how streams end."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from handful.service import live
from handful.service.limits import Limits
from handful.service.live import Events
from tests.service.requests import Caller, in_loop, served


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_EVERY", 0.001)


class Stream:
    """A stream of events, as its reader sees it."""

    def __init__(self, call: Caller, query: str = "", key: str | None = None) -> None:
        self._gone = asyncio.Event()
        self._parts: asyncio.Queue[Any] = asyncio.Queue()
        said = [] if key is None else [(b"authorization", b"Bearer " + key.encode())]
        scope = {
            "type": "http", "method": "GET", "path": "/v1/events", "query_string": query.encode(),
            "headers": [(b"host", b"localhost"), *said],
        }  # fmt: skip
        self.task = asyncio.create_task(call.service(scope, self._receive, self._parts.put))

    async def _receive(self) -> Any:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def begin(self) -> None:
        """Wait until the stream is open."""
        start = await self._parts.get()
        assert start["status"] == 200
        assert dict(start["headers"])[b"content-type"] == b"text/event-stream"
        assert (await self._parts.get())["body"] == b": hello\n\n"

    async def events(self) -> list[tuple[str, Any]]:
        """Return the next events."""
        body = (await self._parts.get())["body"]
        found = []
        for event in body.decode().split("\n\n")[:-1]:
            kind, data = event.split("\n")
            found.append((kind.removeprefix("event: "), msgspec.json.decode(data[6:])))
        return found

    async def until(self, name: str) -> tuple[str, Any]:
        """Return the next event of a bandit."""
        while True:
            for kind, data in await self.events():
                if data["name"] == name:
                    return kind, data

    def leave(self) -> None:
        """Go away."""
        self._gone.set()


@in_loop
async def test_changes_are_sent() -> None:
    async with served() as call:
        stream = Stream(call)
        await stream.begin()
        await call.front()
        kind, data = await stream.until("front")
        assert (kind, data["decisions"]) == ("bandit", 0)
        await call.decide(n=3)
        kind, data = await stream.until("front")
        assert (kind, data["decisions"]) == ("bandit", 3)
        assert data == (await call("GET", "/v1/bandits/front")).json()
        await call("DELETE", "/v1/bandits/front")
        assert await stream.until("front") == ("gone", {"name": "front"})
        stream.leave()
        await stream.task
        assert not call.service.live._open


@in_loop
async def test_one_bandit_alone() -> None:
    async with served() as call:
        stream = Stream(call, "bandit=other")
        await stream.begin()
        await call.front()
        await call.front(name="other")
        assert [data["name"] for _, data in await stream.events()] == ["other"]
        stream.leave()
        await stream.task


@in_loop
async def test_more_changes_than_are_described_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those beyond the first 200 were never sent."""
    monkeypatch.setattr(live, "MOST_DESCRIBED", 3)
    async with served() as call:
        stream = Stream(call)
        await stream.begin()
        await asyncio.gather(*(call.front(name=f"b{n}") for n in range(10)))
        seen: set[str] = set()
        while len(seen) < 10:
            seen |= {data["name"] for _, data in await stream.events()}
        stream.leave()
        await stream.task


@in_loop
async def test_a_slow_reader_gets_the_latest() -> None:
    events = Events(None, "anybody")
    for number in range(1000):
        events.put("front", b"%d" % number)
    events.put("other", b"x")
    assert await events.take() == b"999x"
    assert not events._latest


@in_loop
async def test_a_quiet_stream_shows_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "STILL_HERE", 0.001)
    assert await Events(None, "anybody").take() == b": still here\n\n"


@in_loop
async def test_a_stop_ends_streams() -> None:
    async with served() as call:
        streams = [Stream(call) for _ in range(5)]
        for stream in streams:
            await stream.begin()
        call.service.live.end_streams()
        await asyncio.gather(*(stream.task for stream in streams))
        refused = await call("GET", "/v1/events")
        assert refused.status_code == 503


@in_loop
async def test_too_many_streams() -> None:
    async with served(limits=Limits(streams=2)) as call:
        streams = [Stream(call) for _ in range(2)]
        for stream in streams:
            await stream.begin()
        refused = await call("GET", "/v1/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "15")
        streams[0].leave()
        await streams[0].task
        third = Stream(call)
        await third.begin()
        for stream in (streams[1], third):
            stream.leave()
            await stream.task


@in_loop
async def test_a_stream_ends_when_its_key_is_removed() -> None:
    """It went on, for as long as its reader liked."""
    async with served() as call:
        before = Stream(call)  # while the store was open to everybody
        await before.begin()
        call.key = (await call.make_key("admin"))["key"]
        await asyncio.wait_for(before.task, 30.0)
        removed, kept = await call.make_key("decide"), await call.make_key("decide")
        streams = [Stream(call, key=each["key"]) for each in (removed, kept)]
        for stream in streams:
            await stream.begin()
        await call("DELETE", f"/v1/keys/{removed['id']}")
        await asyncio.wait_for(streams[0].task, 30.0)
        await call.front()
        assert (await streams[1].until("front"))[0] == "bandit"
        assert not streams[1].task.done()
        streams[1].leave()
        await streams[1].task


@in_loop
async def test_a_stream_is_counted_when_it_begins() -> None:
    async with served() as call:
        stream = Stream(call)
        await stream.begin()
        metrics = (await call("GET", "/metrics")).text
        assert 'handful_requests_total{route="/v1/events",status="200"} 1.0' in metrics
        stream.leave()
        await stream.task
