"""The tables beside the log in SQLite: derived data, caches, and keys of callers."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from handful.storage.contract import Transaction
from handful.storage.guarded import guarded
from handful.storage.rows import Answer, BanditRow, KeyRow, Point, Snapshot
from handful.storage.schema import Head, damaged, row_checksum, verified


class Opened(Protocol):
    """What a transaction needs of the store that is open."""

    connection: sqlite3.Connection
    tail: tuple[int, int] | None
    """`seq` and `at` of the last row of the log; None: not known."""
    head: Head | None
    """None: not known."""
    searched: bool
    """Whether the table of bandits was found to be complete."""

    def check_files(self) -> None:
        """Raise an error if the files that are open are not those at their paths."""


class Tables(Transaction):
    """Statements of a transaction of the one connection, and the checks of all that is read."""

    def __init__(self, storage: Opened) -> None:
        self._storage = storage
        self._run = storage.connection.execute
        self._run_many = storage.connection.executemany

    @guarded
    def decision_with_key(self, bandit: int, key: str) -> int | None:
        found = self._run(
            "SELECT bandit, key, decision, checksum FROM own_keys WHERE bandit=? AND key=?",
            (bandit, key),
        ).fetchone()
        return None if found is None else int(verified("own_keys", found)[2])

    @guarded
    def set_key(self, bandit: int, key: str, decision: int) -> None:
        self._insert("own_keys", bandit, key, decision)

    def _insert(self, table: str, *values: Any, replace: bool = False) -> None:
        how = "INSERT OR REPLACE" if replace else "INSERT"
        marks = "?, " * len(values)
        self._run(f"{how} INTO {table} VALUES ({marks}?)", (*values, row_checksum(table, *values)))

    @guarded
    def keys_of(self, decisions: tuple[int, int]) -> dict[int, str]:
        found = self._run(
            "SELECT bandit, key, decision, checksum FROM own_keys WHERE decision BETWEEN ? AND ?",
            decisions,
        )
        return {
            decision: key for _, key, decision in (verified("own_keys", each) for each in found)
        }

    @guarded
    def subset_number(self, body: bytes) -> int:
        digest = hashlib.sha256(body).digest()
        found = self._run("SELECT number FROM subsets WHERE digest=?", (digest,)).fetchone()
        if found is None:
            found = self._run(
                "INSERT INTO subsets (digest, body) VALUES (?, ?) RETURNING number", (digest, body)
            ).fetchone()
        elif self.subset(found[0]) != body:
            raise damaged(f"set {found[0]} of allowed arms is another one")
        return int(found[0])

    @guarded
    def subset(self, number: int) -> bytes:
        found = self._run("SELECT digest, body FROM subsets WHERE number=?", (number,)).fetchone()
        body = None if found is None else found[1]
        if type(body) is not bytes or hashlib.sha256(body).digest() != found[0]:
            raise damaged(f"set {number} of allowed arms is not what was stored")
        return body

    def subsets(self) -> Iterator[tuple[int, bytes]]:
        numbers = self._run("SELECT number FROM subsets ORDER BY number").fetchall()
        for (number,) in numbers:
            yield number, self.subset(number)

    @guarded
    def put_subset(self, number: int, body: bytes) -> None:
        digest = hashlib.sha256(body).digest()
        self._run("INSERT INTO subsets VALUES (?, ?, ?)", (number, digest, body))

    @guarded
    def bandit_named(self, name: str) -> BanditRow | None:
        found = self._run(
            "SELECT id, name, created, deleted, checksum FROM bandits WHERE name=? AND NOT deleted",
            (name,),
        ).fetchone()
        if found is None:
            self._search()
            return None
        return _bandit(found)

    def _search(self) -> None:
        """Make sure, once, that no bandit is missing from the index of names."""
        if not self._storage.searched:
            wrong = self._run("PRAGMA integrity_check(bandits)").fetchone()
            if wrong != ("ok",):
                raise damaged(f"SQLite says {wrong} of the table of bandits")
            self._storage.searched = True

    @guarded
    def bandit(self, number: int) -> BanditRow | None:
        found = self._run(
            "SELECT id, name, created, deleted, checksum FROM bandits WHERE id=?", (number,)
        ).fetchone()
        return None if found is None else _bandit(found)

    @guarded
    def bandits(self, after: str = "", limit: int | None = None) -> list[BanditRow]:
        self._search()
        found = self._run(
            "SELECT id, name, created, deleted, checksum FROM bandits "
            "WHERE NOT deleted AND name > ? ORDER BY name LIMIT ?",
            (after, -1 if limit is None else limit),
        )
        return [_bandit(each) for each in found]

    @guarded
    def put_bandit(self, row: BanditRow) -> None:
        self._insert("bandits", row.id, row.name, row.created, int(row.deleted), replace=True)

    @guarded
    def labels(self, bandit: int, numbers: Iterable[int] | None = None) -> dict[int, str]:
        every = "SELECT bandit, number, label, checksum FROM labels WHERE bandit=?"
        if numbers is None:
            found = self._run(every, (bandit,)).fetchall()
        else:
            one = f"{every} AND number=?"
            found = [self._run(one, (bandit, number)).fetchone() for number in numbers]
            if None in found:
                raise damaged(f"labels of bandit {bandit} are missing")
        return {number: label for _, number, label in (verified("labels", each) for each in found)}

    @guarded
    def labels_from(self, bandit: int, first: int, limit: int | None = None) -> list[str]:
        found = self._run(
            "SELECT bandit, number, label, checksum FROM labels WHERE bandit=? AND number>=? "
            "ORDER BY number LIMIT ?",
            (bandit, first, -1 if limit is None else limit),
        ).fetchall()
        labels = [verified("labels", each)[1:] for each in found]
        if [number for number, _ in labels] != list(range(first, first + len(labels))):
            raise damaged(f"labels of bandit {bandit} are missing")
        return [label for _, label in labels]

    @guarded
    def put_labels(self, bandit: int, first: int, labels: Iterable[str]) -> None:
        self._run_many(
            "INSERT INTO labels VALUES (?, ?, ?, ?)",
            (
                (bandit, number, label, row_checksum("labels", bandit, number, label))
                for number, label in enumerate(labels, first)
            ),
        )

    @guarded
    def snapshot(self, bandit: int) -> Snapshot | None:
        found = self._run(
            "SELECT seq, body, checksum FROM snapshots WHERE bandit=?", (bandit,)
        ).fetchone()
        if found is None or (type(found[0]), type(found[1])) != (int, bytes):
            return None
        snapshot = Snapshot(bandit, found[0], found[1])
        return snapshot if snapshot.check() == found[2] else None

    @guarded
    def put_snapshot(self, snapshot: Snapshot) -> None:
        self._run(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", (*snapshot, snapshot.check())
        )

    @guarded
    def points(self, bandit: int) -> list[Point]:
        found = self._run(
            "SELECT bandit, decisions, at, body, checksum FROM points WHERE bandit=? "
            "ORDER BY decisions",
            (bandit,),
        )
        return [Point(*verified("points", each)[1:]) for each in found]

    @guarded
    def put_point(self, bandit: int, point: Point, stride: int) -> None:
        self._insert("points", bandit, *point, replace=True)
        if stride > 1:
            self._run("DELETE FROM points WHERE bandit=? AND decisions % ? != 0", (bandit, stride))

    @guarded
    def answered(self, scope: str, key: str) -> Answer | None:
        found = self._run(
            "SELECT scope, key, digest, status, body, at, checksum FROM answered "
            "WHERE scope=? AND key=?",
            (scope, key),
        ).fetchone()
        return None if found is None else Answer(*verified("answered", found, body=4)[2:5])

    @guarded
    def put_answered(self, scope: str, key: str, answer: Answer, at: int) -> None:
        check = row_checksum(
            "answered", scope, key, answer.digest, answer.status, at, body=answer.body
        )
        self._run(
            "INSERT OR REPLACE INTO answered VALUES (?, ?, ?, ?, ?, ?, ?)",
            (scope, key, *answer, at, check),
        )

    @guarded
    def forget_answered(self, before: int) -> None:
        self._run("DELETE FROM answered WHERE at < ?", (before,))

    def answered_requests(self) -> Iterator[tuple[str, str, Answer, int]]:
        found = self._run(
            "SELECT scope, key, digest, status, body, at, checksum FROM answered "
            "ORDER BY scope, key"
        )
        for each in found.fetchall():
            scope, key, digest, status, body, at = verified("answered", each, body=4)
            yield scope, key, Answer(digest, status, body), at

    @guarded
    def caller_keys(self) -> list[KeyRow]:
        found = self._run(
            "SELECT id, name, digest, scopes, bandit, created_at, checksum FROM keys "
            "ORDER BY created_at, id"
        )
        return [KeyRow(*verified("keys", each)) for each in found]

    @guarded
    def put_caller_key(self, row: KeyRow) -> None:
        self._insert("keys", *row)

    @guarded
    def remove_caller_key(self, id: str) -> bool:
        return self._run("DELETE FROM keys WHERE id=?", (id,)).rowcount > 0

    @guarded
    def number(self, name: str) -> int:
        found = self._run(
            "SELECT name, value, checksum FROM numbers WHERE name=?", (name,)
        ).fetchone()
        return 0 if found is None else int(verified("numbers", found)[1])

    @guarded
    def numbers(self, prefix: str) -> dict[str, int]:
        found = self._run("SELECT name, value, checksum FROM numbers")
        pairs = (verified("numbers", each) for each in found)
        return {name: value for name, value in pairs if name.startswith(prefix)}

    @guarded
    def set_number(self, name: str, value: int) -> None:
        self._insert("numbers", name, value, replace=True)


def _bandit(found: tuple[Any, ...]) -> BanditRow:
    id, name, created, deleted = verified("bandits", found)
    return BanditRow(id, name, created, bool(deleted))
