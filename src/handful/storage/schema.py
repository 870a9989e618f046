"""The tables of a store in SQLite, and the checksums of their rows.

SQLite has no checksums of its own outside its write-ahead log, so every row has one here: a flipped
bit is an error when the row is read, not an answer. Three things could still go unnoticed:

- A missing row. Rows of the log have no gaps; a decision is stored together with its answer, as
  one number of a fixed size, so that an answer cannot be missing alone; bandits are counted.
- A changed text of the schema: it must be the text below.
- A write-ahead log that was damaged after all or part of it was copied to the file: the rest of it
  would hide newer pages. Each transaction counts itself in `head`, the first table and thus
  the second page of the file, which is copied before others. A file whose count is ahead of what
  SQLite sees has lost transactions.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple
from zlib import crc32

from handful.errors import DamagedStoreError

APPLICATION = 0x68_6E_64_66
"""`application_id` of the file: "hndf"."""

TABLES = """
CREATE TABLE head (body BLOB NOT NULL) STRICT;
CREATE TABLE log (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, bandit INTEGER NOT NULL, kind INTEGER NOT NULL,
    ref INTEGER, mark ANY, value REAL, subset INTEGER, note BLOB, answer INTEGER,
    checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE subsets (
    number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, body BLOB NOT NULL
) STRICT;
CREATE TABLE own_keys (
    bandit INTEGER NOT NULL, key TEXT NOT NULL, decision INTEGER NOT NULL UNIQUE,
    checksum INTEGER NOT NULL, PRIMARY KEY (bandit, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE bandits (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, created INTEGER NOT NULL, deleted INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX bandit_names ON bandits (name) WHERE NOT deleted;
CREATE TABLE labels (
    bandit INTEGER NOT NULL, number INTEGER NOT NULL, label TEXT NOT NULL,
    checksum INTEGER NOT NULL, PRIMARY KEY (bandit, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots (
    bandit INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE points (
    bandit INTEGER NOT NULL, decisions INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL,
    checksum INTEGER NOT NULL, PRIMARY KEY (bandit, decisions)
) STRICT, WITHOUT ROWID;
CREATE TABLE answered (
    scope TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, status INTEGER NOT NULL,
    body BLOB NOT NULL, at INTEGER NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answered_at ON answered (at);
CREATE TABLE keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BLOB NOT NULL UNIQUE, scopes TEXT NOT NULL,
    bandit TEXT, created_at INTEGER NOT NULL, checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE numbers (
    name TEXT PRIMARY KEY, value INTEGER NOT NULL, checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE identity (bytes BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT;
"""

_HEAD = Struct(">8sQQI")
_MARK = b"hf\x00head\xff"
_ANSWER = 1 << 62
_SEQ_BITS = 40


class Head(NamedTuple):
    """How many transactions have written to a store, and the last row of the log."""

    commits: int
    seq: int

    def to_bytes(self) -> bytes:
        """Return the body of the row."""
        body = _HEAD.pack(_MARK, *self, 0)[:-4]
        return body + crc32(body).to_bytes(4, "big")


def head_from(body: Any) -> Head | None:
    """Return what `Head.to_bytes` saved; None if it is something else."""
    if type(body) is not bytes or len(body) != _HEAD.size:
        return None
    _, commits, seq, _ = _HEAD.unpack(body)
    head = Head(commits, seq)
    return head if head.to_bytes() == body else None


def head_in_file(path: Path) -> Head | None:
    """Return the head as it is in the file, whatever the write-ahead log says; None if not there.

    The second page is searched as bytes, since without its write-ahead log the file need not be
    consistent. It may have remains of an older head.
    """
    with path.open("rb") as file:
        start = file.read(18)
        size = int.from_bytes(start[16:18], "big")
        size = 65536 if size == 1 else size
        file.seek(size)
        page = file.read(size)
    found = []
    at = page.find(_MARK)
    while at >= 0:
        found.append(head_from(page[at : at + _HEAD.size]))
        at = page.find(_MARK, at + 1)
    return max(filter(None, found), default=None)


def row_checksum(table: str, *values: Any, body: bytes = b"") -> int:
    """Return the checksum of a row; `body` is a long column of it."""
    return crc32(body, crc32(repr((table, *values)).encode()))


def verified(table: str, found: tuple[Any, ...], body: int | None = None) -> tuple[Any, ...]:
    """Return the columns of a row but for its checksum, which is the last; refuse a damaged row.

    `body` is the index of the column that is checked as bytes.
    """
    values, check = found[:-1], found[-1]
    if body is None:
        sound = crc32(repr((table, *values)).encode()) == check
    else:
        long = values[body]
        rest = values[:body] + values[body + 1 :]
        sound = type(long) is bytes and row_checksum(table, *rest, body=long) == check
    if not sound:
        raise damaged(f"a row of its table {table!r} does not match its checksum")
    return values


def answer_number(decision: int, seq: int) -> int:
    """Return what is stored with a decision that the row `seq` answered; 0: none did yet.

    It has check bits, and takes eight bytes in any case, so that it can be written in place.
    """
    check = crc32(b"%d,%d" % (decision, seq)) & 0x1FFFFF
    return _ANSWER | check << _SEQ_BITS | seq


def answer_from(decision: int, stored: Any) -> int | None:
    """Return the row that answered a decision, by what is stored with it."""
    seq = stored & ((1 << _SEQ_BITS) - 1) if type(stored) is int else -1
    if seq < 0 or stored != answer_number(decision, seq):
        raise damaged(f"the stored answer to decision {decision} is not possible")
    return seq or None


def damaged(why: str) -> DamagedStoreError:
    """Return the error of a store whose contents are not what was written."""
    return DamagedStoreError(
        f"the store is damaged: {why}. Restore a backup, and see what is left with: "
        "handful doctor --store FILE"
    )


def schema_of(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return the tables and indexes of a file, as SQLite has them."""
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
    return found.fetchall()


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables."""
    for statement in TABLES.split(";"):
        if statement.strip():
            connection.execute(statement)


def expected_schema() -> list[tuple[Any, ...]]:
    """Return the tables and indexes that a store has."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        make_tables(connection)
        return schema_of(connection)
    finally:
        connection.close()


def refuse_foreign_wal(path: Path, wal: Path) -> None:
    """Refuse a backup that was put beside the write-ahead log of the store before it.

    SQLite would apply that log to the backup, whatever file it was written for. A store in use says
    in its first page that it has a write-ahead log, and a backup says that it has none.
    """
    try:
        with path.open("rb") as file:
            start = file.read(20)
        has_log = wal.stat().st_size > 0
    except FileNotFoundError:
        return
    if has_log and len(start) == 20 and start[18:20] == b"\x01\x01":
        raise DamagedStoreError(
            f"{str(path)!r} is a backup, and {str(wal)!r} belongs to the store that was there "
            f"before it: remove {wal.name} and {path.name}-shm, and nothing of the backup is lost"
        )
