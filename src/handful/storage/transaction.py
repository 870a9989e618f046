"""A transaction of a store in SQLite: its begin and end, and the log.

The tables beside the log are in `tables.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from handful.errors import DamagedStoreError, StoreError, StoreInUseError
from handful.storage.guarded import guarded
from handful.storage.rows import (
    ANSWERS,
    Due,
    Kind,
    Row,
    checked,
)
from handful.storage.schema import (
    Head,
    answer_from,
    answer_number,
    damaged,
    head_from,
)
from handful.storage.tables import Opened, Tables

PAGE = 10_000
"""Rows that are read at once."""
COLUMNS = "seq, at, bandit, kind, ref, mark, value, subset, note, answer, checksum"


class SQLiteTransaction(Tables):
    """A transaction of the one connection."""

    def __init__(self, storage: Opened) -> None:
        if storage.connection.in_transaction:
            raise StoreInUseError("a transaction is open already: end it before the next one")
        super().__init__(storage)
        self._prepared: int | None = None
        """How many changes the connection had made when the commit was prepared."""
        self._seen: tuple[int, int | None] = 0, None
        """A decision whose row was just read, and its answer."""
        self._begin()

    @guarded
    def _begin(self) -> None:
        self._run("BEGIN IMMEDIATE")
        self._changes = self._storage.connection.total_changes

    @guarded
    def prepare_commit(self) -> None:
        if self._prepared is not None:
            return
        if self.has_written:
            self._storage.check_files()
            head = self._head()
            self._storage.head = Head(head.commits + 1, self.last()[0])
            self._run("UPDATE head SET body=?", (self._storage.head.to_bytes(),))
        self._prepared = self._storage.connection.total_changes

    @guarded
    def commit(self) -> None:
        try:
            self.prepare_commit()
            if self._storage.connection.total_changes != self._prepared:
                raise StoreError(
                    "something was written after `prepare_commit`, so nothing of this transaction "
                    "was stored: write everything before it"
                )
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
                    raise damaged(f"the stored answer to decision {row.seq} is not one")
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
