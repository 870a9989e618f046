"""Every store keeps the contract, and the shipped tests notice a store that does not."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from handful.errors import ContractError
from handful.storage import MemoryStorage, SQLiteStorage, Storage, Transaction
from handful.storage.memory import _MemoryTransaction
from handful.storage.rows import Answer, BanditRow, Due, Point, Row
from handful.testing.storage import StorageContract, contract_tests


class TestMemory(StorageContract):
    def new(self) -> Storage:
        return MemoryStorage()


class TestSQLite(StorageContract):
    @pytest.fixture(autouse=True)
    def _stores(self) -> Iterator[None]:
        self.made: list[SQLiteStorage] = []
        with TemporaryDirectory() as folder:
            self.folder = Path(folder)
            yield
            for storage in self.made:
                storage.close()

    def new(self) -> Storage:
        self.made.append(SQLiteStorage(self.folder / f"{len(self.made)}.db", durable=False))
        return self.made[-1]

    def reopened(self, storage: Storage) -> Storage:
        assert isinstance(storage, SQLiteStorage)
        storage.close()
        self.made.append(SQLiteStorage(storage.path, durable=False))
        return self.made[-1]

    def damaged(self, storage: Storage, seq: int) -> Storage:
        assert isinstance(storage, SQLiteStorage)
        storage.close()
        direct = sqlite3.connect(storage.path, isolation_level=None)
        direct.execute("UPDATE log SET ref=coalesce(ref, 0) + 1 WHERE seq=?", (seq,))
        direct.close()
        self.made.append(SQLiteStorage(storage.path, durable=False))
        return self.made[-1]


class TestSQLiteDurable(TestSQLite):
    """The same with each commit on disk, as the service has it."""

    def new(self) -> Storage:
        self.made.append(SQLiteStorage(self.folder / f"{len(self.made)}.db"))
        return self.made[-1]


# Stores with one fault each. The class that every store is tested by finds them all.


class Forgets(_MemoryTransaction):
    """Does not undo anything."""

    def rollback(self) -> None:
        self._undo.clear()
        super().rollback()


class ForgetsSome(_MemoryTransaction):
    """Does not undo removals."""

    def _remove(self, table: dict[Any, Any], key: Any) -> None:
        table.pop(key)


class Drops(_MemoryTransaction):
    """Loses the last of many rows."""

    def append(self, rows: Iterable[Row]) -> None:
        super().append(list(rows)[:5])


class Gaps(_MemoryTransaction):
    """Takes rows that do not follow."""

    def append(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._storage._log.append(row)
            self._undo.append(self._storage._log.pop)


class Rounds(_MemoryTransaction):
    """Rounds rewards."""

    def append(self, rows: Iterable[Row]) -> None:
        super().append(
            row if row.value is None else row._replace(value=round(row.value, 9)) for row in rows
        )


class NoOrder(_MemoryTransaction):
    """Returns bandits in the order of adding."""

    def bandits(self, after: str = "", limit: int | None = None) -> list[BanditRow]:
        found = [row for row in self._storage._bandits.values() if not row.deleted]
        return [row for row in found if row.name > after][:limit]


class NoCase(_MemoryTransaction):
    """Compares names without case."""

    def bandit_named(self, name: str) -> BanditRow | None:
        rows = self._storage._bandits.values()
        same = [row for row in rows if row.name.lower() == name.lower() and not row.deleted]
        return same[0] if same else None


class Inclusive(_MemoryTransaction):
    """Counts the first decision twice."""

    def due(self, after: int, upto: int) -> dict[int, list[Due]]:
        return super().due(max(0, after - 1), upto)


class Early(_MemoryTransaction):
    """Takes the time of a row for a time before it."""

    def written_by(self, at: int, after: int, most: int) -> int:
        return super().written_by(at - 1, after, most)


class Unanswered(_MemoryTransaction):
    """Forgets answers."""

    def set_answer(self, decision: int, seq: int) -> None:
        pass


class Shared(_MemoryTransaction):
    """Shares keys between bandits."""

    def decision_with_key(self, bandit: int, key: str) -> int | None:
        return super().decision_with_key(1, key)


class Crowded(_MemoryTransaction):
    """Does not thin a history."""

    def put_point(self, bandit: int, point: Point, stride: int) -> None:
        super().put_point(bandit, point, 1)


class Stale(_MemoryTransaction):
    """Stores the first answer only."""

    def put_answered(self, scope: str, key: str, answer: Answer, at: int) -> None:
        if self.answered(scope, key) is None:
            super().put_answered(scope, key, answer, at)


class Elephant(_MemoryTransaction):
    """Never forgets an answer."""

    def forget_answered(self, before: int) -> None:
        pass


class Renumbers(_MemoryTransaction):
    """Gives a set of arms a new number each time."""

    def subset_number(self, body: bytes) -> int:
        self._put(self._storage._subsets, len(self._storage._subsets) + 1, body)
        return len(self._storage._subsets)


FAULTS = [
    Forgets, ForgetsSome, Drops, Gaps, Rounds, NoOrder, NoCase, Inclusive, Early, Unanswered,
    Shared, Crowded, Stale, Elephant, Renumbers,
]  # fmt: skip


def failures(make: Callable[[], Storage]) -> list[str]:
    class Tests(StorageContract):
        def new(self) -> Storage:
            return make()

    failed = []
    for name, test in contract_tests(Tests()):
        try:
            test()
        except (ContractError, ValueError):
            failed.append(name)
    return failed


@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_with_a_fault_fails(fault: type[_MemoryTransaction]) -> None:
    class Faulty(MemoryStorage):
        def begin(self) -> Transaction:
            super().begin().rollback()
            return fault(self)

    assert failures(Faulty)


def test_a_store_without_a_fault_passes() -> None:
    assert failures(MemoryStorage) == []


def test_a_store_that_lends_out_two_transactions_fails() -> None:
    class Generous(MemoryStorage):
        def begin(self) -> Transaction:
            self._in_transaction = False
            return super().begin()

    assert failures(Generous) == ["test_there_is_one_transaction_at_a_time"]
