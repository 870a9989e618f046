"""When windows end: under load, and where rows cannot be read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handful.service import desk, writer
from handful.service.bodies import NewDecisions
from handful.service.desk import Session
from handful.service.problems import Problem
from handful.storage import SQLiteStorage
from tests.service.requests import in_loop, served


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
