"""A transaction of a store in SQLite: its statements, and the checks of all that is read."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Protocol

from handful.errors import DamagedStoreError, StoreInUseError
from handful.storage.contract import Transaction
from handful.storage.guarded import guarded
from handful.storage.rows import (
    ANSWERS,
    Answer,
    BanditRow,
    Due,
    KeyRow,
    Kind,
    Point,
    Row,
    Snapshot,
    checked,
)
from handful.storage.schema import (
    Head,
    answer_from,
    answer_number,
    damaged,
    head_from,
    row_checksum,
    verified,
)

PAGE = 10_000
"""Rows that are read at once."""
COLUMNS = "seq, at, bandit, kind, ref, mark, value, subset, note, answer, checksum"


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


class SQLiteTransaction(Transaction):
    """A transaction of the one connection."""

    def __init__(self, storage: Opened) -> None:
        if storage.connection.in_transaction:
            raise StoreInUseError("a transaction is open already: end it before the next one")
        self._storage = storage
        self._run = storage.connection.execute
        self._run_many = storage.connection.executemany
        self._seen: tuple[int, int | None] = 0, None
        """A decision whose row was just read, and its answer."""
        self._begin()

    @guarded
    def _begin(self) -> None:
        self._run("BEGIN IMMEDIATE")
        self._changes = self._storage.connection.total_changes

    @guarded
    def commit(self) -> None:
        try:
            if self.has_written:
                self._storage.check_files()
                head = self._head()
                self._storage.head = Head(head.commits + 1, self.last()[0])
                self._run("UPDATE head SET body=?", (self._storage.head.to_bytes(),))
            self._run("COMMIT")
        except BaseException:
            self.rollback()
            raise

    @property
    def has_written(self) -> bool:
        return self._storage.connection.total_changes > self._changes

    def rollback(self) -> None:
        self._storage.tail = self._storage.head = None
        if self._storage.connection.in_transaction:
            with suppress(sqlite3.Error):
                self._run("ROLLBACK")

    def _head(self) -> Head:
        head = self._storage.head
        if head is None:
            found = self._run("SELECT body FROM head").fetchall()
            head = head_from(found[0][0]) if len(found) == 1 else None
            if head is None:
                raise damaged("it does not say how many transactions it has")
            self._storage.head = head
        return head

    @guarded
    def check_ends(self, in_file: Head | None) -> None:
        """Refuse a store whose tables or files end at different transactions."""
        head = self._head()
        if in_file is not None and in_file.commits > head.commits:
            raise damaged(
                f"{in_file.commits - head.commits} transactions are in part in the file, and no "
                "longer in its write-ahead log (FILE-wal)"
            )
        if self.last()[0] != head.seq:
            raise damaged(f"the log ends with row {self.last()[0]}, and not with row {head.seq}")
        (bandits,) = self._run("SELECT count(*) FROM bandits").fetchone()
        if bandits != self.number("bandits"):
            raise damaged(f"it has {bandits} bandits, and not {self.number('bandits')}")

    @guarded
    def last(self) -> tuple[int, int]:
        found = self._storage.tail
        if found is None:
            row = self._run(f"SELECT {COLUMNS} FROM log ORDER BY seq DESC LIMIT 1").fetchone()
            found = (0, 0) if row is None else _loaded(row)[:2]
            self._storage.tail = found
        return found

    @guarded
    def append(self, rows: Iterable[Row]) -> None:
        added = list(rows)
        if not added:
            return
        first, at = self.last()
        for seq, row in enumerate(added, first + 1):
            if row.seq != seq or row.at < at:
                raise ValueError(f"row {row.seq} cannot follow row {seq - 1} of the log")
            at = row.at
        self._run_many(
            f"INSERT INTO log ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_stored(row) for row in added],
        )
        self._storage.tail = added[-1].seq, at

    @guarded
    def row(self, seq: int) -> Row | None:
        if not 1 <= seq <= self.last()[0]:
            return None
        found = self._run(f"SELECT {COLUMNS} FROM log WHERE seq=?", (seq,)).fetchone()
        if found is None:
            raise _missing(seq)
        row = _loaded(found)
        self._seen = seq, _answer(row, found[9])
        return row

    def rows(self, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        for found in self._pages(after, upto):
            yield _loaded(found)

    def _pages(self, after: int, upto: int | None) -> Iterator[tuple[Any, ...]]:
        # Page by page, so that rows may be appended meanwhile.
        last = self.last()[0]
        end = last if upto is None else min(upto, last)
        seq = after
        while seq < end:
            page = self._page(seq, end)
            for found in page:
                seq += 1
                if found[0] != seq:
                    raise _missing(seq)
                yield found
            if not page:
                raise _missing(seq + 1)

    @guarded
    def _page(self, after: int, upto: int) -> list[tuple[Any, ...]]:
        sql = f"SELECT {COLUMNS} FROM log WHERE seq>? AND seq<=? ORDER BY seq LIMIT {PAGE}"
        return self._run(sql, (after, upto)).fetchall()

    @guarded
    def answer_to(self, decision: int) -> int | None:
        if self._seen[0] != decision and self.row(decision) is None:
            return None
        answer = self._seen[1]
        if answer is not None and answer > self.last()[0]:
            raise damaged(f"decision {decision} was answered after the end of the log")
        return answer

    def set_answer(self, decision: int, seq: int) -> None:
        self.set_answers({decision: seq})

    @guarded
    def set_answers(self, answers: Mapping[int, int]) -> None:
        changed = self._run_many(
            "UPDATE log SET answer=? WHERE seq=? AND answer=?",
            [
                (answer_number(decision, seq), decision, answer_number(decision, 0))
                for decision, seq in answers.items()
            ],
        )
        if changed.rowcount != len(answers):
            raise damaged(f"one of the decisions {sorted(answers)} cannot be answered")
        self._seen = 0, None

    @guarded
    def due(self, after: int, upto: int) -> dict[int, list[Due]]:
        found: dict[int, list[Due]] = {}
        for each in self._pages(after, upto):
            row = _loaded(each)
            if row.kind != Kind.DECIDED:
                continue
            seq = _answer(row, each[9])
            value = None
            if seq is not None:
                answer = self.row(seq)
                if answer is None or answer.kind not in ANSWERS or answer.ref != row.seq:
                    raise damaged(f"what is noted as the answer to decision {row.seq} is none")
                if answer.kind == Kind.LATE:
                    seq = None
                else:
                    value = answer.value
            found.setdefault(row.bandit, []).append(Due(row.seq, row.mark, value, seq is not None))
        return found

    @guarded
    def written_by(self, at: int, after: int, most: int) -> int:
        # `at` never decreases, so the rows up to that time are a prefix: found by halving.
        low, high = after, min(after + most, self.last()[0])
        while low < high:
            middle = (low + high + 1) // 2
            found = self.row(middle)
            if found is not None and found.at <= at:
                low = middle
            else:
                high = middle - 1
        return low

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


def _missing(seq: int) -> DamagedStoreError:
    return damaged(f"row {seq} of the log is missing")


def _stored(row: Row) -> tuple[Any, ...]:
    """Return the columns of a row. Tickets beyond 63 bits are stored as text."""
    answer = answer_number(row.seq, 0) if row.kind == Kind.DECIDED else None
    mark = row.mark
    if mark is not None and not -(2**63) <= mark < 2**63:
        return (*row[:5], str(mark), *row[6:], answer, row.check())
    return (*row, answer, row.check())


def _loaded(found: tuple[Any, ...]) -> Row:
    if type(found[5]) is str:
        try:
            found = (*found[:5], int(found[5]), *found[6:])
        except ValueError:
            raise damaged(f"the ticket of row {found[0]} is no number") from None
    return checked(Row._make(found[:9]), found[10])


def _answer(row: Row, stored: Any) -> int | None:
    """Return the row that answered a decision; refuse what stands where no answer can be."""
    if row.kind == Kind.DECIDED:
        return answer_from(row.seq, stored)
    if stored is not None:
        raise damaged(f"row {row.seq} is no decision, and has an answer")
    return None


def _bandit(found: tuple[Any, ...]) -> BanditRow:
    id, name, created, deleted = verified("bandits", found)
    return BanditRow(id, name, created, bool(deleted))
