"""The tables beside the log: derived data, caches, and keys of callers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg

from handful.storage.postgres.link import Connection, Link
from handful.storage.rows import Answer, BanditRow, KeyRow, Point, Snapshot
from handful.storage.schema import damaged
from handful.storage.shared import BusyError, SharedTransaction

MOST_QUEUED = 500
"""Statements that are sent together."""


class Tables(SharedTransaction):
    """Statements of a transaction."""

    _connection: Connection

    def __init__(self, link: Link) -> None:
        self._link = link
        self._written = self._ended = self._moment = False
        self._queued: list[tuple[str, Sequence[Any]]] = []

    @property
    def has_written(self) -> bool:
        return self._written

    def _end(self) -> None:
        self._ended = True
        self._link.in_transaction = False

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Run statements: errors are those of handful, and after one the connection is closed."""
        with self._link.guarded(), self._watched():
            yield

    def _watched(self) -> AbstractContextManager[None]:
        if self._moment or self._link.patient:
            return nullcontext()
        return self._link.watched()

    def _queue(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Write something soon: before the next statement that is waited for, with others."""
        self._queued.append((sql, values))
        if len(self._queued) >= MOST_QUEUED:
            self._send("SELECT 1")

    def _write(self, sql: str, values: Sequence[Any] = ()) -> None:
        self._written = True
        self._queue(sql, values)

    def _send(self, sql: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        """Run what is queued, in one round trip, and then a statement.

        The statement is not part of that pipeline. psycopg ends a pipeline by a message for which
        PostgreSQL stops the clock of `idle_in_transaction_session_timeout`: if this process then
        hung, it would hold its bandits for ever.
        """
        queued, self._queued = self._queued, []
        with self._guarded():
            if queued:
                with self._connection.pipeline():
                    for each in queued:
                        self._execute(*each)
            return self._execute(sql, values)

    def _execute(self, sql: str, values: Sequence[Any]) -> psycopg.Cursor[Any]:
        return self._connection.execute(sql.encode(), values or None, binary=True)

    def _one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._send(sql, values).fetchone()
        return found

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._send(sql, values).fetchall()

    # Windows.

    def set_due(self, bandit: int, at: int | None, *, unless_set: bool = False) -> None:
        only = " AND next_due IS NULL" if unless_set else ""
        self._write(f"UPDATE heads SET next_due = %s WHERE bandit = %s{only}", (at, bandit))

    # Callers' own keys of decisions.

    def decision_with_key(self, bandit: int, key: str) -> int | None:
        found = self._one(
            "SELECT decision FROM own_keys WHERE bandit = %s AND key = %s", (bandit, key.encode())
        )
        return None if found is None else int(found[0])

    def set_key(self, bandit: int, key: str, decision: int) -> None:
        self._write("INSERT INTO own_keys VALUES (%s, %s, %s)", (bandit, key.encode(), decision))

    def keys_of(self, decisions: tuple[int, int]) -> dict[int, str]:
        found = self._all(
            "SELECT decision, key FROM own_keys WHERE decision BETWEEN %s AND %s", decisions
        )
        return {decision: bytes(key).decode() for decision, key in found}

    # Sets of allowed arms.

    def subset_number(self, body: bytes) -> int:
        digest = hashlib.sha256(body).digest()
        find = "SELECT number, body FROM subsets WHERE digest = %s"
        found = self._one(find, (digest,))
        if found is None:
            # Two servers may store the same set at once. The second one does not wait, since it
            # holds bandits.
            if not self.lock(f"subset {digest.hex()}"):
                raise BusyError
            found = self._one(find, (digest,))
        if found is None:
            self._written = True
            found = self._one(
                "INSERT INTO subsets (digest, body) VALUES (%s, %s) RETURNING number, body",
                (digest, body),
            )
            assert found is not None
        if found[1] != body:
            raise damaged(f"set {found[0]} of allowed arms is another one")
        return int(found[0])

    def subset(self, number: int) -> bytes:
        found = self._one("SELECT digest, body FROM subsets WHERE number = %s", (number,))
        if found is None or hashlib.sha256(found[1]).digest() != found[0]:
            raise damaged(f"set {number} of allowed arms is not what was stored")
        return bytes(found[1])

    def subsets(self) -> Iterator[tuple[int, bytes]]:
        for number, body in self._all("SELECT number, body FROM subsets ORDER BY number"):
            yield number, bytes(body)

    def put_subset(self, number: int, body: bytes) -> None:
        digest = hashlib.sha256(body).digest()
        self._write("INSERT INTO subsets VALUES (%s, %s, %s)", (number, digest, body))
        self._queue(
            "SELECT setval(pg_get_serial_sequence('subsets', 'number'), max(number)) FROM subsets"
        )

    # Bandits.

    def bandit_named(self, name: str) -> BanditRow | None:
        found = self._one(
            "SELECT id, name, created, deleted FROM bandits WHERE name = %s AND NOT deleted",
            (_text(name),),
        )
        return None if found is None else BanditRow(*found)

    def bandit(self, number: int) -> BanditRow | None:
        found = self._one("SELECT id, name, created, deleted FROM bandits WHERE id = %s", (number,))
        return None if found is None else BanditRow(*found)

    def bandits(self, after: str = "", limit: int | None = None) -> list[BanditRow]:
        found = self._all(
            "SELECT id, name, created, deleted FROM bandits WHERE NOT deleted AND name > %s "
            "ORDER BY name LIMIT %s",
            (_text(after), limit),
        )
        return [BanditRow(*each) for each in found]

    def put_bandit(self, row: BanditRow) -> None:
        self._write(
            "INSERT INTO bandits VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET "
            "name = excluded.name, created = excluded.created, deleted = excluded.deleted",
            row,
        )

    def labels(self, bandit: int, numbers: Iterable[int] | None = None) -> dict[int, str]:
        every = "SELECT number, label FROM labels WHERE bandit = %s"
        if numbers is None:
            found = self._all(every, (bandit,))
        else:
            wanted = set(numbers)
            found = self._all(f"{every} AND number = ANY(%s::bigint[])", (bandit, list(wanted)))
            if len(found) < len(wanted):
                raise damaged(f"labels of bandit {bandit} are missing")
        return {number: bytes(label).decode() for number, label in found}

    def labels_from(self, bandit: int, first: int, limit: int | None = None) -> list[str]:
        found = self._all(
            "SELECT number, label FROM labels WHERE bandit = %s AND number >= %s "
            "ORDER BY number LIMIT %s",
            (bandit, first, limit),
        )
        if [number for number, _ in found] != list(range(first, first + len(found))):
            raise damaged(f"labels of bandit {bandit} are missing")
        return [bytes(label).decode() for _, label in found]

    def put_labels(self, bandit: int, first: int, labels: Iterable[str]) -> None:
        self._write(
            "INSERT INTO labels SELECT %s, %s + n - 1, label "
            "FROM unnest(%s::bytea[]) WITH ORDINALITY AS u (label, n)",
            (bandit, first, [label.encode() for label in labels]),
        )

    # Caches.

    def snapshot(self, bandit: int) -> Snapshot | None:
        found = self._one("SELECT seq, body, checksum FROM snapshots WHERE bandit = %s", (bandit,))
        if found is None:
            return None
        snapshot = Snapshot(bandit, found[0], bytes(found[1]))
        return snapshot if snapshot.check() == found[2] else None

    def put_snapshot(self, snapshot: Snapshot) -> None:
        self._write(
            "INSERT INTO snapshots VALUES (%s, %s, %s, %s) ON CONFLICT (bandit) DO UPDATE SET "
            "seq = excluded.seq, body = excluded.body, checksum = excluded.checksum",
            (*snapshot, snapshot.check()),
        )

    def points(self, bandit: int) -> list[Point]:
        found = self._all(
            "SELECT decisions, at, body FROM points WHERE bandit = %s ORDER BY decisions", (bandit,)
        )
        return [Point(decisions, at, bytes(body)) for decisions, at, body in found]

    def put_point(self, bandit: int, point: Point, stride: int) -> None:
        self._write(
            "INSERT INTO points VALUES (%s, %s, %s, %s) ON CONFLICT (bandit, decisions) DO UPDATE "
            "SET at = excluded.at, body = excluded.body",
            (bandit, *point),
        )
        if stride > 1:
            self._write(
                "DELETE FROM points WHERE bandit = %s AND decisions %% %s <> 0", (bandit, stride)
            )

    # Requests that were answered.

    def answered(self, scope: str, key: str) -> Answer | None:
        found = self._one(
            "SELECT digest, status, body FROM answered WHERE scope = %s AND key = %s",
            (scope.encode(), key.encode()),
        )
        return None if found is None else Answer(bytes(found[0]), found[1], bytes(found[2]))

    def put_answered(self, scope: str, key: str, answer: Answer, at: int) -> None:
        self._write(
            "INSERT INTO answered VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (scope, key) DO "
            "UPDATE SET digest = excluded.digest, status = excluded.status, body = excluded.body, "
            "at = excluded.at",
            (scope.encode(), key.encode(), *answer, at),
        )

    def forget_answered(self, before: int) -> None:
        self._write(
            "DELETE FROM answered WHERE (scope, key) IN (SELECT scope, key FROM answered "
            "WHERE at < %s FOR UPDATE SKIP LOCKED)",
            (before,),
        )

    def answered_requests(self) -> Iterator[tuple[str, str, Answer, int]]:
        found = self._all("SELECT scope, key, digest, status, body, at FROM answered")
        for scope, key, digest, status, body, at in sorted(found, key=lambda each: each[:2]):
            answer = Answer(bytes(digest), status, bytes(body))
            yield bytes(scope).decode(), bytes(key).decode(), answer, at

    # Keys of callers.

    def caller_keys(self) -> list[KeyRow]:
        found = self._all(
            "SELECT id, name, digest, scopes, bandit, created_at FROM keys ORDER BY created_at, id"
        )
        return [
            KeyRow(id, bytes(name).decode(), bytes(digest), scopes, bandit, at)
            for id, name, digest, scopes, bandit, at in found
        ]

    def put_caller_key(self, row: KeyRow) -> None:
        self._write(
            "INSERT INTO keys VALUES (%s, %s, %s, %s, %s, %s)",
            (row.id, row.name.encode(), row.digest, row.scopes, row.bandit, row.created_at),
        )
        self._keys_changed()

    def remove_caller_key(self, id: str) -> bool:
        removed = self._send("DELETE FROM keys WHERE id = %s", (_text(id),)).rowcount > 0
        self._keys_changed()
        return removed

    def _keys_changed(self) -> None:
        self._write(
            "INSERT INTO numbers VALUES ('key changes', 1) ON CONFLICT (name) DO UPDATE "
            "SET value = numbers.value + 1"
        )

    def revision(self) -> int:
        return self.number("key changes")

    def set_identity(self, identity: bytes) -> None:
        """Take the identity of another store."""
        self._write("UPDATE meta SET identity = %s", (identity,))

    # Numbers.

    def number(self, name: str) -> int:
        found = self._one("SELECT value FROM numbers WHERE name = %s", (name,))
        return 0 if found is None else int(found[0])

    def numbers(self, prefix: str) -> dict[str, int]:
        found = self._all("SELECT name, value FROM numbers")
        return {name: value for name, value in found if name.startswith(prefix)}

    def set_number(self, name: str, value: int) -> None:
        self._write(
            "INSERT INTO numbers VALUES (%s, %s) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value",
            (name, value),
        )


def _text(given: str) -> str:
    """Return text as PostgreSQL takes it; what has U+0000 is no name of anything."""
    return given.replace("\x00", "\ufffd")
