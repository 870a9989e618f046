"""A thread that waits for the disk, so that the event loop does not have to.

An executor would work, too, but passing each commit to its thread and back takes three times as
long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

Work = Callable[[], object]


class Disk:
    """Runs functions one after the other in a separate thread, which begins with the first."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[Work, asyncio.Future[None]] | None] = SimpleQueue()
        self._thread: Thread | None = None

    async def run(self, work: Work) -> None:
        """Run a function in the thread, and wait until it has returned."""
        if self._thread is None:
            self._thread = Thread(target=self._serve, name="handful-disk", daemon=True)
            self._thread.start()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked.put((work, future))
        try:
            await future
        finally:
            del future  # it has the error, and the traceback of the error has this frame

    def stop(self) -> None:
        """End the thread when it has done what it was asked for."""
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()
            self._thread = None

    def _serve(self) -> None:
        while (asked := self._asked.get()) is not None:
            work, future = asked
            error: BaseException | None = None
            try:
                work()
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the loop was closed: nothing waits any more
                future.get_loop().call_soon_threadsafe(_settle, future, error)
            del asked, work, future, error


def _settle(future: asyncio.Future[None], error: BaseException | None) -> None:
    if future.done():
        return  # whoever waited was cancelled
    if error is None:
        future.set_result(None)
    elif isinstance(error, StopIteration):
        # A future does not take it, since in a coroutine it would be the end.
        wrapped = RuntimeError("the function raised StopIteration")
        wrapped.__cause__ = error
        future.set_exception(wrapped)
    else:
        future.set_exception(error)
