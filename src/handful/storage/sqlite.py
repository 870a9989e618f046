"""A store in one SQLite file.

One connection does everything, in one process: the file has an owner, who holds a lock on
`FILE.lock`. (Versions of SQLite before 3.51.3 can damage a write-ahead log that two connections
checkpoint at once.) The write-ahead log is synchronised at each commit, so a committed transaction
survives a power failure. Backups read with a connection of their own, which cannot write.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from handful.errors import DamagedStoreError, NewerStoreError, StoreInUseError
from handful.errors import StoreUnavailableError as Unavailable
from handful.storage.contract import SCHEMA, Storage, Transaction
from handful.storage.owner import Owner
from handful.storage.rows import (
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

APPLICATION = 0x68_6E_64_66
"""`application_id` of the file: "hndf"."""
PAGE = 10_000
"""Rows that are read at once."""

TABLES = """
CREATE TABLE log (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, bandit INTEGER NOT NULL, kind INTEGER NOT NULL,
    ref INTEGER, mark ANY, value REAL, subset INTEGER, note BLOB, checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE answers (decision INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
CREATE TABLE subsets (
    number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, body BLOB NOT NULL
) STRICT;
CREATE TABLE own_keys (
    bandit INTEGER NOT NULL, key TEXT NOT NULL, decision INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (bandit, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE bandits (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, created INTEGER NOT NULL, deleted INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX bandit_names ON bandits (name) WHERE NOT deleted;
CREATE TABLE labels (
    bandit INTEGER NOT NULL, number INTEGER NOT NULL, label TEXT NOT NULL,
    PRIMARY KEY (bandit, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots (
    bandit INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE points (
    bandit INTEGER NOT NULL, decisions INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (bandit, decisions)
) STRICT, WITHOUT ROWID;
CREATE TABLE answered (
    scope TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, status INTEGER NOT NULL,
    body BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answered_at ON answered (at);
CREATE TABLE keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BLOB NOT NULL UNIQUE, scopes TEXT NOT NULL,
    bandit TEXT, created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE identity (bytes BLOB NOT NULL) STRICT;
"""

COLUMNS = "seq, at, bandit, kind, ref, mark, value, subset, note, checksum"

P = ParamSpec("P")
R = TypeVar("R")


def _translated(error: sqlite3.Error) -> Exception:
    """Return the error of handful that stands for one of SQLite."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DamagedStoreError(
            f"the store is damaged: SQLite says {str(error)!r}. Restore a backup, and see what is "
            "left with: handful doctor --store FILE"
        )
    if primary in (
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_PERM,
    ):
        return Unavailable(
            f"the store cannot be written to or read: SQLite says {str(error)!r}. Nothing of this "
            "request was stored; it may be sent again"
        )
    return error


def _guarded(method: Callable[P, R]) -> Callable[P, R]:
    """Raise errors of handful in place of those of SQLite."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except sqlite3.Error as error:
            translated = _translated(error)
            if translated is error:
                raise
            raise translated from error

    return call


class SQLiteStorage(Storage):
    """A store in a file, which is made if there is none.

    `durable=False` does not wait for the disk: for measurements, and for tests that make many
    stores. After a power failure such a store may have lost the last commits.
    """

    def __init__(self, path: str | Path, *, durable: bool = True, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.exists():
            raise Unavailable(f"there is no store {str(self.path)!r}: give the file of a store")
        self._owner = Owner(self.path)
        try:
            self._open(durable)
        except BaseException:
            self._owner.release()
            raise

    @_guarded
    def _open(self, durable: bool) -> None:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self._connection = connection
        try:
            made = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if made != APPLICATION and tables:
                raise DamagedStoreError(
                    f"{str(self.path)!r} is not a store of handful: give another file"
                )
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
            connection.execute("PRAGMA cache_size=-65536")
            connection.execute("PRAGMA temp_store=MEMORY")
            connection.execute("PRAGMA cell_size_check=ON")
            connection.execute("PRAGMA trusted_schema=OFF")
            if not tables:
                self._make_tables()
            self._migrate()
            (self._identity,) = connection.execute("SELECT bytes FROM identity").fetchone()
            self._last: tuple[int, int] | None = None
        except BaseException:
            connection.close()
            raise

    def _make_tables(self) -> None:
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        try:
            for statement in TABLES.split(";"):
                if statement.strip():
                    run(statement)
            run("INSERT INTO identity VALUES (?)", (os.urandom(16),))
            run(f"PRAGMA application_id={APPLICATION}")
            run(f"PRAGMA user_version={SCHEMA}")
            run("COMMIT")
        except BaseException:
            run("ROLLBACK")
            raise

    def _migrate(self) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            raise NewerStoreError(
                f"this store has version {version}, and this handful knows versions up to "
                f"{SCHEMA}: install a newer handful"
            )
        if version < 1:
            raise DamagedStoreError(f"{str(self.path)!r} has no version: it is not a whole store")

    def begin(self) -> Transaction:
        """Begin a transaction."""
        return _SQLiteTransaction(self)

    def identity(self) -> bytes:
        """Return 16 random bytes that were drawn when the store was made."""
        return bytes(self._identity)

    @_guarded
    def backup(self, path: Path) -> None:
        """Copy everything that is committed to a new file."""
        copy_live(self.path, path)

    @_guarded
    def verify(self) -> list[str]:
        """Return what SQLite finds wrong with the file."""
        found = [line for (line,) in self._connection.execute("PRAGMA integrity_check(20)")]
        return [] if found == ["ok"] else [f"SQLite: {line}" for line in found]

    def size(self) -> int:
        """Return how many bytes the file and its write-ahead log take."""
        total = 0
        for path in (self.path, Path(f"{self.path}-wal")):
            with suppress(OSError):
                total += path.stat().st_size
        return total

    @_guarded
    def close(self) -> None:
        """Close the file."""
        try:
            self._connection.close()
        finally:
            self._owner.release()


@_guarded
def copy_live(source: Path, target: Path) -> None:
    """Copy a store, which may be in use, to a new file."""
    if target.exists():
        raise StoreInUseError(f"{str(target)!r} exists already: give the name of a new file")
    if not source.exists():
        raise Unavailable(f"there is no store {str(source)!r}: give the file of a store")
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    reading = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
    try:
        writing = sqlite3.connect(partial)
        try:
            reading.backup(writing)
            writing.execute("PRAGMA journal_mode=DELETE")
        finally:
            writing.close()
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        reading.close()
        partial.unlink(missing_ok=True)


class _SQLiteTransaction(Transaction):
    """A transaction of the one connection."""

    def __init__(self, storage: SQLiteStorage) -> None:
        self._storage = storage
        self._run = storage._connection.execute
        self._run_many = storage._connection.executemany
        self._open = False
        self._begin()

    @_guarded
    def _begin(self) -> None:
        self._run("BEGIN IMMEDIATE")
        self._changes_before = self._storage._connection.total_changes
        self._open = True

    @_guarded
    def commit(self) -> None:
        try:
            self._run("COMMIT")
        except BaseException:
            self.rollback()
            raise
        self._open = False

    @property
    def has_written(self) -> bool:
        return self._storage._connection.total_changes > self._changes_before

    def rollback(self) -> None:
        self._storage._last = None
        if self._open and self._storage._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._run("ROLLBACK")
        self._open = False

    @_guarded
    def last(self) -> tuple[int, int]:
        found = self._storage._last
        if found is None:
            found = self._run("SELECT seq, at FROM log ORDER BY seq DESC LIMIT 1").fetchone()
            self._storage._last = found = found or (0, 0)
        return found

    @_guarded
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
            f"INSERT INTO log ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_stored(row) for row in added],
        )
        self._storage._last = added[-1].seq, at

    @_guarded
    def row(self, seq: int) -> Row | None:
        found = self._run(f"SELECT {COLUMNS} FROM log WHERE seq=?", (seq,)).fetchone()
        return None if found is None else _loaded(found)

    def rows(self, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        # Page by page, so that rows may be appended meanwhile.
        end = self.last()[0] if upto is None else upto
        seq = after
        while seq < end:
            found = self._page(seq, end)
            for row in found:
                seq += 1
                if row.seq != seq:
                    break
                yield row
            else:
                if found:
                    continue
                seq += 1
            raise DamagedStoreError(
                f"row {seq} of the log is missing. Restore a backup, and see what is left with: "
                "handful doctor --store FILE"
            )

    @_guarded
    def _page(self, after: int, upto: int) -> list[Row]:
        sql = f"SELECT {COLUMNS} FROM log WHERE seq>? AND seq<=? ORDER BY seq LIMIT {PAGE}"
        return [_loaded(each) for each in self._run(sql, (after, upto)).fetchall()]

    @_guarded
    def answer_to(self, decision: int) -> int | None:
        found = self._run("SELECT seq FROM answers WHERE decision=?", (decision,)).fetchone()
        return None if found is None else int(found[0])

    @_guarded
    def set_answer(self, decision: int, seq: int) -> None:
        self._run("INSERT INTO answers VALUES (?, ?)", (decision, seq))

    @_guarded
    def due(self, after: int, upto: int) -> dict[int, list[Due]]:
        found: dict[int, list[Due]] = {}
        for bandit, seq, mark, answer, value in self._run(
            "SELECT d.bandit, d.seq, d.mark, a.seq, r.value FROM log d "
            "LEFT JOIN answers a ON a.decision = d.seq LEFT JOIN log r ON r.seq = a.seq "
            "WHERE d.seq > ? AND d.seq <= ? AND d.kind = ? ORDER BY d.seq",
            (after, upto, Kind.DECIDED),
        ):
            found.setdefault(bandit, []).append(Due(seq, _integer(mark), value, answer is not None))
        return found

    @_guarded
    def written_by(self, at: int, after: int, most: int) -> int:
        # `at` never decreases, so the rows up to that time are a prefix: found by halving.
        low, high = after, min(after + most, self.last()[0])
        while low < high:
            middle = (low + high + 1) // 2
            (found,) = self._run("SELECT at FROM log WHERE seq=?", (middle,)).fetchone()
            if found <= at:
                low = middle
            else:
                high = middle - 1
        return low

    @_guarded
    def decision_with_key(self, bandit: int, key: str) -> int | None:
        found = self._run(
            "SELECT decision FROM own_keys WHERE bandit=? AND key=?", (bandit, key)
        ).fetchone()
        return None if found is None else int(found[0])

    @_guarded
    def set_key(self, bandit: int, key: str, decision: int) -> None:
        self._run("INSERT INTO own_keys VALUES (?, ?, ?)", (bandit, key, decision))

    @_guarded
    def keys_of(self, decisions: tuple[int, int]) -> dict[int, str]:
        return dict(
            self._run(
                "SELECT decision, key FROM own_keys WHERE decision BETWEEN ? AND ?", decisions
            )
        )

    @_guarded
    def subset_number(self, body: bytes) -> int:
        digest = hashlib.sha256(body).digest()
        found = self._run("SELECT number FROM subsets WHERE digest=?", (digest,)).fetchone()
        if found is None:
            found = self._run(
                "INSERT INTO subsets (digest, body) VALUES (?, ?) RETURNING number", (digest, body)
            ).fetchone()
        return int(found[0])

    @_guarded
    def subset(self, number: int) -> bytes:
        found = self._run("SELECT digest, body FROM subsets WHERE number=?", (number,)).fetchone()
        if found is None or hashlib.sha256(found[1]).digest() != found[0]:
            raise DamagedStoreError(f"set {number} of allowed arms is damaged: restore a backup")
        return bytes(found[1])

    @_guarded
    def bandit_named(self, name: str) -> BanditRow | None:
        found = self._run(
            "SELECT id, name, created, deleted FROM bandits WHERE name=? AND NOT deleted", (name,)
        ).fetchone()
        return None if found is None else _bandit(found)

    @_guarded
    def bandit(self, number: int) -> BanditRow | None:
        found = self._run(
            "SELECT id, name, created, deleted FROM bandits WHERE id=?", (number,)
        ).fetchone()
        return None if found is None else _bandit(found)

    @_guarded
    def bandits(self, after: str = "", limit: int | None = None) -> list[BanditRow]:
        found = self._run(
            "SELECT id, name, created, deleted FROM bandits WHERE NOT deleted AND name > ? "
            "ORDER BY name LIMIT ?",
            (after, -1 if limit is None else limit),
        )
        return [_bandit(each) for each in found]

    @_guarded
    def put_bandit(self, row: BanditRow) -> None:
        self._run("INSERT OR REPLACE INTO bandits VALUES (?, ?, ?, ?)", row)

    @_guarded
    def labels(self, bandit: int, numbers: Iterable[int] | None = None) -> dict[int, str]:
        if numbers is None:
            return dict(self._run("SELECT number, label FROM labels WHERE bandit=?", (bandit,)))
        one = "SELECT number, label FROM labels WHERE bandit=? AND number=?"
        found = [self._run(one, (bandit, number)).fetchone() for number in numbers]
        return dict(filter(None, found))

    @_guarded
    def labels_from(self, bandit: int, first: int) -> list[str]:
        return [
            label
            for (label,) in self._run(
                "SELECT label FROM labels WHERE bandit=? AND number>=? ORDER BY number",
                (bandit, first),
            )
        ]

    @_guarded
    def put_labels(self, bandit: int, first: int, labels: Iterable[str]) -> None:
        self._run_many(
            "INSERT INTO labels VALUES (?, ?, ?)",
            ((bandit, number, label) for number, label in enumerate(labels, first)),
        )

    @_guarded
    def snapshot(self, bandit: int) -> Snapshot | None:
        found = self._run(
            "SELECT seq, body, checksum FROM snapshots WHERE bandit=?", (bandit,)
        ).fetchone()
        if found is None:
            return None
        snapshot = Snapshot(bandit, found[0], found[1])
        return snapshot if snapshot.check() == found[2] else None

    @_guarded
    def put_snapshot(self, snapshot: Snapshot) -> None:
        self._run(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", (*snapshot, snapshot.check())
        )

    @_guarded
    def points(self, bandit: int) -> list[Point]:
        found = self._run(
            "SELECT decisions, at, body FROM points WHERE bandit=? ORDER BY decisions", (bandit,)
        )
        return [Point(*each) for each in found]

    @_guarded
    def put_point(self, bandit: int, point: Point, stride: int) -> None:
        self._run("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?)", (bandit, *point))
        self._run("DELETE FROM points WHERE bandit=? AND decisions % ? != 0", (bandit, stride))

    @_guarded
    def answered(self, scope: str, key: str) -> Answer | None:
        found = self._run(
            "SELECT digest, status, body FROM answered WHERE scope=? AND key=?", (scope, key)
        ).fetchone()
        return None if found is None else Answer(*found)

    @_guarded
    def put_answered(self, scope: str, key: str, answer: Answer, at: int) -> None:
        self._run(
            "INSERT OR REPLACE INTO answered VALUES (?, ?, ?, ?, ?, ?)", (scope, key, *answer, at)
        )

    @_guarded
    def forget_answered(self, before: int) -> None:
        self._run("DELETE FROM answered WHERE at < ?", (before,))

    @_guarded
    def caller_keys(self) -> list[KeyRow]:
        found = self._run(
            "SELECT id, name, digest, scopes, bandit, created_at FROM keys ORDER BY created_at, id"
        )
        return [KeyRow(*each) for each in found]

    @_guarded
    def put_caller_key(self, row: KeyRow) -> None:
        self._run("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)", row)

    @_guarded
    def remove_caller_key(self, id: str) -> bool:
        return self._run("DELETE FROM keys WHERE id=?", (id,)).rowcount > 0

    @_guarded
    def number(self, name: str) -> int:
        found = self._run("SELECT value FROM numbers WHERE name=?", (name,)).fetchone()
        return 0 if found is None else int(found[0])

    @_guarded
    def numbers(self, prefix: str) -> dict[str, int]:
        found = dict(self._run("SELECT name, value FROM numbers"))
        return {name: value for name, value in found.items() if name.startswith(prefix)}

    @_guarded
    def set_number(self, name: str, value: int) -> None:
        self._run("INSERT OR REPLACE INTO numbers VALUES (?, ?)", (name, value))


def _stored(row: Row) -> tuple[Any, ...]:
    """Return the columns of a row. Tickets beyond 63 bits are stored as text."""
    mark = row.mark
    if mark is not None and not -(2**63) <= mark < 2**63:
        return (*row[:5], str(mark), *row[6:], row.check())
    return (*row, row.check())


def _loaded(found: tuple[Any, ...]) -> Row:
    if type(found[5]) is str:
        found = (*found[:5], int(found[5]), *found[6:])
    return checked(Row._make(found[:9]), found[9])


def _integer(mark: Any) -> int | None:
    return None if mark is None else int(mark)


def _bandit(found: tuple[Any, ...]) -> BanditRow:
    return BanditRow(found[0], found[1], found[2], bool(found[3]))
