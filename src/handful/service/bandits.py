"""The live bandits: loaded from the store on demand, saved to it from time to time.

A bandit is loaded from its snapshot and the rows that follow it. To keep these few, the bandit with
the oldest snapshot is saved again when many rows have been written since. The number `checkpoint`
is a row up to which every snapshot is complete: no row up to there is missing from the snapshot of
its bandit. After a crash only the rows after it are read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice

import msgspec

from handful.errors import DamagedStoreError, StateError
from handful.service.bandit import Bandit
from handful.storage.contract import Transaction
from handful.storage.rows import BanditRow, Due, Kind, Row, Snapshot

MOST_LIVE = 4096
"""Bandits in memory."""
MOST_ROWS = 20_000
"""Rows after which a bandit is saved again."""
MOST_ROWS_KNOWN = 4 * MOST_LIVE
"""Bandits whose names are known without a look at the store."""
MANY = 400
"""If more bandits than this have changed, they are saved after more rows, in proportion: a snapshot
takes as long as two decisions, and so there is one for fifty rows at most."""
ROWS_PER_SAVE = 32
"""In one transaction, one bandit is saved and another for each so many rows: no request waits for
many, and no bandit is left behind."""


class StoreLookUp:
    """What folding needs, from a transaction."""

    def __init__(self, tx: Transaction) -> None:
        self.tx = tx
        self._subsets: dict[int, frozenset[str]] = {}
        self._last_due: tuple[tuple[int, int], dict[int, list[Due]]] | None = None

    def subset(self, number: int) -> frozenset[str]:
        """Return a set of allowed arms, as labels."""
        if number not in self._subsets:
            body = self.tx.subset(number)
            self._subsets[number] = frozenset(msgspec.json.decode(body, type=list[str]))
        return self._subsets[number]

    def row(self, seq: int) -> Row | None:
        """Return a row of the log by its number."""
        return self.tx.row(seq)

    def decision(self, row: Row) -> Row:
        """Return the row of the decision that a row refers to."""
        found = None if row.ref is None else self.row(row.ref)
        if found is None or found.kind != Kind.DECIDED or found.bandit != row.bandit:
            raise DamagedStoreError(f"row {row.seq} of the log refers to no decision")
        return found

    def due(self, after: int, upto: int) -> dict[int, list[Due]]:
        """Return the decisions with `after` < number <= `upto` for each bandit.

        The windows of many bandits end together, so the last answer is remembered.
        """
        if self._last_due is None or self._last_due[0] != (after, upto):
            self._last_due = (after, upto), self.tx.due(after, upto)
        return self._last_due[1]

    def due_of(self, bandit: int, after: int, upto: int) -> list[Due]:
        """Return the decisions of a bandit with `after` < number <= `upto`."""
        return self.due(after, upto).get(bandit, [])


class Bandits:
    """The bandits in memory."""

    def __init__(self) -> None:
        self._live: OrderedDict[int, Bandit] = OrderedDict()
        self._unsaved: OrderedDict[int, int] = OrderedDict()
        """Bandits that have rows after their snapshot, and the first of these, in its order."""
        self._rows: dict[int, BanditRow] = {}
        self._named: dict[str, BanditRow] = {}
        self._tails: dict[int, list[Row]] | None = None
        """The rows after the checkpoint of bandits that are not in memory; None: not read yet."""
        self._damaged: dict[int, str] = {}
        """Why bandits cannot be loaded, so that they are not tried again in vain."""

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, number: int) -> bool:
        return number in self._live

    def named(self, tx: Transaction, name: str) -> BanditRow | None:
        """Return the bandit that has a name now."""
        return self._named.get(name) or self._noted(tx.bandit_named(name))

    def row(self, tx: Transaction, number: int) -> BanditRow | None:
        """Return a bandit by its number, also if it was deleted."""
        return self._rows.get(number) or self._noted(tx.bandit(number))

    def put_row(self, tx: Transaction, row: BanditRow) -> None:
        """Add a bandit to the store, or change it."""
        tx.put_bandit(row)
        self._noted(row)

    def _noted(self, row: BanditRow | None) -> BanditRow | None:
        """Return what was found in the store, which need not be looked for again."""
        if row is None:
            return None
        if len(self._rows) >= MOST_ROWS_KNOWN:
            self._rows.clear()
            self._named.clear()
        self._rows[row.id] = row
        if not row.deleted:
            self._named[row.name] = row
        elif self._named.get(row.name, row).id == row.id:
            self._named.pop(row.name, None)
        return row

    def forget(self) -> None:
        """Forget everything: what is in memory is not what is in the store."""
        self._rows.clear()
        self._named.clear()
        self._live.clear()
        self._unsaved.clear()
        self._tails = None

    def get(self, look_up: StoreLookUp, number: int) -> Bandit:
        """Return a bandit, loaded if it is not in memory."""
        found = self._live.get(number)
        if found is not None:
            self._live.move_to_end(number)
            return found
        if number in self._damaged:
            raise DamagedStoreError(self._damaged[number])
        tails = self._known_tails(look_up.tx)
        try:
            bandit = load(look_up, number, tails.get(number, []))
        except DamagedStoreError as error:
            self._damaged[number] = str(error)
            raise
        tails.pop(number, None)
        self.put(look_up, number, bandit)
        return bandit

    def put(self, look_up: StoreLookUp, number: int, bandit: Bandit) -> None:
        """Take a bandit in; the one that was not used for the longest time may have to go."""
        self._live[number] = bandit
        if len(self._live) > MOST_LIVE:
            old = next(iter(self._live))
            if old in self._unsaved:
                self._known_tails(look_up.tx)
                self._save(look_up, old)
                self._set_checkpoint(look_up.tx)
            del self._live[old]

    def changed(self, number: int, seq: int) -> None:
        """Note that a bandit has a row that its snapshot does not have."""
        self._unsaved.setdefault(number, seq)

    def discard(self, number: int) -> None:
        """Discard a bandit whose state is not the fold of its rows; it is loaded again."""
        self._live.pop(number, None)
        self._tails = None

    def gone(self, number: int) -> None:
        """Forget a bandit that was deleted."""
        self._live.pop(number, None)
        self._unsaved.pop(number, None)

    def save_some(self, look_up: StoreLookUp, rows: int) -> None:
        """Save bandits whose snapshots are old, in a transaction that has written so many rows."""
        if not self._unsaved:
            return
        last = look_up.tx.last()[0]
        most = MOST_ROWS * max(1.0, len(self._unsaved) / MANY)
        at_once = 1 + rows // ROWS_PER_SAVE
        saved = 0
        for number, first in list(islice(self._unsaved.items(), at_once + len(self._damaged))):
            if last - first < most or saved == at_once:
                break
            self._known_tails(look_up.tx)
            saved += self._save(look_up, number)
        if saved:
            self._set_checkpoint(look_up.tx)

    def save_all(self, look_up: StoreLookUp) -> None:
        """Save every bandit that has changed."""
        self._known_tails(look_up.tx)
        for number in list(self._unsaved):
            self._save(look_up, number)
        self._set_checkpoint(look_up.tx)

    def _save(self, look_up: StoreLookUp, number: int) -> bool:
        """Save a bandit, unless it cannot be loaded; return whether it was saved."""
        try:
            bandit = self.get(look_up, number)
        except DamagedStoreError:
            return False
        look_up.tx.put_snapshot(Snapshot(number, look_up.tx.last()[0], bandit.to_bytes()))
        self._unsaved.pop(number, None)
        return True

    def _set_checkpoint(self, tx: Transaction) -> None:
        first = next(iter(self._unsaved.values()), tx.last()[0] + 1)
        tx.set_number("checkpoint", first - 1)

    def _known_tails(self, tx: Transaction) -> dict[int, list[Row]]:
        """Return the rows after the checkpoint of bandits that are not in memory.

        No checkpoint is set before they are known: it would leave them behind.
        """
        if self._tails is None:
            tails = self._read_tails(tx)
            self._tails = {number: tails[number] for number in tails if number not in self._live}
        return self._tails

    def start(self, tx: Transaction) -> None:
        """Read the rows after the checkpoint: a start is refused if they are damaged."""
        self._known_tails(tx)

    def _read_tails(self, tx: Transaction) -> dict[int, list[Row]]:
        tails: dict[int, list[Row]] = {}
        checkpoint, last = tx.number("checkpoint"), tx.last()[0]
        if checkpoint > last:
            raise DamagedStoreError(
                f"snapshots are complete up to row {checkpoint}, and the log ends with row {last}: "
                "restore a backup"
            )
        for row in tx.rows(after=checkpoint):
            if row.kind == Kind.SKIPPED:
                continue
            if row.kind == Kind.DELETED:
                tails.pop(row.bandit, None)
                self._unsaved.pop(row.bandit, None)
                continue
            tails.setdefault(row.bandit, []).append(row)
            self._unsaved.setdefault(row.bandit, row.seq)
        # Some may have changed before, and after the rows that were just read.
        self._unsaved = OrderedDict(sorted(self._unsaved.items(), key=lambda each: each[1]))
        return tails


def load(look_up: StoreLookUp, number: int, tail: Iterable[Row]) -> Bandit:
    """Return a bandit by its snapshot and the rows after it; by all its rows if need be."""
    tx = look_up.tx
    snapshot = tx.snapshot(number)
    if snapshot is None:
        return _replayed(look_up, number)
    if snapshot.seq > tx.last()[0]:
        raise DamagedStoreError(
            f"the snapshot of bandit {number} is of a time after the end of the log: restore a "
            "backup"
        )
    try:
        bandit = Bandit.from_bytes(snapshot.body, lambda numbers: labels_of(tx, number, numbers))
    except StateError:
        return _replayed(look_up, number)
    for row in tail:
        if row.seq > snapshot.seq:
            bandit.fold(row, look_up)
    return bandit


def _replayed(look_up: StoreLookUp, number: int) -> Bandit:
    """Return a bandit by all its rows."""
    tx = look_up.tx
    found = tx.bandit(number)
    if found is None:
        raise DamagedStoreError(f"bandit {number} is not in the store: restore a backup")
    rows = (row for row in tx.rows(after=found.created - 1) if row.bandit == number)
    first = next(rows, None)
    if first is None or first.seq != found.created or first.kind != Kind.CREATED:
        raise DamagedStoreError(f"bandit {number} does not begin in the log: restore a backup")
    bandit = Bandit.created(first)
    for row in rows:
        bandit.fold(row, look_up)
    return bandit


def labels_of(tx: Transaction, bandit: int, numbers: Iterable[int]) -> dict[int, str]:
    """Return the labels of arms by number; refuse a store that lacks one."""
    found = tx.labels(bandit)
    missing = next((number for number in numbers if number not in found), None)
    if missing is not None:
        raise DamagedStoreError(f"the label of arm {missing} of bandit {bandit} is missing")
    return found
