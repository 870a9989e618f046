"""A store in PostgreSQL: one connection of this process, beside those of other servers."""

from __future__ import annotations

from pathlib import Path

import psycopg

from handful.errors import StoreUnavailableError
from handful.storage.postgres.link import FORGOTTEN_AFTER, Link
from handful.storage.postgres.refusals import unreachable
from handful.storage.postgres.schema import prepare
from handful.storage.postgres.transaction import PostgresTransaction
from handful.storage.shared import SharedStorage

MOST_PROBLEMS = 20


class PostgresStorage(SharedStorage):
    """A store in a schema of a database, which is made if there is none.

    `postgresql://USER@HOST/DATABASE?schema=NAME`; the schema is `handful` unless it is named.
    `durable=False` does not wait for the disk: for measurements, and for tests that make many
    stores. `patient=True` lets statements take as long as they need: for commands that read or
    write a whole store.
    """

    def __init__(
        self, address: str, *, durable: bool = True, create: bool = True, patient: bool = False
    ) -> None:
        self._link = Link(address, durable=durable, patient=patient)
        self._identity = b""
        try:
            self._open(create)
        except BaseException:
            self._link.close()
            raise

    def _open(self, create: bool) -> None:
        try:
            connection = self._link.connection()
        except psycopg.Error as error:
            raise unreachable(self.shown, error) from None
        try:
            self._identity = prepare(connection, self._link.schema, create)
            connection.execute(
                f"DELETE FROM writers WHERE seen < now() - interval '{FORGOTTEN_AFTER}'".encode()
            )
        except psycopg.Error as error:
            raise self._link.translated(error) from error

    @property
    def shown(self) -> str:
        """The address without a password."""
        return self._link.shown

    def begin(self) -> PostgresTransaction:
        """Begin a transaction."""
        tx = PostgresTransaction(self._link)
        tx.begin()
        return tx

    def moment(self) -> PostgresTransaction:
        """Begin a transaction that only reads, and sees the store as it was at one moment."""
        tx = PostgresTransaction(self._link)
        tx.begin(moment=True)
        return tx

    def identity(self) -> bytes:
        """Return 16 random bytes that were drawn when the store was made."""
        return self._identity

    def backup(self, path: Path) -> None:
        """Refuse: `handful copy` makes a file of a store in PostgreSQL."""
        raise StoreUnavailableError("copy this store to a file with: handful copy")

    def verify(self) -> list[str]:
        """Return what is wrong with the tables: rows that are not in the chain of their bandit."""
        with self.moment() as tx:
            found = tx.broken_chains(MOST_PROBLEMS)
        return [
            f"bandit {bandit}: row {seq} does not follow on row {prev}"
            for bandit, seq, prev in found
        ]

    def size(self) -> int:
        """Return how many bytes the tables and their indexes take."""
        with self.moment() as tx:
            return tx.size()

    def set_identity(self, identity: bytes) -> None:
        """Take the identity of another store, of which this one is made a copy."""
        with self.begin() as tx:
            tx.set_identity(identity)
        self._identity = identity

    def close(self) -> None:
        """Close the connection."""
        self._link.close()
