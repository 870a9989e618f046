"""A batch: one transaction of the store, with the rows and bandits of its requests.

Every bandit that a request uses comes from `Batch.loaded`, and every row that a request writes goes
through `Batch.write`. So these two, and `Desk.begin`, which makes the batch, keep a bandit in
memory consistent with its rows in the store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from handful.core.tuples import new_tuple
from handful.errors import DamagedStoreError, ExhaustedError, HandfulError, StoreError
from handful.service.bandit import Bandit
from handful.service.bandits import Bandits, StoreLookUp
from handful.service.ids import Ids
from handful.service.problems import Problem
from handful.service.recent import Recent
from handful.service.windows import Windows
from handful.storage.contract import Transaction
from handful.storage.rows import ANSWERS, BanditRow, Kind, Row

P = ParamSpec("P")
T = TypeVar("T")
assert len(Row._fields) == 9, "`Batch.write` makes a row of nine fields"


class Batch:
    """What the requests of one transaction share."""

    def __init__(
        self,
        tx: Transaction,
        bandits: Bandits,
        windows: Windows,
        ids: Ids,
        recent: Recent,
        time: int,
    ) -> None:
        self.tx = tx
        self.bandits = bandits
        self.windows = windows
        self.ids = ids
        self.recent = recent
        self.look_up = StoreLookUp(tx)
        self.touched: set[int] = set()
        """Bandits that have new rows."""
        self.seq, self.now = self._began(tx, time)
        self._first = self.seq
        self._rows: dict[int, Row] = {}
        self._answers: dict[int, int] = {}

    def _began(self, tx: Transaction, time: int) -> tuple[int, int]:
        """Return the number of the last row, and the time of the rows that are written."""
        seq, at = tx.last()
        return seq, max(at, time)

    def write(
        self,
        kind: Kind,
        bandit: int,
        ref: int | None = None,
        mark: int | None = None,
        value: float | None = None,
        subset: int | None = None,
        note: bytes | None = None,
    ) -> Row:
        """Write a row and return it. It reaches the store with others, by `flush`."""
        seq = self._next_number(kind, bandit)
        row = new_tuple(Row, (seq, self.now, bandit, int(kind), ref, mark, value, subset, note))
        self._rows[seq] = row
        self.touched.add(bandit)
        self.bandits.changed(bandit, seq)
        return row

    def _next_number(self, kind: Kind, bandit: int) -> int:
        """Return the number of a row that is written."""
        self.seq += 1
        return self.seq

    def write_answer(
        self,
        kind: Kind,
        bandit: int,
        decision: int,
        mark: int | None = None,
        value: float | None = None,
    ) -> None:
        """Write a row that answers a decision."""
        self._answers[decision] = self.write(kind, bandit, decision, mark, value).seq
        self.recent.answered(decision)

    def flush(self) -> None:
        """Hand everything to the store."""
        if self._rows:
            self.tx.append(self._rows.values())
            self._rows = {}
        if self._answers:
            self.tx.set_answers(self._answers)
            self._answers = {}

    def finish(self) -> None:
        """End the transaction: everything is handed to the store, and old snapshots are renewed.

        A transaction that only reads stays one, so that it works on a full disk.
        """
        self.flush()
        if self.touched:
            self.bandits.save_some(self.look_up, self.seq - self._first)

    @property
    def has_written(self) -> bool:
        """Whether there is anything to put on disk."""
        return self.tx.has_written

    def row(self, seq: int) -> Row | None:
        """Return a row of the log by its number."""
        return self._rows.get(seq) or self.tx.row(seq)

    def answer_to(self, decision: int) -> Row | None:
        """Return the row that answered a decision; None if none did."""
        seq = self._answers.get(decision) or self.tx.answer_to(decision)
        row = None if seq is None else self.row(seq)
        if row is not None and (row.ref != decision or row.kind not in ANSWERS):
            raise DamagedStoreError(
                f"row {row.seq} is stored as the answer to decision {decision}, but is not one: "
                "restore a backup"
            )
        return row

    def named(self, name: str) -> tuple[BanditRow, Bandit]:
        """Return the bandit that has a name now, as a row and live."""
        row = self.bandits.named(self.tx, name)
        if row is None:
            raise Problem(404, f"there is no bandit {name!r}: create it with POST /v1/bandits")
        return row, self.loaded(row.id)

    def loaded(self, number: int) -> Bandit:
        """Return the live bandit with a number."""
        if number not in self.bandits:
            self.flush()
        try:
            bandit = self.bandits.get(self.look_up, number)
        except DamagedStoreError as error:
            # Nothing has changed: the other requests of the transaction, and bandits, go on.
            raise Problem(503, f"this bandit cannot be loaded: {error}") from error
        window = bandit.config.window
        if window is not None and window not in self.windows:
            raise DamagedStoreError(
                f"the window of bandit {bandit.config.name!r} is missing: restore a backup"
            )
        return bandit

    def watch(self, number: int, window: float | None, after: int) -> None:
        """Schedule the end of the window for decisions of a bandit after a row."""
        if window is not None:
            self.windows.watch(self.tx, window, after)

    def leave(self, window: float | None) -> None:
        """Note that a bandit has a window no more."""
        if window is not None:
            self.windows.leave(self.tx, window)

    def label(self, bandit: int, arm: int) -> str:
        """Return the label of an arm, also of one that was removed."""
        return self.tx.labels(bandit, [arm])[arm]


def granted(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a request; turn what the library refuses into a `Problem`."""
    try:
        return work(*args, **kwargs)
    except StoreError:
        raise
    except ExhaustedError as error:
        raise Problem(409, str(error)) from None
    except HandfulError as error:
        raise Problem(422, str(error)) from None
