"""The live bandits of a store that other servers write to as well.

A bandit in memory has a *version*: the last of its rows that was folded. Before it is used, it
catches up: the rows that other servers have written since are folded. A bandit that is not in
memory is loaded from its snapshot and the rows of it that follow. It is saved again after a number
of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from handful.errors import DamagedStoreError, StateError
from handful.service import bandits as limits
from handful.service.bandit import Bandit
from handful.service.bandits import Bandits, StoreLookUp, labels_of
from handful.service.problems import Problem
from handful.storage.contract import Transaction
from handful.storage.rows import Due, Kind, Row, Snapshot
from handful.storage.shared import SharedTransaction

SAVED_AFTER = 500
"""Rows of a bandit after which it is saved again."""
MOST_BEHIND = 1000
"""Rows that are folded to catch up; if there may be more, the snapshot is nearer."""


class GoneProblem(Problem):
    """A bandit that another server has deleted."""

    def __init__(self) -> None:
        super().__init__(404, "this bandit was deleted a moment ago")


class SharedLookUp(StoreLookUp):
    """What folding needs, from a transaction of a shared store."""

    def __init__(self, tx: SharedTransaction) -> None:
        super().__init__(tx)
        self.shared = tx
        self.known: dict[int, Row] = {}
        """Rows of decisions, which never change."""

    def fetch(self, rows: Iterable[Row]) -> None:
        """Read the decisions that rows refer to, in one round trip."""
        rows = list(rows)
        self.known |= {row.seq: row for row in rows if row.kind == Kind.DECIDED}
        wanted = {row.ref for row in rows if row.kind in (Kind.REWARDED, Kind.DROPPED)}
        missing = [seq for seq in wanted if seq is not None and seq not in self.known]
        if missing:
            self.known |= self.shared.rows_at(missing)

    def row(self, seq: int) -> Row | None:
        """Return a row of the log by its number."""
        return self.known.get(seq) or self.tx.row(seq)

    def due_of(self, bandit: int, after: int, upto: int) -> list[Due]:
        """Return the decisions of a bandit with `after` < number <= `upto`."""
        return self.shared.due_of(bandit, after, upto)


class SharedBandits(Bandits):
    """The bandits in memory, each with its version."""

    def __init__(self) -> None:
        super().__init__()
        self._versions: dict[int, int] = {}
        self._since: dict[int, int] = {}
        """How many rows each bandit has after its snapshot."""

    def start(self, tx: Transaction) -> None:
        """Do nothing: bandits are loaded when they are asked for."""

    def forget(self) -> None:
        """Forget everything: what is in memory is not what is in the store."""
        super().forget()
        self._versions.clear()
        self._since.clear()
        self._damaged.clear()

    def forget_name(self, name: str) -> None:
        """Look at the store when this name is asked for again."""
        self._named.pop(name, None)

    def version(self, number: int) -> int:
        """Return the last row that a bandit in memory has taken in; 0 if it is not in memory."""
        return self._versions.get(number, 0) if number in self._live else 0

    def changed(self, number: int, seq: int) -> None:
        """Note that a bandit has a new row."""
        self._versions[number] = seq
        self._since[number] = self._since.get(number, 0) + 1

    def put(self, look_up: StoreLookUp, number: int, bandit: Bandit) -> None:
        """Take a bandit in. Those that are not needed go when the transaction ends: `trim`."""
        self._live[number] = bandit
        self._live.move_to_end(number)

    def discard(self, number: int) -> None:
        """Discard a bandit whose state is not the fold of its rows; it is loaded again."""
        self._live.pop(number, None)
        self._versions.pop(number, None)

    def gone(self, number: int) -> None:
        """Forget a bandit that was deleted."""
        self.discard(number)
        self._since.pop(number, None)

    def live(self, number: int) -> Bandit:
        """Return a bandit that is in memory."""
        self._live.move_to_end(number)
        return self._live[number]

    def catch_up(
        self, look_up: SharedLookUp, number: int, version: int, tail: list[Row] | None = None
    ) -> Bandit:
        """Return a bandit with all its rows up to one; `tail` are those after its version."""
        if number in self._damaged:
            raise DamagedStoreError(self._damaged[number])
        if self.version(number) == version:
            return self.live(number)
        try:
            if self.version(number) and not self._folded(look_up, number, version, tail):
                self.discard(number)
            if not self.version(number):
                self._load(look_up, number, version)
        except DamagedStoreError as error:
            self.discard(number)
            self._damaged[number] = str(error)
            raise
        return self.live(number)

    def _folded(
        self, look_up: SharedLookUp, number: int, version: int, tail: list[Row] | None
    ) -> bool:
        """Fold what others have written; return whether the bandit is caught up with."""
        have = self.version(number)
        if have > version:
            return False
        if tail is None:
            tail = look_up.shared.tails({number: have}, MOST_BEHIND)[number]
        # Without a hold, rows may have been committed after the version was read.
        tail = [row for row in tail if row.seq <= version]
        if not tail or tail[-1].seq != version:
            return False
        look_up.fetch(tail)
        self._fold(look_up, number, self._live[number], tail)
        return True

    def _fold(
        self, look_up: SharedLookUp, number: int, bandit: Bandit, tail: Iterable[Row]
    ) -> None:
        for row in tail:
            if row.kind == Kind.DELETED:
                self.gone(number)
                self._noted(look_up.tx.bandit(number))
                raise GoneProblem
            bandit.fold(row, look_up)
            self.changed(number, row.seq)

    def _load(self, look_up: SharedLookUp, number: int, version: int) -> None:
        tx = look_up.shared
        bandit, seq = None, 0
        snapshot = tx.snapshot(number)
        if snapshot is not None and snapshot.seq > version:
            # Nobody holds the bandit for a request that reads: another server has just saved it.
            version = tx.versions([number]).get(number, 0)
        if snapshot is not None and snapshot.seq <= version:
            try:
                bandit = Bandit.from_bytes(
                    snapshot.body, lambda numbers: labels_of(tx, number, numbers)
                )
                seq = snapshot.seq
            except StateError:
                bandit = None
        rows = tx.rows_of(number, seq, version)
        if bandit is None:
            first = next(rows, None)
            if first is None or first.kind != Kind.CREATED:
                raise DamagedStoreError(
                    f"bandit {number} does not begin in the log: restore a backup"
                )
            bandit, seq = Bandit.created(first), first.seq
        self._versions[number], self._since[number] = seq, 0
        page: list[Row] = []
        for row in rows:
            page.append(row)
            if len(page) == MOST_BEHIND:
                look_up.fetch(page)
                self._fold(look_up, number, bandit, page)
                page = []
        look_up.fetch(page)
        self._fold(look_up, number, bandit, page)
        if self._versions[number] != version:
            raise DamagedStoreError(
                f"the last row of bandit {number} is not {version}: restore a backup"
            )
        self.put(look_up, number, bandit)

    def save_held(self, tx: Transaction, numbers: Iterable[int]) -> None:
        """Save those of some bandits, which are held, that have many rows after their snapshots."""
        for number in numbers:
            if self._since.get(number, 0) >= SAVED_AFTER and number in self._live:
                self._put_snapshot(tx, number)

    def _put_snapshot(self, tx: Transaction, number: int) -> None:
        body = self._live[number].to_bytes()
        tx.put_snapshot(Snapshot(number, self._versions[number], body))
        self._since[number] = 0

    def save_all(self, look_up: StoreLookUp) -> None:
        """Save bandits that have rows after their snapshots, unless others are ahead."""
        tx = look_up.tx
        assert isinstance(tx, SharedTransaction)
        unsaved = [number for number, rows in self._since.items() if rows and number in self._live]
        for number, version in tx.hold([], unsaved, 0, None).versions.items():
            if number in unsaved and self.version(number) == version:
                self._put_snapshot(tx, number)

    def trim(self) -> None:
        """Forget the bandits that were not used for the longest time: the store has them."""
        while len(self._live) > limits.MOST_LIVE:
            number = next(iter(self._live))
            self.discard(number)
            self._since.pop(number, None)


def loader(tx: Transaction) -> Callable[[int], Bandit]:
    """Return what loads bandits of any store, by number, as a server does."""
    if not isinstance(tx, SharedTransaction):
        live, look_up = Bandits(), StoreLookUp(tx)
        return lambda number: live.get(look_up, number)
    shared, versions, shared_look_up = SharedBandits(), tx.versions(), SharedLookUp(tx)

    def load(number: int) -> Bandit:
        shared.trim()
        shared_look_up.known.clear()
        return shared.catch_up(shared_look_up, number, versions.get(number, 0))

    return load
