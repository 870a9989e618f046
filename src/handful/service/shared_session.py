"""The requests of one transaction, while other servers run theirs.

The requests are those of every desk. What differs is how a bandit in memory is kept consistent with
its rows (`batch.py`): before a request changes a bandit, the server **holds** it in the store and
folds its missing rows; the commit releases it. Requests of one server run one after the other;
those of different servers wait for each other only if they are about the same bandit.

Only the first bandits of a transaction are waited for. If another server holds one of the rest, the
requests about it raise `BusyError`, before they have changed anything, and the writer moves them to
its next transaction, which begins with them. So no two servers wait for each other.

Windows are ended bandit by bandit, by the first server that checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from handful.errors import DamagedStoreError
from handful.service.about import About
from handful.service.bandit import Bandit
from handful.service.bodies import BanditList, BanditShown, NewBandit, Outcomes, Rewards
from handful.service.desk import MOST_DUE, Session
from handful.service.problems import Problem
from handful.service.shared_bandits import MOST_BEHIND, GoneProblem, SharedBandits, SharedLookUp
from handful.storage.contract import Transaction
from handful.storage.rows import BanditRow, Kind, Row
from handful.storage.shared import BusyError, SharedTransaction

if TYPE_CHECKING:
    from handful.service.shared import SharedDesk

DRAWN = 8
"""Numbers that are drawn at once where the number of rows is not known beforehand."""
MOST_SWEPT = 64
"""Bandits whose windows are ended in one transaction."""
PATIENCE = 3
"""After being put off so often, a request waits for all the bandits that it needs."""


class SharedSession(Session):
    """The requests of one transaction, while other servers run theirs."""

    tx: SharedTransaction
    look_up: SharedLookUp
    bandits: SharedBandits
    desk: SharedDesk

    def __init__(self, desk: SharedDesk, tx: SharedTransaction) -> None:
        super().__init__(desk, tx)
        self.look_up = SharedLookUp(tx)
        self._time = desk.least_time
        self._upto = 0
        """The last number that was drawn."""
        self._current: set[int] = set()
        """Bandits in memory that have all their rows."""
        self._held: set[int] = set()
        self._tails: dict[int, list[Row]] = {}
        self._decided: dict[int, float | None] = {}
        """The windows of bandits that have made decisions."""

    def _began(self, tx: Transaction, time: int) -> tuple[int, int]:
        return 0, time

    # What requests need, in few round trips.

    def prepare(self, requests: Sequence[tuple[About, bool, int]]) -> None:
        """Hold the bandits that requests are about, and read what they will ask for.

        A request is given by what it is about, whether it only reads, and how often it was put off.
        """
        wanted = [self.ids.number(id) for about, _, _ in requests for id in about.decisions]
        numbers = [number for number in wanted if number is not None]
        if numbers:
            self.look_up.known |= self.tx.rows_at(numbers)
        first: list[int] = []
        others: list[int] = []
        rows = 0
        for about, reads, put_off in requests:
            if reads:
                continue
            rows += about.rows
            found = sorted(self._about(about))
            if not first or put_off >= PATIENCE:
                first += [each for each in found if each not in first]
            else:
                others += found
        others = [each for each in dict.fromkeys(others) if each not in first]
        if rows:
            self._hold(sorted(first), others, rows, numbers)
        self._catch_up()

    def _about(self, about: About) -> set[int]:
        found = {self.bandits.named(self.tx, name) for name in about.names}
        owners = {row.id for row in found if row is not None}
        for id in about.decisions:
            row = self.look_up.known.get(self.ids.number(id) or 0)
            if row is not None:
                owners.add(row.bandit)
        return owners

    def _hold(
        self, first: Sequence[int], others: Sequence[int], rows: int, decisions: Sequence[int] = ()
    ) -> None:
        held = self.tx.hold(first, others, rows, self._least(), decisions)
        new = held.versions.keys() - self._held
        self._held |= new
        self._current -= new
        if rows:
            self.seq, self._upto, self.now = held.seq, held.seq + rows, held.at
        elif any(held.versions[each] > self.seq for each in new):
            self._upto = self.seq  # numbers must be higher than those of the rows that are there

    def _least(self) -> int | None:
        return None if self._time is None else self._time()

    def _draw(self, rows: int) -> None:
        self.seq, self.now = self.tx.draw(rows, self._least())
        self._upto = self.seq + rows

    def _catch_up(self) -> None:
        """Read the rows that other servers have written, for all bandits at once."""
        versions = self.tx.versions(self._held)
        behind = {
            number: have
            for number, version in versions.items()
            if 0 < (have := self.bandits.version(number)) < version
        }
        if behind:
            self._tails = self.tx.tails(behind, MOST_BEHIND)
            self.look_up.fetch(row for tail in self._tails.values() for row in tail)

    # What batches do, with bandits that are held.

    def _next_number(self, kind: Kind, bandit: int) -> int:
        if self.seq >= self._upto:
            self._draw(DRAWN)
        if kind == Kind.DECIDED and bandit not in self._decided:
            # A later request may be refused halfway, and the bandit discarded.
            self._decided[bandit] = self.bandits.live(bandit).config.window
        return super()._next_number(kind, bandit)

    def row(self, seq: int) -> Row | None:
        """Return a row of the log by its number."""
        return self._rows.get(seq) or self.look_up.row(seq)

    def finish(self) -> None:
        """End the transaction: everything is handed to the store."""
        self.flush()
        for number, window in self._decided.items():
            if window is not None:
                self.tx.set_due(number, self.now + int(window * 1000.0), unless_set=True)
        self.bandits.save_held(self.tx, self.touched)

    def named(self, name: str) -> tuple[BanditRow, Bandit]:
        """Return the bandit that has a name now, as a row and live."""
        with suppress(GoneProblem):
            return super().named(name)
        return super().named(name)

    def loaded(self, number: int) -> Bandit:
        """Return the live bandit with a number, held unless the request only reads."""
        if not self.reads:
            if number not in self._held:
                self._hold([number], [], 0)
                if number not in self._held:
                    if self.tx.versions([number]):
                        raise BusyError
                    raise Problem(503, f"bandit {number} has no rows: restore a backup")
            # A reward counts by its time, so that is drawn before.
            if self.seq >= self._upto:
                self._draw(DRAWN)
        if number in self._current and number in self.bandits:
            return self.bandits.live(number)
        if number in self.touched:
            self.flush()
        version = self.tx.versions([number]).get(number, 0)
        try:
            tail = self._tails.pop(number, None)
            bandit = self.bandits.catch_up(self.look_up, number, version, tail)
        except DamagedStoreError as error:
            raise Problem(503, f"this bandit cannot be loaded: {error}") from error
        self._current.add(number)
        return bandit

    def watch(self, number: int, window: float | None, after: int) -> None:
        """Schedule the end of the window for decisions after a row."""
        self.flush()
        first = [] if window is None else self.tx.decided(number, after, 1)
        at = first[0][1] + int((window or 0.0) * 1000.0) if first else None
        self._set_due(number, at)

    def _set_due(self, number: int, at: int | None) -> None:
        """Note when the next window of a bandit ends, whatever it has decided before."""
        self._decided.pop(number, None)
        self.tx.set_due(number, at)

    # Requests.

    def create(self, given: NewBandit) -> BanditShown:
        """Create a bandit."""
        if not self.tx.lock("bandits"):
            raise BusyError
        self.bandits.forget_name(given.name)
        shown = super().create(given)
        made = self.bandits.named(self.tx, given.name)
        assert made is not None
        self._held.add(made.id)
        self._current.add(made.id)
        return shown

    def delete(self, name: str) -> None:
        """Delete a bandit; its rows stay in the log."""
        row, _ = self.named(name)
        super().delete(name)
        self.flush()
        self._set_due(row.id, None)

    def listed(self, after: str, limit: int) -> BanditList:
        """Return bandits by name."""
        with suppress(GoneProblem):
            return super().listed(after, limit)
        return super().listed(after, limit)

    def _last_row(self, number: int) -> int:
        return self.bandits.version(number)

    def _owner(self, decision: Row, only: str | None) -> BanditRow:
        """Return the bandit of a decision, which another server may have deleted."""
        owner = super()._owner(decision, only)
        if not owner.deleted:
            with suppress(Problem):
                self.loaded(owner.id)
            owner = super()._owner(decision, only)
        return owner

    def rewards(self, given: Rewards, only: str | None = None) -> Outcomes:
        """Take in rewards of several decisions, whose bandits are all held before the first."""
        for each in given.rewards:
            with suppress(Problem):
                if each.id is not None:
                    self.loaded(self._decision(each.id).bandit)
                elif each.bandit is not None and each.key is not None:
                    self.named(each.bandit)
        return super().rewards(given, only)

    def _alone_with(self, scope: str, key: str) -> None:
        """Let no other server handle a request with this `Idempotency-Key` meanwhile."""
        if not self.tx.lock(f"{scope} {key}"):
            raise BusyError

    # Windows.

    def sweep(self, windows: Iterable[float] | None = None) -> bool:
        """End windows that have passed; return whether there may be more to do at once."""
        self.desk.follow(self.tx)
        self.flush()
        held = self.tx.hold_due(self._least(), MOST_SWEPT)
        if not held:
            return False
        self._held |= held.keys()
        self._current -= held.keys()
        self._draw(len(held))
        self._catch_up()
        left = [number for number in held if self._sweep_one(number)]
        return bool(left) or len(held) == MOST_SWEPT

    def _sweep_one(self, number: int) -> bool:
        try:
            bandit = self.loaded(number)
        except GoneProblem:
            self.tx.set_due(number, None)
            return False
        except Problem:
            return False  # it is damaged; the windows of others end all the same
        window = bandit.config.window
        if window is None:
            self.tx.set_due(number, None)
            return False
        wait = int(window * 1000.0)
        closed = bandit.counted.closed
        found = self.tx.decided(number, closed, MOST_DUE + 1)
        due = [seq for seq, at in found[:MOST_DUE] if at <= self.now - wait]
        if due:
            bandit.close(due[-1], self.tx.due_of(number, closed, due[-1]))
            self.write(Kind.CLOSED, number, due[-1], closed)
            self.flush()
        left = found[len(due) :]
        self.tx.set_due(number, left[0][1] + wait if left else None)
        return bool(left) and left[0][1] + wait <= self.now
