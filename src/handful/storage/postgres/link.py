"""The connection to PostgreSQL: opened when needed, and closed when it does not answer.

A server that cannot reach the store must report it within seconds, and must not block others:

- PostgreSQL ends a statement that takes too long, a wait for a lock that takes too long, and a
  transaction whose server hangs. It notices a server that disappears while it waits for a lock.
- TCP gives up a connection on which nothing is acknowledged.
- If something between the two acknowledges everything and forwards nothing, a watchdog closes
  the connection from this side.

After any error of PostgreSQL the connection is closed, so that nothing of it is left: no lock, and
no partial transaction.

**Interrupted commits.** Each connection has a row in the table `writers`, under a random id, that
counts its commits. If a commit is interrupted, a new connection ends the old one if it still
exists, locks that row, and reads its count. (The number of the transaction would not suffice: after
a crash PostgreSQL may give it to another one.)
"""

from __future__ import annotations

import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import psycopg

from handful.errors import StoreError
from handful.storage.postgres.address import read
from handful.storage.postgres.refusals import translated, unreachable
from handful.storage.postgres.statements import LIMITS_TRANSACTIONS

CONNECT_SECONDS = 3
RETRY_SECONDS = 1.0
"""How long after a failed attempt to connect requests are refused without another one."""
LOCK_SECONDS = 2.0
"""How long a server waits for a bandit that another one holds."""
STATEMENT_SECONDS = 5.0
IDLE_SECONDS = 10.0
"""How long a transaction may wait for its server, which may hang, before it is rolled back."""
TRANSACTION_SECONDS = 120.0
"""How long any transaction may take, from PostgreSQL 17 on.

The clock of idle transactions stands still after a pipeline (`Tables._send`). If nothing else came
through just then, and TCP noticed nothing, the bandits would be held until the connection ends.
"""
UNANSWERED_SECONDS = 3.0
"""How long TCP waits for an acknowledgement."""
SLACK_SECONDS = 2.0
"""How much longer than a statement may take this side waits for its end."""
FORGOTTEN_AFTER = "7 days"
"""After this time, the outcome of an interrupted commit is no longer asked for."""

Connection = psycopg.Connection[tuple[Any, ...]]


class Backend(NamedTuple):
    """The other end of a connection, and how far it has counted its commits."""

    pid: int
    started: Any
    writer: uuid.UUID
    commits: int


