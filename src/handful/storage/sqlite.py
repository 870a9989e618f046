"""A store in one SQLite file.

One connection does everything, in one process: the owner of the file holds a lock on `FILE.lock`.
(Versions of SQLite before 3.51.3 can damage a write-ahead log that two connections checkpoint at
once.) The write-ahead log is synchronised at each commit, so a committed transaction survives a
power failure. Backups read through a separate connection, which cannot write.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from handful.errors import DamagedStoreError, NewerStoreError, StoreInUseError
from handful.errors import StoreUnavailableError as Unavailable
from handful.storage.contract import SCHEMA, Storage, Transaction
from handful.storage.guarded import guarded
from handful.storage.owner import Owner
from handful.storage.schema import (
    APPLICATION,
    Head,
    damaged,
    expected_schema,
    head_in_file,
    make_tables,
    refuse_foreign_wal,
    row_checksum,
    schema_of,
    verified,
)
from handful.storage.transaction import SQLiteTransaction

MIGRATIONS: dict[int, tuple[str, ...]] = {}
"""By version: the statements that make the tables of the next one. Nothing is released yet, so
there is one version. A version that was released has a store in tests/storage/golden."""

CHECKPOINT_PAGES = 4000
"""Pages in the write-ahead log after which they are copied to the file: 16 MB. The commit that
copies them takes long, so it should be rare; and a page that has changed often is copied once."""


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

    @guarded
    def _open(self, durable: bool) -> None:
        new = not self.path.exists()
        refuse_foreign_wal(self.path, self._wal)
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self.connection = connection
        try:
            (made,) = connection.execute("PRAGMA application_id").fetchone()
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if made != APPLICATION and tables:
                raise DamagedStoreError(
                    f"{str(self.path)!r} is not a store of handful: give another file"
                )
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
            connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
            connection.execute("PRAGMA cache_size=-65536")
            connection.execute("PRAGMA temp_store=MEMORY")
            connection.execute("PRAGMA cell_size_check=ON")
            connection.execute("PRAGMA trusted_schema=OFF")
            if not tables:
                if self._owner.has_made and not new:
                    raise damaged(f"{str(self.path)!r} is empty, and was not before")
                self._make_tables()
            self._migrate()
            self._check()
            self._owner.note_made()
        except BaseException:
            connection.close()
            raise

    def _make_tables(self) -> None:
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        try:
            make_tables(self.connection)
            identity = os.urandom(16)
            run(
                "INSERT INTO identity VALUES (?, ?)", (identity, row_checksum("identity", identity))
            )
            run("INSERT INTO head VALUES (?)", (Head(1, 0).to_bytes(),))
            run(f"PRAGMA application_id={APPLICATION}")
            run(f"PRAGMA user_version={SCHEMA}")
            run("COMMIT")
        except BaseException:
            run("ROLLBACK")
            raise

    def _migrate(self) -> None:
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            raise NewerStoreError(
                f"this store has version {version}, and this handful knows versions up to "
                f"{SCHEMA}: install a newer handful"
            )
        if version < 1:
            raise DamagedStoreError(f"{str(self.path)!r} has no version: it is not a whole store")
        while version < SCHEMA:
            self._step(version)
            version += 1

    def _step(self, version: int) -> None:
        """Make a store of the next version out of one of this version, as a whole or not at all."""
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        try:
            for statement in MIGRATIONS[version]:
                run(statement)
            run(f"PRAGMA user_version={version + 1}")
            run("COMMIT")
        except BaseException:
            run("ROLLBACK")
            raise

    def _check(self) -> None:
        """Refuse a file that is not what was written, as far as it shows without reading it all."""
        if schema_of(self.connection) != expected_schema():
            raise damaged("its tables are not those of a store")
        found = self.connection.execute("SELECT bytes, checksum FROM identity").fetchall()
        if len(found) != 1:
            raise damaged("it does not have one identity")
        (self._identity,) = verified("identity", found[0])
        self._files = [(path, _same(path)) for path in (str(self.path), str(self._wal))]
        self.tail: tuple[int, int] | None = None
        self.head: Head | None = None
        self.searched = False
        with SQLiteTransaction(self) as tx:
            tx.check_ends(head_in_file(self.path))

    @property
    def _wal(self) -> Path:
        return self.path.with_name(f"{self.path.name}-wal")

    def check_files(self) -> None:
        """Raise an error if the files that are open are not those at their paths."""
        for path, same in self._files:
            if _same(path) != same:
                raise Unavailable(
                    f"{path!r} was moved, replaced or deleted while it was in use. Nothing of "
                    "this request was stored: put the file back, or start the service again"
                )

    def begin(self) -> Transaction:
        """Begin a transaction."""
        return SQLiteTransaction(self)

    def identity(self) -> bytes:
        """Return 16 random bytes that were drawn when the store was made."""
        return bytes(self._identity)

    @guarded
    def set_identity(self, identity: bytes) -> None:
        """Take the identity of another store, of which this one is made a copy."""
        self.connection.execute(
            "UPDATE identity SET bytes=?, checksum=?",
            (identity, row_checksum("identity", identity)),
        )
        self._identity = identity

    @guarded
    def backup(self, path: Path) -> None:
        """Copy everything that is committed to a new file."""
        copy_live(self.path, path)

    def verify(self) -> list[str]:
        """Return what SQLite finds wrong with the file."""
        try:
            found = [line for (line,) in self.connection.execute("PRAGMA integrity_check(20)")]
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            found = [str(error)]
        return [] if found == ["ok"] else [f"SQLite: {line}" for line in found]

    def size(self) -> int:
        """Return how many bytes the file and its write-ahead log take."""
        total = 0
        for path in (self.path, self._wal):
            with suppress(OSError):
                total += path.stat().st_size
        return total

    @guarded
    def close(self) -> None:
        """Close the file."""
        try:
            self.connection.close()
        finally:
            self._owner.release()


def _same(path: str) -> tuple[int, int] | None:
    """Return what tells a file from any other; None if it is not there."""
    try:
        found = os.stat(path)  # noqa: PTH116, at each commit
    except OSError:
        return None
    return found.st_dev, found.st_ino


@guarded
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
