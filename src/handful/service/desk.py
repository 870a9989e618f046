"""The desk: handles requests, each within a transaction of the store.

A `Desk` belongs to one thread. It is handed requests in batches: `batch` begins a transaction, the
methods of the `Session` that it gives handle requests one after the other, and when the block ends,
everything is on disk. A request that is refused raises `Problem` before it changes anything, so
that the others of its batch are not affected. If the transaction fails, the bandits in memory are
discarded, and loaded again from the store.

The requests themselves are in two modules: `bandit_requests.py` (bandits and their arms) and
`decision_requests.py` (decisions and their rewards). `batch.py` has what both need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from handful.service.about import About
from handful.service.auth import Keys
from handful.service.bandit_requests import BanditRequests
from handful.service.bandits import Bandits
from handful.service.clock import Clock, going_on, steady_clock
from handful.service.decision_requests import DecisionRequests
from handful.service.ids import Ids
from handful.service.problems import Problem
from handful.service.recent import Recent
from handful.service.windows import Windows
from handful.storage.contract import Storage, Transaction
from handful.storage.rows import Answer, Kind

MOST_DUE = 1000
"""Rows whose windows are looked at in one transaction."""
ANSWERS_KEPT = 24 * 3600 * 1000
"""Milliseconds for which an `Idempotency-Key` is remembered."""
FORGET_EVERY = 60 * 1000
"""Milliseconds between two looks for those that need not be remembered any more."""


class Desk:
    """Requests to one store."""

    def __init__(self, storage: Storage, clock: Clock | None = None) -> None:
        self.storage = storage
        self.bandits = Bandits()
        self.ids = Ids(storage.identity())
        self.recent = Recent()
        self.forget_at = 0
        self.changed: set[int] = set()
        """Bandits that have changed since somebody looked: for the live page."""
        self.watches = False
        """Whether somebody looks."""
        self.keys: Keys | None = None
        """The keys of callers that the application knows."""
        with storage.begin() as tx:
            self.clock = going_on(clock or steady_clock(), tx.last()[1])
            self.bandits.start(tx)
            self.windows = Windows(tx)

    @contextmanager
    def batch(self) -> Iterator[Session]:
        """Begin a transaction; it is on disk when the block ends."""
        session = self.begin()
        try:
            yield session
            session.finish()
            session.tx.commit()
        except BaseException:
            self.undo(session)
            raise
        self.done(session)

    def begin(self) -> Session:
        """Begin a transaction. It must be ended by `done` or `undo`.

        All that is in memory is that of the last transaction: a store that several processes write
        to must be caught up with here.
        """
        return Session(self, self.storage.begin())

    def done(self, session: Session) -> None:
        """Note that a transaction is on disk."""
        self.changed |= session.touched

    def undo(self, session: Session) -> None:
        """Undo a transaction, and forget the bandits in memory, which are ahead of the store."""
        session.tx.rollback()
        self.recent.forget()
        self.bandits.forget()
        self.windows.restore(session.windows_before)

    def store_bytes(self) -> int:
        """Return how many bytes the store takes."""
        return self.storage.size()

    @property
    def is_remote(self) -> bool:
        """Whether statements wait for another machine, and not only commits for the disk."""
        return False

    def sweep(self) -> bool:
        """End the windows that have passed; return whether there may be more to do at once."""
        with self.batch() as session:
            return session.sweep()

    def close(self) -> None:
        """Save every bandit, so that the next start need not read the log."""
        try:
            with self.batch() as session:
                self.bandits.save_all(session.look_up)
        finally:
            self.storage.close()


class Session(BanditRequests, DecisionRequests):
    """The requests of one transaction."""

    def __init__(self, desk: Desk, tx: Transaction) -> None:
        super().__init__(tx, desk.bandits, desk.windows, desk.ids, desk.recent, desk.clock())
        self.reads = False
        """Whether the current request only reads."""
        self.desk = desk
        self.windows_before = desk.windows.saved()

    def prepare(self, requests: Sequence[tuple[About, bool, int]]) -> None:
        """Do nothing: one process has everything that requests need."""

    def sweep(self, windows: Iterable[float] | None = None) -> bool:
        """End what has passed of all windows, or of some; return whether there may be more."""
        more = False
        self.flush()
        for window in self.windows if windows is None else windows:
            after = self.windows.upto(window)
            before = self.now - int(window * 1000.0)
            upto = self.tx.written_by(before, after, MOST_DUE)
            if upto == after:
                continue
            more = more or upto == after + MOST_DUE
            due = self.look_up.due(after, upto)
            for number, decisions in due.items():
                owner = self.bandits.row(self.tx, number)
                if owner is None or owner.deleted:
                    continue
                try:
                    bandit = self.loaded(number)
                except Problem:
                    continue  # it is damaged; the windows of others end all the same
                closed = bandit.counted.closed
                if bandit.config.window == window and decisions[-1].decision > closed:
                    bandit.close(upto, decisions)
                    self.write(Kind.CLOSED, number, upto, after)
            self.windows.looked(self.tx, window, upto)
        return more

    def once(
        self,
        scope: str,
        key: str,
        digest: bytes,
        handle: Callable[[], tuple[int, bytes]],
        secret: bool = False,
    ) -> tuple[int, bytes, bool]:
        """Handle a request with an `Idempotency-Key`, or return what was answered before.

        A `secret` answer is not stored, and is not given again.
        """
        self._alone_with(scope, key)
        if self.now >= self.desk.forget_at:
            self.tx.forget_answered(self.now - ANSWERS_KEPT)
            self.desk.forget_at = self.now + FORGET_EVERY
        before = self.tx.answered(scope, key)
        if before is not None:
            if before.digest != digest:
                raise Problem(
                    422, "this Idempotency-Key was used for another request: take a new one"
                )
            if secret:
                raise Problem(
                    409,
                    "this request was answered before, with a secret that is shown once: remove "
                    "what was made, and make another with a new Idempotency-Key",
                )
            return before.status, before.body, True
        status, body = handle()
        stored = Answer(digest, status, b"" if secret else body)
        self.tx.put_answered(scope, key, stored, self.now)
        return status, body, False

    def _alone_with(self, scope: str, key: str) -> None:
        """Do nothing: one process handles one request after the other."""
