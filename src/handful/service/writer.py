"""One thread runs all requests, and commits many of them at once.

A request is a function of a `Session`. While one batch is being written to disk, the next requests
queue up; they make the next batch. So the busier the service is, the more requests share one
commit, and nobody is answered before the commit of his batch has returned.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from handful.errors import DamagedStoreError, StoreError
from handful.service.desk import Desk, Session
from handful.service.problems import Problem

MOST_AT_ONCE = 256
"""Requests in one transaction."""
SWEEP_EVERY = 0.5
"""Seconds between two looks at the windows of decisions."""

T = TypeVar("T")
Work = Callable[[Session], Any]
log = logging.getLogger("handful.service")


class Writer:
    """Runs requests to a desk in a thread of its own."""

    def __init__(self, desk: Desk, most_waiting: int = 10_000) -> None:
        self._desk = desk
        self._most_waiting = most_waiting
        self._queue: deque[tuple[Work, asyncio.Future[Any]]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="handful-writer", daemon=True)
        self.failing: str | None = None
        """Why the last batch could not be written; None if it was."""
        self.batches = 0

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to work for the requests of an event loop."""
        self._loop = loop
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests are queued."""
        return len(self._queue)

    async def run(self, work: Callable[[Session], T]) -> T:
        """Run a request; return what it returns when that is on disk."""
        if self._stopping:
            raise Problem(503, "the service is stopping: try again soon", retry_after=1)
        if len(self._queue) >= self._most_waiting:
            raise Problem(503, "too many requests are waiting: try again soon", retry_after=1)
        assert self._loop is not None
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.append((work, future))
        self._wake.set()
        return await future

    async def stop(self) -> None:
        """Run what is queued, save every bandit, and close the store."""
        self._stopping = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while True:
            self._wake.wait(SWEEP_EVERY)
            self._wake.clear()
            stopping = self._stopping
            while self._queue:
                self._run_batch()
            if stopping:
                break
            self._sweep()
        try:
            self._desk.close()
        except StoreError as error:
            log.error("the store was not closed properly", extra={"reason": str(error)})

    def _run_batch(self) -> None:
        queue = self._queue
        taken = [queue.popleft() for _ in range(min(len(queue), MOST_AT_ONCE))]
        done = self._attempt(taken)
        if done is None:
            # One request failed in a way that nobody foresaw: alone, it fails alone.
            done = []
            for each in taken:
                alone = self._attempt([each])
                unforeseen = Problem(500, "this request failed; the log of the service says why")
                done += [(each[1], unforeseen)] if alone is None else alone
        self.batches += 1
        assert self._loop is not None
        self._loop.call_soon_threadsafe(_answer, done)

    def _attempt(
        self, taken: list[tuple[Work, asyncio.Future[Any]]]
    ) -> list[tuple[asyncio.Future[Any], Any]] | None:
        """Run requests in one transaction; return None if one raised what it should not."""
        done: list[tuple[asyncio.Future[Any], Any]] = []
        try:
            with self._desk.batch() as session:
                for work, future in taken:
                    try:
                        done.append((future, work(session)))
                    except Problem as problem:
                        done.append((future, problem))
        except StoreError as error:
            refusal = self._unavailable(error)
            return [(future, refusal) for _, future in taken]
        except Exception:
            log.exception("a request failed")
            return None
        self.failing = None
        return done

    def _sweep(self) -> None:
        if not self._desk.windows:
            return
        try:
            while self._desk.sweep() and not self._queue:
                pass
        except StoreError as error:
            self._unavailable(error)
        except Exception:
            log.exception("windows could not be ended")

    def _unavailable(self, error: StoreError) -> Problem:
        if self.failing is None:
            log.error("the store cannot be used", extra={"reason": str(error)})
        self.failing = str(error)
        if isinstance(error, DamagedStoreError):
            return Problem(503, f"the store is damaged, and nothing was changed: {error}")
        return Problem(503, str(error), retry_after=5)


def _answer(done: list[tuple[asyncio.Future[Any], Any]]) -> None:
    """Hand out the results of a batch, in the thread of the event loop."""
    for future, result in done:
        if future.done():
            continue  # the caller has gone away
        if isinstance(result, Problem):
            future.set_exception(result)
        else:
            future.set_result(result)
