"""A store is the same in another place, and back again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from handful.errors import DamagedStoreError, StoreInUseError
from handful.service import bodies as b
from handful.service import doctor
from handful.service.auth import new_key
from handful.service.copying import copy
from handful.service.doctor import examine
from handful.service.ids import Ids
from handful.service.shared import desk_of
from handful.storage import MemoryStorage, SQLiteStorage, Storage
from handful.storage.memory import _MemoryTransaction
from handful.storage.postgres import PostgresStorage
from handful.storage.postgres.transaction import PostgresTransaction
from handful.storage.rows import Kind, Point, Row
from tests.postgres import shared
from tests.service.workload import Workload
from tests.service.world import Clock


def used(storage: Storage, batches: int, seed: int = 3) -> Workload:
    """Use a store in every way."""
    work = Workload(storage, seed)
    for _ in range(batches):
        work.batch()
        work.desk.sweep()
    _, row = new_key("name \x00", ["decide", "reward"], "race", work.clock.now)
    with work.desk.batch() as session:
        session.tx.put_caller_key(row)
    return work


def test_there_and_back_and_on(tmp_path: Path) -> None:
    """From a file to PostgreSQL, on there by requests, and to a file, which goes on in its turn."""
    first = SQLiteStorage(tmp_path / "first.db", durable=False)
    work = used(first, 60)
    postgres = PostgresStorage(shared().new_store())
    there = copy(first, postgres)
    unused = SQLiteStorage(tmp_path / "unused.db", durable=False)
    assert copy(postgres, unused) == there
    with first.begin() as one, unused.begin() as other:
        assert list(one.rows()) == list(other.rows())

    work.desk = desk_of(postgres, work.clock)
    for _ in range(40):
        work.batch()
        work.desk.sweep()
    second = SQLiteStorage(tmp_path / "second.db", durable=False)
    back = copy(postgres, second)
    assert back.rows > there.rows
    with second.begin() as tx:
        skipped = sum(row.kind == Kind.SKIPPED for row in tx.rows())
        assert back.rows + skipped == tx.last()[0]
    assert skipped > 0

    decision = work.open[-1]
    assert Ids(second.identity()).number(decision) is not None
    work.desk = desk_of(second, work.clock)
    for _ in range(40):
        work.batch()
        work.desk.sweep()
    again = PostgresStorage(shared().new_store())
    copy(second, again)
    for storage in (postgres, second, again):
        assert examine(storage).problems == []
    for storage in (first, postgres, unused, second, again):
        storage.close()


def test_windows_end_in_the_copy() -> None:
    source, target = MemoryStorage(), PostgresStorage(shared().new_store())
    work = used(source, 0)
    with work.desk.batch() as session:
        session.decide("default", b.NewDecisions(n=4))
        session.decide("lost", b.NewDecisions(n=3))
    copy(source, target)
    back = MemoryStorage()
    copy(target, back)
    work.clock.now += 6_000
    for storage in (target, back):
        desk = desk_of(storage, work.clock)
        while desk.sweep():
            pass
        with desk.batch() as session:
            assert session.describe("default").expired == 4
            assert session.describe("lost").expired == 3
    target.close()


def test_decisions_whose_windows_ended_are_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not once for each bandit, although the windows of each ended by themselves."""
    source, clock = PostgresStorage(shared().new_store()), Clock()
    desk = desk_of(source, clock)
    bandits, rounds = 12, 8
    for number in range(bandits):
        with desk.batch() as session:
            given = b.NewBandit(name=f"b{number}", memory=2, arms=["x", "y"], window=5.0)
            session.create(given)
    for _ in range(rounds):
        for number in range(bandits):
            with desk.batch() as session:
                session.decide(f"b{number}", b.NewDecisions())
            clock.wait(1.0)
            desk.sweep()
    clock.wait(6.0)
    desk.sweep()
    read = Counter[str]()
    for kind, name in (
        (PostgresTransaction, "due"),
        (PostgresTransaction, "due_of"),
        (_MemoryTransaction, "due"),
    ):
        counted(monkeypatch, kind, name, read)
    monkeypatch.setattr(doctor, "BLOCK", 10)
    decisions = bandits * rounds
    assert examine(source).problems == []
    assert decisions <= sum(read.values()) <= 2 * decisions  # once by the log, once by loading
    read.clear()
    target = MemoryStorage()
    copy(source, target)
    assert decisions <= read["_MemoryTransaction.due"] <= 2 * decisions
    read.clear()
    assert examine(target).problems == []
    assert sum(read.values()) == decisions
    source.close()


def counted(patch: pytest.MonkeyPatch, kind: type, name: str, read: Counter[str]) -> None:
    """Count the decisions that a method returns."""
    method = getattr(kind, name)

    def counting(self: Any, *given: int) -> Any:
        found = method(self, *given)
        rows = (
            found if isinstance(found, list) else [due for each in found.values() for due in each]
        )
        read[f"{kind.__name__}.{name}"] += len(rows)
        return found

    patch.setattr(kind, name, counting)


def test_a_store_that_is_not_empty_is_not_copied_to() -> None:
    source, target = MemoryStorage(), MemoryStorage()
    used(source, 2)
    used(target, 2)
    with pytest.raises(StoreInUseError, match="not empty"):
        copy(source, target)


MISTAKES: dict[str, dict[str, Any]] = {
    "a reward": {
        "append": lambda self, rows: _MemoryTransaction.append(
            self,
            (row._replace(value=0.5) if row.kind == Kind.REWARDED else row for row in rows),
        )
    },
    "an answer": {"set_answer": lambda self, decision, seq: None},
    "a label": {
        "put_labels": lambda self, bandit, first, labels: _MemoryTransaction.put_labels(
            self, bandit, first, [f"{label}!" for label in labels]
        )
    },
    "an own key": {"set_key": lambda self, bandit, key, decision: None},
    "a key": {"put_caller_key": lambda self, row: None},
    "an answered request": {"put_answered": lambda self, scope, key, answer, at: None},
    "a point": {
        "put_point": lambda self, bandit, point, stride: _MemoryTransaction.put_point(
            self, bandit, Point(point.decisions, 0, point.body), stride
        )
    },
    "a snapshot": {
        "put_snapshot": lambda self, snapshot: _MemoryTransaction.put_snapshot(
            self, snapshot._replace(body=self._storage._snapshots.get(1, snapshot).body)
        )
    },
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=list(MISTAKES))
def test_a_copy_that_differs_is_noticed(mistake: dict[str, Any]) -> None:
    source = MemoryStorage()
    used(source, 40)
    faulty = type("Faulty", (_MemoryTransaction,), mistake)

    class Target(MemoryStorage):
        def begin(self) -> Any:
            super().begin().rollback()
            return faulty(self)

    with pytest.raises(DamagedStoreError):
        copy(source, Target())
    copy(source, MemoryStorage())


def test_a_number_that_is_of_no_row_means_nothing() -> None:
    """A bandit beside such rows is what it would be without."""
    storage = MemoryStorage()
    work = used(storage, 5)
    with storage.begin() as tx:
        seq, at = tx.last()
        tx.append([Row(seq + 1, at, 0, Kind.SKIPPED), Row(seq + 2, at, 0, Kind.SKIPPED)])
    work.desk = desk_of(storage, work.clock)
    for _ in range(5):
        work.batch()
        work.desk.sweep()
    assert examine(storage).problems == []
