"""The writer: runs all requests, one after the other, and commits many at once.

A request is a function of a `Session`. Requests run in the thread of the event loop, which also
reads and writes HTTP; only the commit, which waits for the disk, is in another. While one batch is
being written to disk, requests that come in form the next batch. So the busier the service is, the
more requests share one commit, and no request is answered before the commit of its batch has
returned.

(Requests in a separate thread would lose Python's lock to the event loop in every statement of
SQLite, which releases it.)
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from handful.core.tuples import new_tuple
from handful.errors import (
    DamagedStoreError,
    StoreAccessError,
    StoreError,
    StoreUnavailableError,
)
from handful.service.about import NOTHING, About
from handful.service.desk import Desk, Session
from handful.service.disk import Disk
from handful.service.problems import Problem
from handful.storage.shared import BusyError

MOST_IN_BATCH = 256
"""Requests in one transaction."""
SWEEP_EVERY = 0.5
"""Seconds between two looks at the windows of decisions."""
SWEEP_AGAIN = 60.0
"""Seconds between two looks if what is looked at is damaged."""
UNREACHED = (
    "the store cannot be reached, or may not be used; the log of the service says why. Nothing of "
    "this request was stored; it may be sent again"
)

T = TypeVar("T")
Work = Callable[[Session], Any]
log = logging.getLogger("handful.service")


class Asked(NamedTuple):
    """A request that waits."""

    work: Work
    done: Callable[[Any], None]
    """Called with what it returns, or with the `Problem` for which it was refused."""
    reads: bool
    """Whether it only reads."""
    about: About
    put_off: int = 0
    """How often it was put off, since another server held what it needs."""


Done = list[tuple[Asked, Any]]
"""Requests and what became of them."""


class Writer:
    """Runs requests to a desk."""

    def __init__(self, desk: Desk, most_waiting: int = 10_000) -> None:
        self._desk = desk
        self.is_remote = desk.is_remote
        """Whether the store is on another machine. Requests say what they are about then."""
        self._most_waiting = most_waiting
        self._queue: deque[Asked] = deque()
        self._wake = asyncio.Event()
        self._stopping = False
        self._disk = Disk()
        self._task: asyncio.Task[None] | None = None
        self.failing: str | None = None
        """Why the store could not be used; None if it could, or can again."""
        self.batches = 0
        self._stuck: dict[float, float] = {}
        """Windows that could not be ended, and when to try again."""

    def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._work())

    @property
    def waiting(self) -> int:
        """How many requests are queued."""
        return len(self._queue)

    async def run(self, work: Callable[[Session], T], *, reads: bool = False) -> T:
        """Run a request; return what it returns when that is on disk.

        One that only `reads` is answered on a full disk, too.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.submit(work, partial(_settle, future), reads)
        try:
            return await future
        finally:
            del future  # it has the problem, and the traceback of the problem has this frame

    def submit(
        self,
        work: Callable[[Session], T],
        done: Callable[[T | Problem], None],
        reads: bool,
        about: About = NOTHING,
    ) -> None:
        """Run a request soon, and call `done` with what became of it when that is on disk."""
        if self._stopping:
            raise Problem(503, "the service is stopping: try again soon", retry_after=1)
        if len(self._queue) >= self._most_waiting:
            raise Problem(503, "too many requests are waiting: try again soon", retry_after=1)
        self._queue.append(new_tuple(Asked, (work, done, reads, about, 0)))
        self._wake.set()

    async def stop(self) -> None:
        """Run what is queued, save every bandit, and close the store."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task
        self._disk.stop()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        next_sweep = loop.time() + SWEEP_EVERY
        while not (self._stopping and not self._queue):
            if not self._queue:
                timer = loop.call_at(next_sweep, self._wake.set)
                await self._wake.wait()
                timer.cancel()
            self._wake.clear()
            began = loop.time()
            if self._queue:
                # In no variable here, which would keep the batch until the next one.
                await self._run_batch(
                    [self._queue.popleft() for _ in range(min(len(self._queue), MOST_IN_BATCH))]
                )
            now = loop.time()
            if now >= next_sweep:
                # Windows that are behind get as much time as requests: so neither waits for ever.
                more = await self._sweep(now + (now - began))
                next_sweep = loop.time() + (0.0 if more else SWEEP_EVERY)
        try:
            self._desk.close()
        except StoreError as error:
            log.error("the store was not closed properly", extra={"reason": str(error)})

    async def _run_batch(self, taken: list[Asked]) -> None:
        done: Done = []
        if self.failing is not None and not all(each.reads for each in taken):
            refusal = await self._probe()
            if refusal is not None:
                done = [(each, refusal) for each in taken if not each.reads]
                taken = [each for each in taken if each.reads]
        done += await self._handle(taken)
        for each, result in done:
            try:
                each.done(result)
            except Exception:
                log.exception("a request was handled, and could not be answered")

    async def _handle(self, taken: list[Asked]) -> Done:
        """Run requests in one transaction; if it fails, in smaller ones."""
        try:
            return await self._attempt(taken) if taken else []
        except StoreUnavailableError as error:
            # Nothing can be written; requests that only read are still served.
            refusal = self._refusal(error)
            reading = [each for each in taken if each.reads]
            if len(reading) == len(taken):
                return [(each, refusal) for each in taken]
            writing: Done = [(each, refusal) for each in taken if not each.reads]
            return writing + await self._handle(reading)
        except Exception as error:
            # One request failed unexpectedly. Run by itself, it fails without the others.
            if len(taken) > 1:
                return [one for each in taken for one in await self._handle([each])]
            if isinstance(error, StoreError):
                return [(taken[0], self._refusal(error))]
            log.exception("a request failed")
            unforeseen = Problem(500, "this request failed; the log of the service says why")
            return [(taken[0], unforeseen)]

    async def _attempt(self, taken: list[Asked]) -> Done:
        """Run requests in one transaction."""
        done: Done = []
        busy: list[Asked] = []

        def handle(session: Session) -> None:
            if self.is_remote:
                session.prepare([(each.about, each.reads, each.put_off) for each in taken])
            for each in taken:
                session.reads = each.reads
                try:
                    done.append((each, each.work(session)))
                except Problem as problem:
                    # A traceback has this frame, which has `done`: with the problem in `done`, that
                    # would be a cycle, which keeps the whole batch until Python looks for cycles.
                    # The errors before the problem have tracebacks, too.
                    problem.__context__ = problem.__cause__ = None
                    done.append((each, problem.with_traceback(None)))
                except BusyError:
                    busy.append(each._replace(put_off=each.put_off + 1))

        await self._commit(handle)
        # The next transaction begins with them, and waits.
        self._queue.extendleft(reversed(busy))
        return done

    async def _probe(self) -> Problem | None:
        """Write something small, to see whether the store can be written to again.

        It costs less than a batch that fails, after which bandits are loaded again.
        """
        try:
            if self.is_remote:
                await self._disk.run(self._write)
            else:
                self._write()
        except StoreError as error:
            return self._refusal(error)
        self.failing = None
        return None

    def _write(self) -> None:
        with self._desk.storage.begin() as tx:
            tx.set_number("probe", tx.number("probe") + 1)

    async def _commit(self, handle: Work) -> None:
        """Call a function of a session, and put what it did on disk."""
        if self.is_remote:
            # Statements wait for another machine: meanwhile this one reads and writes HTTP.
            await self._disk.run(partial(self._whole, handle))
            self.batches += 1
            return
        session = self._desk.begin()
        try:
            handle(session)
            session.finish()
            if session.has_written:
                session.tx.prepare_commit()
                await self._disk.run(session.tx.commit)
            else:
                session.tx.commit()
        except BaseException:
            self._desk.undo(session)
            raise
        self._desk.done(session)
        self.batches += 1

    def _whole(self, handle: Work) -> None:
        with self._desk.batch() as session:
            handle(session)

    async def _sweep(self, until: float = 0.0) -> bool:
        """End windows that have passed; return whether there may be more to do at once.

        One transaction ends some of them. Others follow it up to the given time of the event loop.
        """
        loop = asyncio.get_running_loop()
        try:
            if self.failing is not None and await self._probe() is not None:
                return False
            while True:
                now = loop.time()
                windows = [each for each in self._desk.windows if self._stuck.get(each, now) <= now]
                more = bool(windows) and await self._sweep_windows(windows, now)
                if not more or loop.time() >= until:
                    return more
        except StoreError as error:
            self._refusal(error)
        except Exception:
            log.exception("windows could not be ended")
        return False

    async def _sweep_windows(self, windows: list[float], now: float) -> bool:
        more = False

        def handle(session: Session) -> None:
            nonlocal more
            more = session.sweep(windows)

        try:
            await self._commit(handle)
        except DamagedStoreError as error:
            if len(windows) > 1:
                # Rows that one window has to look at are damaged: alone, it fails alone.
                return any([await self._sweep_windows([each], now) for each in windows])
            self._stuck[windows[0]] = now + SWEEP_AGAIN
            reason = f"windows of {windows[0]:g} s: {error}"
            log.error("windows cannot be ended, and are tried again", extra={"reason": reason})
        return more

    def _refusal(self, error: StoreError) -> Problem:
        if self.failing is None:
            log.error("the store cannot be used", extra={"reason": str(error)})
        self.failing = str(error)
        if isinstance(error, DamagedStoreError):
            return Problem(503, f"the store is damaged, and nothing was changed: {error}")
        if isinstance(error, StoreAccessError):
            # Callers are not told where the store is, nor who its user is: the log says it.
            return Problem(503, UNREACHED, retry_after=5)
        return Problem(503, str(error), retry_after=5)


def _settle(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():
        return  # the caller has gone away
    if isinstance(result, Problem):
        future.set_exception(result)
    else:
        future.set_result(result)
