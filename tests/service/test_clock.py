"""A clock that jumps: nothing expires twice, and time in the log never goes back."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from handful.service.bodies import NewBandit, NewDecisions
from handful.service.clock import going_on, steady_clock
from handful.service.desk import Desk
from handful.service.doctor import examine
from handful.storage import MemoryStorage, SQLiteStorage, Storage
from handful.storage.rows import Kind
from tests.service.workload import FakeClock, Workload

HOUR = 3_600_000
WINDOW = 60.0


def expired(desk: Desk) -> int:
    while desk.sweep():
        pass
    with desk.batch() as session:
        return session.describe("a").expired


def made(storage: Storage, clock: FakeClock) -> Desk:
    desk = Desk(storage, clock)
    with desk.batch() as session:
        session.create(NewBandit(name="a", memory=2, arms=["x", "y"], window=WINDOW, seed=1))
    return desk


def decide(desk: Desk) -> str:
    with desk.batch() as session:
        return session.decide("a", NewDecisions()).decisions[0].id


def times(storage: Storage) -> list[int]:
    with storage.begin() as tx:
        return [row.at for row in tx.rows()]


@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_not_due_before_a_jump_back_stays_open(restarts: bool) -> None:
    storage, clock = MemoryStorage(), FakeClock()
    desk = made(storage, clock)
    decide(desk)
    clock.now += 50_000
    assert expired(desk) == 0
    clock.now -= HOUR
    if restarts:
        desk = Desk(storage, clock)
    assert expired(desk) == 0
    id = decide(desk)
    assert expired(desk) == 0
    with desk.batch() as session:
        assert session.reward(id, 1.0).outcome == "credited"
    assert times(storage) == sorted(times(storage))


@pytest.mark.parametrize("restarts", [False, True])
def test_nothing_expires_twice(restarts: bool) -> None:
    storage, clock = MemoryStorage(), FakeClock()
    desk = made(storage, clock)
    for _ in range(3):
        decide(desk)
    for jump in (HOUR, -HOUR, 2 * HOUR, -5 * HOUR, 5 * HOUR, 0):
        clock.now += jump
        if restarts:
            desk = Desk(storage, clock)
        assert expired(desk) == 3
    with storage.begin() as tx:
        assert sum(row.kind == Kind.CLOSED for row in tx.rows()) == 1


def test_after_a_restart_with_a_clock_that_was_set_back_windows_still_end() -> None:
    """The machine once believed it was a year later: windows need not wait for that year."""
    storage, clock = MemoryStorage(), FakeClock()
    desk = made(storage, clock)
    clock.now += 8760 * HOUR
    decide(desk)
    clock.now -= 8760 * HOUR
    desk = Desk(storage, clock)
    decide(desk)
    clock.now += 59_000
    assert expired(desk) == 0
    clock.now += 2_000
    assert expired(desk) == 2
    assert times(storage) == sorted(times(storage))


def test_any_jumps_and_restarts(tmp_path: Path) -> None:
    """Whatever the clock does, the log can be replayed, and time in it never goes back."""
    dice = random.Random(4)
    clock = FakeClock()
    path = tmp_path / "store.db"
    for seed in range(12):
        work = Workload(SQLiteStorage(path, durable=False), seed, clock)
        for _ in range(10):
            work.batch()
            clock.now += dice.choice((0, 0, 2000, -2000, HOUR, -HOUR, -1000 * HOUR, 999 * HOUR))
            work.desk.sweep()
        assert times(work.desk.storage) == sorted(times(work.desk.storage))
        work.desk.close()
    with SQLiteStorage(path) as storage:
        assert examine(storage).problems == []


def test_the_clock_of_the_service_begins_with_the_log() -> None:
    clock = steady_clock()
    far = clock() + HOUR
    ahead = going_on(steady_clock(), far)
    assert far <= ahead() <= ahead() < far + HOUR
    assert going_on(clock, 0)() < far
