from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from handful.service.disk import Disk
from tests.service.requests import in_loop


@in_loop
async def test_what_is_asked_for_is_done_in_one_other_thread_and_in_order() -> None:
    disk = Disk()
    done: list[tuple[int, str]] = []

    def note(number: int) -> None:
        done.append((number, threading.current_thread().name))

    await asyncio.gather(*(disk.run(partial(note, number)) for number in range(5)))
    disk.stop()
    assert done == [(number, "handful-disk") for number in range(5)]


@in_loop
async def test_an_error_is_raised_where_it_is_waited_for() -> None:
    disk = Disk()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await disk.run(lambda: 1 // 0)
    disk.stop()


@in_loop
async def test_nobody_need_wait_to_the_end() -> None:
    disk = Disk()
    may_end = threading.Event()
    waiting = asyncio.create_task(disk.run(lambda: may_end.wait(10.0)))
    await asyncio.sleep(0.0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    may_end.set()
    await disk.run(lambda: None)
    disk.stop()


def test_a_thread_that_never_began_has_ended() -> None:
    Disk().stop()


@in_loop
async def test_the_end_of_an_iterator_is_an_error_as_any_other() -> None:
    """A future refuses it, so nobody was woken, and the service waited for ever."""
    disk = Disk()
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(disk.run(lambda: next(iter(()))), 10.0)
    disk.stop()
