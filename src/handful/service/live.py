"""Changes of bandits for the page, as server-sent events.

Twice a second, the bandits that have changed are described once, however many pages are open, and
sent to the pages that subscribed to them. A page that reads slowly misses descriptions, not the
latest one. A stream ends when the key that it was opened with is removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from handful.service.asgi import Receive, Send
from handful.service.auth import Keys
from handful.service.desk import Desk, Session
from handful.service.problems import Problem
from handful.service.writer import Writer

LOOK_EVERY = 0.5
"""Seconds between two looks."""
STILL_HERE = 15.0
"""Seconds after which a comment shows that the stream is alive."""
MOST_DESCRIBED = 200
"""Bandits that are described at one look."""


class Events:
    """What one page has still to be sent: the latest of each bandit."""

    def __init__(self, only: str | None, caller: str) -> None:
        self.only = only
        self.caller = caller
        """The id of whom it is sent to."""
        self._latest: dict[str, bytes] = {}
        self._there = asyncio.Event()
        self.closed = False

    def put(self, name: str, event: bytes) -> None:
        """Add an event in place of the last one of its bandit."""
        if self.only is None or name == self.only:
            self._latest[name] = event
            self._there.set()

    def close(self) -> None:
        """End the stream."""
        self.closed = True
        self._there.set()

    async def take(self) -> bytes:
        """Return what is new, or a comment after a while."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._there.wait(), STILL_HERE)
        self._there.clear()
        new, self._latest = self._latest, {}
        return b"".join(new.values()) or b": still here\n\n"


class Live:
    """The open streams."""

    def __init__(self, writer: Writer, desk: Desk, keys: Keys, most: int) -> None:
        self._writer = writer
        self._desk = desk
        self._keys = keys
        self._most = most
        self._open: set[Events] = set()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        """Begin to look for changes."""
        self._task = asyncio.create_task(self._look())

    def end_streams(self) -> None:
        """End all streams, so that the server can stop."""
        self._stopping = True
        for events in self._open:
            events.close()

    async def stop(self) -> None:
        """Stop looking."""
        self.end_streams()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def events(self, only: str | None, caller: str) -> Events:
        """Return a new stream, if there are not too many."""
        if self._stopping:
            raise Problem(503, "the service is stopping", retry_after=1)
        if len(self._open) >= self._most:
            raise Problem(429, f"{self._most} event streams are open already", retry_after=15)
        events = Events(only, caller)
        self._open.add(events)
        return events

    async def send(
        self,
        send: Send,
        receive: Receive,
        events: Events,
        headers: Iterable[tuple[bytes, bytes]],
    ) -> None:
        """Send a stream until the caller goes away."""
        gone = asyncio.create_task(_disconnected(receive, events))
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": 200,
                    "headers": [(b"content-type", b"text/event-stream"), *headers],
                }
            )
            chunk = b": hello\n\n"
            while not events.closed:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = await events.take()
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._open.discard(events)
            gone.cancel()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self._desk.watches = bool(self._open)
            if not self._open:
                self._desk.changed.clear()
                continue
            for events in self._open:
                if not self._keys.admits(events.caller):
                    events.close()
            if not self._desk.changed:
                continue
            with suppress(Problem):
                for name, event in await self._writer.run(_described, reads=True):
                    for events in self._open:
                        events.put(name, event)


def _described(session: Session) -> list[tuple[str, bytes]]:
    """Return the events of some bandits that have changed; the others stay for the next look."""
    changed = session.desk.changed
    found = []
    for number in sorted(changed)[:MOST_DESCRIBED]:
        changed.discard(number)
        row = session.tx.bandit(number)
        if row is None:
            continue
        if row.deleted:
            body = msgspec.json.encode({"name": row.name})
            found.append((row.name, b"event: gone\ndata: %s\n\n" % body))
        else:
            body = msgspec.json.encode(session.describe(row.name))
            found.append((row.name, b"event: bandit\ndata: %s\n\n" % body))
    return found


async def _disconnected(receive: Receive, events: Events) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    events.close()
