"""A transaction of a store in PostgreSQL: its begin and end, holding bandits, drawing numbers.

The log is in `log.py`, and the tables beside it in `tables.py`. Writes are queued, and sent to
PostgreSQL with the next statement that returns rows, or with the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from handful.errors import StoreInUseError, StoreUnavailableError
from handful.storage.postgres import statements as sql
from handful.storage.postgres.log import Head, Log
from handful.storage.schema import damaged
from handful.storage.shared import Held


class PostgresTransaction(Log):
    """A transaction of this process's connection."""

    def begin(self, *, moment: bool = False) -> None:
        """Begin."""
        if self._link.in_transaction:
            raise StoreInUseError("a transaction is open already: end it before the next one")
        self._connection = self._link.connected()
        self._link.in_transaction = True
        self._moment = moment
        try:
            self._begin(sql.ONE_MOMENT if moment else "BEGIN")
        except BaseException:
            self._end()
            raise
        if moment:
            # A transaction that reads everything may take long, and blocks no others.
            limits = "statement_timeout", "idle_in_transaction_session_timeout"
            for statement in sql.unlimited(self._connection, *limits):
                self._queue(statement)

    def _begin(self, statement: str) -> None:
        try:
            self._send(statement)
        except StoreUnavailableError:
            # PostgreSQL may have been started again since the last transaction.
            self._connection = self._link.connected()
            self._send(statement)

    def commit(self) -> None:
        try:
            if self._written:
                self._commit()
            else:
                self._send("COMMIT")
        finally:
            self._end()

    def _commit(self) -> None:
        counted = self._link.counted()
        queued, self._queued = self._queued, []
        try:
            with self._watched(), self._connection.pipeline():
                for each in queued:
                    self._execute(*each)
                self._execute(sql.COUNT, counted)
                ended = self._execute("COMMIT", ())
        except psycopg.Error as error:
            if error.sqlstate is not None and not self._link.is_broken(self._connection):
                # PostgreSQL has refused a statement, so that the commit was not reached.
                self._link.drop()
                raise self._link.translated(error) from error
            self._settle(error)
            return
        if ended.statusmessage != "COMMIT":
            self._link.drop()
            raise damaged(f"a transaction ended with {ended.statusmessage!r}")

    def _settle(self, error: psycopg.Error) -> None:
        """Find out what became of a commit that was cut off."""
        found = self._link.was_committed()
        if found is None:
            raise StoreUnavailableError(
                "the connection was lost during a commit, and it is not known whether the store "
                "has this request. Send it again: with an Idempotency-Key or a key of its own a "
                "decision is made once, and a reward counts once"
            ) from error
        if not found:
            raise StoreUnavailableError(
                "the connection to the store was lost before a commit. Nothing of this request was "
                "stored; it may be sent again"
            ) from error

    def rollback(self) -> None:
        if self._ended:
            return
        self._queued = []
        try:
            if not self._link.is_broken(self._connection):
                with self._link.watched():
                    self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._link.drop()
        finally:
            self._end()

    # Bandits that are held, and numbers.

    def hold(
        self,
        first: Sequence[int],
        others: Sequence[int],
        rows: int,
        time: int | None,
        decisions: Sequence[int] = (),
    ) -> Held:
        first = [bandit for bandit in first if bandit not in self._heads]
        others = [bandit for bandit in others if bandit not in self._heads]
        if self._holds:
            first, others = [], [*first, *others]
        if not (first or others or rows or decisions):
            return Held(self._held_versions(), 0, 0)
        found = self._all(sql.HOLD, (first, others, rows, time, list(decisions)))
        if first or others:
            # Until now, others may have answered.
            self._answers = {}
            self._holds = True
        self._answers |= dict.fromkeys(decisions)
        drawn = 0, 0
        for kind, id, seq, at in found:
            if kind == sql.HEAD:
                self._heads[id] = Head(seq, at)
            elif kind == sql.ANSWER:
                self._answers[id] = seq
            else:
                drawn = self._noted((seq, at), rows)
        return Held(self._held_versions(), *drawn)

    def _held_versions(self) -> dict[int, int]:
        return {bandit: head.seq for bandit, head in self._heads.items()}

    def hold_due(self, time: int | None, most: int) -> dict[int, int]:
        found = {bandit: Head(seq, at) for bandit, seq, at in self._all(sql.DUE, (time, most))}
        self._heads |= found
        self._answers = {}
        self._holds = self._holds or bool(found)
        return {bandit: head.seq for bandit, head in found.items()}

    def draw(self, rows: int, time: int | None) -> tuple[int, int]:
        return self._noted(self._one(sql.DRAW, (rows, time)), rows)

    def _noted(self, found: tuple[Any, ...] | None, rows: int) -> tuple[int, int]:
        assert found is not None
        seq, at = found
        self._drawn = seq, seq + rows, at
        return seq, at

    def lock(self, name: str) -> bool:
        call = "pg_try_advisory_xact_lock" if self._holds else "pg_advisory_xact_lock"
        key = "hashtextextended(current_schema() || %s, 2)"
        found = self._one(f"SELECT {call}({key})", (f" {name!r}",))
        self._holds = True
        assert found is not None
        return found[0] is not False

    def versions(self, bandits: Iterable[int] | None = None) -> dict[int, int]:
        if bandits is None:
            return dict(self._all("SELECT bandit, seq FROM heads"))
        wanted = list(bandits)
        found = {bandit: self._heads[bandit].seq for bandit in wanted if bandit in self._heads}
        rest = [bandit for bandit in wanted if bandit not in found]
        if rest:
            found |= self._all("SELECT bandit, seq FROM heads WHERE bandit = ANY(%s)", (rest,))
        return found
