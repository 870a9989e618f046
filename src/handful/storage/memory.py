"""A store in memory: plain dictionaries, and an undo list for the open transaction."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from handful.errors import DamagedStoreError, StoreInUseError, StoreUnavailableError
from handful.storage.contract import Storage, Transaction
from handful.storage.rows import Answer, BanditRow, Due, KeyRow, Kind, Point, Row, Snapshot


class MemoryStorage(Storage):
    """A store that ends with the process."""

    def __init__(self) -> None:
        self._identity = os.urandom(16)
        self._in_transaction = False
        self._log: list[Row] = []
        self._answers: dict[int, int] = {}
        self._subsets: dict[int, bytes] = {}
        self._own_keys: dict[tuple[int, str], int] = {}
        self._bandits: dict[int, BanditRow] = {}
        self._labels: dict[tuple[int, int], str] = {}
        self._snapshots: dict[int, Snapshot] = {}
        self._points: dict[tuple[int, int], Point] = {}
        self._answered: dict[tuple[str, str], tuple[Answer, int]] = {}
        self._keys: dict[str, KeyRow] = {}
        self._numbers: dict[str, int] = {}

    def begin(self) -> Transaction:
        """Begin a transaction."""
        if self._in_transaction:
            raise StoreInUseError("a transaction is open already: end it before the next one")
        return _MemoryTransaction(self)

    def identity(self) -> bytes:
        """Return 16 random bytes that were drawn when the store was made."""
        return self._identity

    def set_identity(self, identity: bytes) -> None:
        """Take the identity of another store."""
        self._identity = identity

    def backup(self, path: Path) -> None:
        """Refuse: there is no file to copy."""
        raise StoreUnavailableError("a store in memory has no file: take a store on disk")

    def verify(self) -> list[str]:
        """Return an empty list."""
        return []

    def size(self) -> int:
        """Return 0: nothing is on disk."""
        return 0

    def close(self) -> None:
        """Do nothing: the contents stay as long as the object."""


class _MemoryTransaction(Transaction):
    """Changes that can be undone, the last one first."""

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage
        self._undo: list[Callable[[], Any]] = []
        storage._in_transaction = True

    def commit(self) -> None:
        self._undo.clear()
        self._storage._in_transaction = False

    def rollback(self) -> None:
        while self._undo:
            self._undo.pop()()
        self._storage._in_transaction = False

    @property
    def has_written(self) -> bool:
        return bool(self._undo)

    def _put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        if key in table:
            before = table[key]
            self._undo.append(lambda: table.__setitem__(key, before))
        else:
            self._undo.append(lambda: table.__delitem__(key))
        table[key] = value

    def _remove(self, table: dict[Any, Any], key: Any) -> None:
        before = table.pop(key)
        self._undo.append(lambda: table.__setitem__(key, before))

    def last(self) -> tuple[int, int]:
        log = self._storage._log
        return (log[-1].seq, log[-1].at) if log else (0, 0)

    def append(self, rows: Iterable[Row]) -> None:
        log = self._storage._log
        for row in rows:
            seq, at = self.last()
            if row.seq != seq + 1 or row.at < at:
                raise ValueError(f"row {row.seq} cannot follow row {seq} of the log")
            log.append(row)
            self._undo.append(log.pop)

    def row(self, seq: int) -> Row | None:
        log = self._storage._log
        return log[seq - 1] if 1 <= seq <= len(log) else None

    def rows(self, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        yield from self._storage._log[after : self.last()[0] if upto is None else upto]

    def answer_to(self, decision: int) -> int | None:
        return self._storage._answers.get(decision)

    def set_answer(self, decision: int, seq: int) -> None:
        self._put(self._storage._answers, decision, seq)

    def due(self, after: int, upto: int) -> dict[int, list[Due]]:
        found: dict[int, list[Due]] = {}
        for row in self.rows(after, upto):
            if row.kind == Kind.DECIDED:
                seq = self.answer_to(row.seq)
                answer = None if seq is None else self.row(seq)
                if answer is not None and answer.kind == Kind.LATE:
                    answer = None
                value = None if answer is None else answer.value
                found.setdefault(row.bandit, []).append(
                    Due(row.seq, row.mark, value, answer is not None)
                )
        return found

    def written_by(self, at: int, after: int, most: int) -> int:
        log = self._storage._log
        high = min(after + most, len(log))
        return bisect_right(log, at, after, high, key=lambda row: row.at)

    def decision_with_key(self, bandit: int, key: str) -> int | None:
        return self._storage._own_keys.get((bandit, key))

    def set_key(self, bandit: int, key: str, decision: int) -> None:
        self._put(self._storage._own_keys, (bandit, key), decision)

    def keys_of(self, decisions: tuple[int, int]) -> dict[int, str]:
        first, last = decisions
        return {
            decision: key
            for (_, key), decision in self._storage._own_keys.items()
            if first <= decision <= last
        }

    def subset_number(self, body: bytes) -> int:
        subsets = self._storage._subsets
        for number, known in subsets.items():
            if known == body:
                return number
        number = max(subsets, default=0) + 1
        self._put(subsets, number, body)
        return number

    def subset(self, number: int) -> bytes:
        return self._storage._subsets[number]

    def subsets(self) -> Iterator[tuple[int, bytes]]:
        yield from sorted(self._storage._subsets.items())

    def put_subset(self, number: int, body: bytes) -> None:
        self._put(self._storage._subsets, number, body)

    def bandit_named(self, name: str) -> BanditRow | None:
        for row in self._storage._bandits.values():
            if row.name == name and not row.deleted:
                return row
        return None

    def bandit(self, number: int) -> BanditRow | None:
        return self._storage._bandits.get(number)

    def bandits(self, after: str = "", limit: int | None = None) -> list[BanditRow]:
        live = [row for row in self._storage._bandits.values() if not row.deleted]
        found = sorted((row for row in live if row.name > after), key=lambda row: row.name)
        return found[:limit]

    def put_bandit(self, row: BanditRow) -> None:
        self._put(self._storage._bandits, row.id, row)

    def labels(self, bandit: int, numbers: Iterable[int] | None = None) -> dict[int, str]:
        labels = self._storage._labels
        if numbers is None:
            return {number: label for (of, number), label in labels.items() if of == bandit}
        try:
            return {number: labels[bandit, number] for number in numbers}
        except KeyError as error:
            raise DamagedStoreError(f"the label of arm {error.args[0]} is missing") from None

    def labels_from(self, bandit: int, first: int, limit: int | None = None) -> list[str]:
        every = self.labels(bandit)
        return [every[number] for number in sorted(every) if number >= first][:limit]

    def put_labels(self, bandit: int, first: int, labels: Iterable[str]) -> None:
        for number, label in enumerate(labels, first):
            self._put(self._storage._labels, (bandit, number), label)

    def snapshot(self, bandit: int) -> Snapshot | None:
        return self._storage._snapshots.get(bandit)

    def put_snapshot(self, snapshot: Snapshot) -> None:
        self._put(self._storage._snapshots, snapshot.bandit, snapshot)

    def points(self, bandit: int) -> list[Point]:
        found = [point for (of, _), point in self._storage._points.items() if of == bandit]
        return sorted(found)

    def put_point(self, bandit: int, point: Point, stride: int) -> None:
        points = self._storage._points
        self._put(points, (bandit, point.decisions), point)
        for of, decisions in list(points):
            if of == bandit and decisions % stride:
                self._remove(points, (of, decisions))

    def answered(self, scope: str, key: str) -> Answer | None:
        found = self._storage._answered.get((scope, key))
        return None if found is None else found[0]

    def put_answered(self, scope: str, key: str, answer: Answer, at: int) -> None:
        self._put(self._storage._answered, (scope, key), (answer, at))

    def forget_answered(self, before: int) -> None:
        for key, (_, at) in list(self._storage._answered.items()):
            if at < before:
                self._remove(self._storage._answered, key)

    def answered_requests(self) -> Iterator[tuple[str, str, Answer, int]]:
        found = self._storage._answered.items()
        yield from sorted(
            ((scope, key, answer, at) for (scope, key), (answer, at) in found), key=_by_bytes
        )

    def caller_keys(self) -> list[KeyRow]:
        return sorted(self._storage._keys.values(), key=lambda row: (row.created_at, row.id))

    def put_caller_key(self, row: KeyRow) -> None:
        self._put(self._storage._keys, row.id, row)

    def remove_caller_key(self, id: str) -> bool:
        if id not in self._storage._keys:
            return False
        self._remove(self._storage._keys, id)
        return True

    def number(self, name: str) -> int:
        return self._storage._numbers.get(name, 0)

    def numbers(self, prefix: str) -> dict[str, int]:
        found = self._storage._numbers
        return {name: value for name, value in found.items() if name.startswith(prefix)}

    def set_number(self, name: str, value: int) -> None:
        self._put(self._storage._numbers, name, value)


def _by_bytes(answered: tuple[str, str, Answer, int]) -> tuple[bytes, bytes]:
    return answered[0].encode(), answered[1].encode()
