"""Windows whose rows cannot be read: the others end, and those are tried again."""

from __future__ import annotations

from pathlib import Path

import pytest

from handful.service import writer
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
