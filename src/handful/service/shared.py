"""A desk for a store that other servers use at the same time.

The requests are those of every desk; their transactions are in `shared_session.py`. Besides, a
server follows the changes of the others: bandits that the page shows, and keys of callers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from handful.service.auth import had_key
from handful.service.clock import Clock
from handful.service.desk import Desk, Session
from handful.service.ids import Ids
from handful.service.recent import Recent
from handful.service.shared_bandits import SharedBandits
from handful.service.shared_session import SharedSession
from handful.service.windows import Windows
from handful.storage.contract import Storage
from handful.storage.shared import SharedStorage, SharedTransaction

MEASURED_EVERY = 60.0
"""Seconds between two looks at the size of the store."""


class SharedDesk(Desk):
    """Requests to a store that other servers use, too."""

    storage: SharedStorage
    bandits: SharedBandits

    def __init__(self, storage: SharedStorage, clock: Clock | None = None) -> None:
        self.storage = storage
        self.bandits = SharedBandits()
        self.ids = Ids(storage.identity())
        self.recent = Recent(0)
        self.forget_at = 0
        self.changed = set()
        self.least_time = clock
        """None: time is that of the store's clock, which all servers share."""
        self.clock = clock or (lambda: time.time_ns() // 1_000_000)
        self.keys = None
        self._revision = -1
        self._seen: dict[int, int] = {}
        self._bytes = 0
        self._measured = float("-inf")
        self.watches = False
        with storage.begin() as tx:
            self.windows = _NoWindows(tx)

    def begin(self) -> SharedSession:
        """Begin a transaction. It must be ended by `done` or `undo`."""
        return SharedSession(self, self.storage.begin())

    def store_bytes(self) -> int:
        """Return how many bytes the store took when it was last looked at."""
        return self._bytes

    @property
    def is_remote(self) -> bool:
        """Whether statements wait for another machine, and not only commits for the disk."""
        return True

    def done(self, session: Session) -> None:
        """Note that a transaction is on disk."""
        super().done(session)
        self.bandits.trim()

    def follow(self, tx: SharedTransaction) -> None:
        """Take in what other servers have changed: keys of callers, and bandits for the page."""
        if time.monotonic() >= self._measured + MEASURED_EVERY:
            self._bytes, self._measured = tx.size(), time.monotonic()
        if self.keys is not None:
            revision = tx.revision()
            if revision != self._revision:
                self.keys.load(tx.caller_keys())
                self.keys.needed = self.keys.needed or had_key(tx)
                self._revision = revision
        if self.watches:
            now = tx.versions()
            if self._seen:
                self.changed |= {each for each in now if self._seen.get(each) != now[each]}
            self._seen = now


class _NoWindows(Windows):
    """The windows of a shared store: each bandit has its own, and there is no list."""

    def __contains__(self, window: float) -> bool:
        return True

    def __iter__(self) -> Iterator[float]:
        """Yield one entry, which stands for the windows of all bandits."""
        return iter((0.0,))


def desk_of(storage: Storage, clock: Clock | None = None) -> Desk:
    """Return a desk for a store of any kind."""
    if isinstance(storage, SharedStorage):
        return SharedDesk(storage, clock)
    return Desk(storage, clock)
