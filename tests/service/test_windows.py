"""When windows end: under load, and where rows cannot be read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handful.service import desk, writer
from handful.service.bodies import NewBandit, NewDecisions
from handful.service.desk import Session
from handful.service.problems import Problem
from handful.storage import SQLiteStorage
from tests.service.requests import in_loop, served
from tests.service.world import World


@in_loop
async def test_windows_end_though_others_cannot_and_those_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After damage was found at one look, no window ended until a restart."""
    monkeypatch.setattr(writer, "SWEEP_EVERY", 1e6)
    monkeypatch.setattr(writer, "SWEEP_AGAIN", 0.0)
    async with served(tmp_path / "store.db") as call:
        await call.front(window=20.0)
        (first,) = await call.decide()
        await call.front(name="sound", window=10.0)
        await call.decide("sound")
        desk = call.world.desk
        await call.service.writer.run(lambda session: desk.bandits.save_all(session.look_up))
        storage = desk.storage
        assert isinstance(storage, SQLiteStorage)
        seq = desk.ids.number(first["id"])
        run = storage.connection.execute

        async def expired() -> list[int]:
            await call.service.writer._sweep()
            shown = [await call("GET", f"/v1/bandits/{name}") for name in ("front", "sound")]
            return [each.json()["expired"] for each in shown]

        run("UPDATE log SET at=at+1 WHERE seq=?", (seq,))
        call.world.clock.wait(60.0)
        assert call.service.writer.failing is None
        assert await expired() == [0, 1]
        assert call.service.writer.failing is None
        run("UPDATE log SET at=at-1 WHERE seq=?", (seq,))
        assert await expired() == [1, 1]


@in_loop
async def test_windows_end_while_requests_never_stop_coming(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Windows were looked at only when no request was waiting."""
    monkeypatch.setattr(writer, "SWEEP_EVERY", 0.0)
    monkeypatch.setattr(desk, "MOST_DUE", 7)
    async with served() as call:
        await call.front(window=10.0, default=0.0)
        at_work = call.service.writer
        rounds = 0
        ended = asyncio.get_running_loop().create_future()

        def ask_again(result: int | Problem) -> None:
            """Send the next request before the writer looks whether there is one."""
            nonlocal rounds
            rounds += 1
            assert isinstance(result, int)
            call.world.clock.wait(1.0)
            if rounds == 1000 or result >= 500:
                ended.set_result(result)
            else:
                at_work.submit(decide, ask_again, False)

        def decide(session: Session) -> int:
            session.decide("front", NewDecisions(n=3))
            return session.named("front")[1].counted.expired

        at_work.submit(decide, ask_again, False)
        assert await ended >= 500


def test_a_window_is_dropped_with_the_last_bandit_that_has_it(tmp_path: Path) -> None:
    """Each window that was ever used was looked at for ever, through all rows of the log."""
    world = World(tmp_path / "store.db")

    def windows() -> list[float]:
        return sorted(world.desk.windows)

    world.create("a", window=10.0)
    world.create("b", window=10.0)
    world.create("c", window=20.0)
    world.change("a", window=30.0)
    world.restart()
    assert windows() == [10.0, 20.0, 30.0]
    world.do(lambda session: session.delete("c"))
    world.change("a", window=30.0)
    assert windows() == [10.0, 30.0]
    world.change("b", window=None)
    world.crash()
    assert windows() == [30.0]
    world.create("d", window=10.0)
    (made,) = world.decide("d")
    assert world.refused(lambda session: session.create(NewBandit(name="d", arms=["x"]))) == 409

    def fail(session: Session) -> None:
        session.delete("d")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.do(fail)
    assert windows() == [10.0, 30.0]
    world.clock.wait(11.0)
    world.desk.sweep()
    assert world.reward(made.id, 1.0) == "expired"


def test_a_window_of_a_store_that_does_not_say_who_has_it_stays(tmp_path: Path) -> None:
    world = World(tmp_path / "store.db")
    world.create("a", window=10.0)
    world.create("b", window=10.0)
    world.do(lambda session: session.tx.set_number("users of window 10.0", 0))
    world.crash()
    world.do(lambda session: session.delete("a"))
    world.create("c", window=10.0)
    for name in ("c", "b"):
        assert list(world.desk.windows) == [10.0]
        world.decide(name)
        world.clock.wait(11.0)
        world.desk.sweep()
        assert world.shown(name).expired == 1
        with world.desk.batch() as session:
            session.delete(name)