class Link:
    """A connection that is made again when it has broken."""

    def __init__(self, address: str, *, durable: bool = True, patient: bool = False) -> None:
        self.patient = patient
        """Whether statements may take as long as they need."""
        self.schema, given, self.shown = read(address)
        self._settings = _with_limits(given)
        self._settings["options"] = " ".join(
            [str(self._settings.get("options", "")), *_session(self.schema, durable, patient)]
        ).strip()
        self.user = ""
        """The user of this process in PostgreSQL."""
        self._connection: Connection | None = None
        self._backend: Backend | None = None
        self._watchdog = _Watchdog()
        self.in_transaction = False
        self._failed: tuple[float, psycopg.Error] | None = None
        """When the last attempt to connect failed, and why."""

    def connected(self) -> Connection:
        """Return the connection; raise `StoreAccessError` if there is none to be had.

        Shortly after a failed attempt, this raises at once instead of waiting for another one.
        """
        if self._failed is not None and time.monotonic() < self._failed[0] + RETRY_SECONDS:
            raise unreachable(self.shown, self._failed[1]) from self._failed[1]
        self._failed = None
        try:
            return self.connection()
        except psycopg.Error as error:
            self._failed = time.monotonic(), error
            raise unreachable(self.shown, error) from error

    def translated(self, error: psycopg.Error) -> StoreError:
        """Return the error of handful that stands for one of PostgreSQL."""
        return translated(error, self.schema, self.user)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Raise errors of handful in place of those of PostgreSQL; after one, drop the link."""
        try:
            yield
        except psycopg.Error as error:
            self.drop()
            raise self.translated(error) from error

    def is_broken(self, connection: Connection) -> bool:
        """Return whether a connection was given up."""
        return connection is not self._connection or connection.closed or connection.broken

    def connection(self) -> Connection:
        """Return the connection, made again if it has broken."""
        found = self._connection
        if found is not None and not found.closed and not found.broken:
            return found
        self.drop()
        made = self._connected()
        try:
            pid_and_start = made.execute(
                "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
            ).fetchone()
        except psycopg.Error:
            made.close()
            raise
        assert pid_and_start is not None
        self._connection = made
        pid, started = pid_and_start
        self._backend = Backend(pid, started, uuid.uuid4(), 0)
        return made

    def _connected(self) -> Connection:
        made = psycopg.connect(**self._settings, autocommit=True)
        self.user = made.info.user
        if not self.patient and made.info.server_version >= LIMITS_TRANSACTIONS:
            limit = f"SET transaction_timeout = {1000 * TRANSACTION_SECONDS:.0f}"
            try:
                made.execute(limit.encode())
            except psycopg.Error:
                made.close()
                raise
        return made

    def drop(self) -> None:
        """Close the connection: what was not committed is rolled back."""
        found, self._connection, self._backend = self._connection, None, None
        if found is not None:
            with suppress(psycopg.Error):
                found.close()

    def close(self) -> None:
        """Close the connection, and watch no more."""
        self.drop()
        self._watchdog.stop()

    @contextmanager
    def watched(self, seconds: float = STATEMENT_SECONDS) -> Iterator[None]:
        """Close the connection if the block takes longer than statements may."""
        connection = self._connection
        if connection is None:
            yield
            return
        self._watchdog.begin(connection, seconds + SLACK_SECONDS)
        try:
            yield
        finally:
            self._watchdog.end()

    # Commits.

    def counted(self) -> tuple[uuid.UUID, int]:
        """Return what the transaction must write to `writers` before it is committed."""
        assert self._backend is not None
        self._backend = self._backend._replace(commits=self._backend.commits + 1)
        return self._backend.writer, self._backend.commits

    def was_committed(self) -> bool | None:
        """Return whether a transaction was committed whose commit was cut off; None: not known."""
        backend = self._backend
        assert backend is not None
        self.drop()
        until = time.monotonic() + STATEMENT_SECONDS
        while time.monotonic() < until:
            try:
                connection = self._connected()
            except psycopg.Error:
                time.sleep(0.1)
                continue
            try:
                self._watchdog.begin(connection, STATEMENT_SECONDS)
                return _looked_up(connection, backend)
            except psycopg.Error:
                time.sleep(0.1)
            finally:
                self._watchdog.end()
                connection.close()
        return None


def _looked_up(connection: Connection, backend: Backend) -> bool:
    # What it was sent may still be on its way to it: only when it has gone nothing can follow.
    ended = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid=%s AND backend_start=%s"
    )
    while connection.execute(ended, (backend.pid, backend.started)).fetchone():
        time.sleep(0.02)
    with connection.transaction():
        # The first commit of a connection inserts its row: another insert waits for its end.
        connection.execute(
            "INSERT INTO writers VALUES (%s, 0, now()) ON CONFLICT (id) DO NOTHING",
            (backend.writer,),
        )
        found = connection.execute(
            "SELECT commits FROM writers WHERE id = %s FOR UPDATE", (backend.writer,)
        ).fetchone()
    assert found is not None
    return bool(found[0] == backend.commits)


def _with_limits(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a connection, with time limits where the address names none."""
    limits = {
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": int(1000 * UNANSWERED_SECONDS),
        "keepalives_idle": 1,
        "keepalives_interval": 1,
        "keepalives_count": max(1, int(UNANSWERED_SECONDS)),
        "application_name": "handful",
    }
    return limits | settings


def _session(schema: str, durable: bool, patient: bool) -> list[str]:
    """Return the settings of the session, as options of the server."""
    milliseconds = {
        "lock_timeout": LOCK_SECONDS,
        "statement_timeout": 0.0 if patient else STATEMENT_SECONDS,
        "idle_in_transaction_session_timeout": 0.0 if patient else IDLE_SECONDS,
        "client_connection_check_interval": 1.0,
        "tcp_user_timeout": UNANSWERED_SECONDS,
    }
    options = {name: f"{1000 * seconds:.0f}" for name, seconds in milliseconds.items()}
    options |= {"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1"}
    options |= {"tcp_keepalives_count": "3", "search_path": schema, "TimeZone": "UTC"}
    options["synchronous_commit"] = "on" if durable else "off"
    return [f"-c {name}={value}" for name, value in options.items()]


class _Watchdog:
    """A thread that closes the socket of a connection whose time is over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: tuple[Connection, float] | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, connection: Connection, seconds: float) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True, name="handful-watch")
            self._thread.start()
        with self._lock:
            self._watched = connection, time.monotonic() + seconds

    def end(self) -> None:
        with self._lock:
            self._watched = None

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._stopped.wait(0.25):
            with self._lock:
                if self._watched is None or time.monotonic() < self._watched[1]:
                    continue
                connection, self._watched = self._watched[0], None
                with suppress(OSError, psycopg.Error):
                    found = socket.socket(fileno=connection.fileno())
                    try:
                        found.shutdown(socket.SHUT_RDWR)
                    finally:
                        found.detach()
