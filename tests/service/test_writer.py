"""The writer: nothing of a request is left in memory when it was refused."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import ref

import pytest

import handful
from handful.errors import StoreError, StoreUnavailableError
from handful.service.bodies import NewBandit, NewDecisions
from handful.service.desk import Session
from handful.service.problems import Problem
from handful.service.writer import Asked, Writer
from tests.service.requests import in_loop, served
from tests.service.world import World

OURS = str(Path(handful.__file__).parent)


@contextmanager
def without_collection() -> Iterator[None]:
    """Let nothing be freed but what has no references any more."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def of_nobody(session: Session) -> Any:
    return session.decide("nobody", NewDecisions())


def of_a_wrong_memory(session: Session) -> Any:
    return session.create(NewBandit(name="one", policy="race", memory=1, arms=["a", "b"]))


REFUSED: dict[str, tuple[int, Callable[[Session], Any]]] = {
    "no such bandit": (404, of_nobody),
    "by the library": (422, of_a_wrong_memory),
}


@pytest.mark.parametrize("waits", [True, False], ids=["run", "submit"])
@pytest.mark.parametrize("which", list(REFUSED))
@in_loop
async def test_a_request_that_was_refused_is_freed_at_once(which: str, waits: bool) -> None:
    """A problem had a traceback, whose frame had the batch, and with it the problem."""
    status, ask = REFUSED[which]
    writer = Writer(World().desk)
    writer.start()
    problems: list[ref[Problem]] = []
    statuses: list[int] = []

    def note(problem: Problem) -> None:
        problems.append(ref(problem))
        statuses.append(problem.status)

    async def request() -> ref[Any]:
        def work(session: Session) -> Any:
            return ask(session)

        if waits:
            try:
                await writer.run(work)
            except Problem as problem:
                note(problem)
        else:
            writer.submit(work, note, reads=False)
        return ref(work)

    with without_collection():
        works = [await request() for _ in range(3)]
        await writer.run(lambda session: None)
        assert statuses == [status] * 3
        assert [each() for each in works] == [None] * 3
        assert [each() for each in problems] == [None] * 3
    await writer.stop()


@in_loop
async def test_a_store_that_fails_keeps_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the error of a commit, which comes from another thread."""
    world = World()
    writer = Writer(world.desk)
    writer.start()
    begin = world.desk.begin
    errors: list[ref[StoreError]] = []
    statuses: list[int] = []

    class FullError(StoreUnavailableError):
        def __init__(self) -> None:
            super().__init__("the disk is full")
            errors.append(ref(self))

    def fail() -> None:
        raise FullError

    def failing() -> Session:
        session = begin()
        monkeypatch.setattr(session.tx, "commit", fail)
        return session

    monkeypatch.setattr(world.desk, "begin", failing)

    async def request() -> ref[Any]:
        def work(session: Session) -> None:
            session.tx.set_number("some", 1)

        try:
            await writer.run(work)
        except Problem as problem:
            statuses.append(problem.status)
        return ref(work)

    with without_collection():
        work = await request()
        assert statuses == [503]
        monkeypatch.setattr(world.desk, "begin", begin)
        # When the other thread does the next work, it has let go of the last.
        await writer.run(lambda session: session.tx.set_number("some", 2))
        assert work() is None
        assert [each() for each in errors] == [None]
    await writer.stop()


@in_loop
async def test_refusals_leave_no_cycles() -> None:
    """Of problems, requests and frames of ours, all are freed without the collector."""
    async with served() as call:
        await call.front()
        with without_collection():
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                for path, body, status in (
                    ("/v1/bandits/nobody/decisions", {}, 404),
                    ("/v1/bandits/front/decisions", {"n": "two"}, 422),
                    ("/v1/bandits/front/decisions", {"allowed": ["nothing"]}, 409),
                    ("/v1/bandits", {"name": "b", "policy": "race", "memory": 1}, 422),
                    ("/v1/bandits", {"name": "b", "policy": "rice", "memory": 2}, 422),
                    ("/v1/rewards", {"rewards": [{"id": "1", "reward": 1.0}]}, 200),
                ):
                    assert (await call("POST", path, body)).status_code == status, path
                gc.collect()
                found = [each for each in gc.garbage if _is_ours(each)]
                assert found == []
            finally:
                gc.set_debug(0)
                gc.garbage.clear()


def _is_ours(found: object) -> bool:
    if isinstance(found, FrameType):
        return found.f_code.co_filename.startswith(OURS)
    return isinstance(found, (Problem, Asked, Session))
