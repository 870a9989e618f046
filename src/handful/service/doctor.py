"""Examining a store: whether the log is complete, and everything else is derived from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from handful.errors import DamagedStoreError, HandfulError
from handful.service.bandit import Bandit
from handful.service.bandits import StoreLookUp
from handful.service.shared_bandits import SharedLookUp, loader
from handful.storage.contract import Storage, Transaction
from handful.storage.rows import ANSWERS, Due, Kind, Row
from handful.storage.shared import SharedTransaction

MOST_PROBLEMS = 20
REPORT_EVERY = 50_000
"""Rows between two reports of progress."""
BLOCK = 1000
"""Rows whose decisions are read together."""
MOST_BLOCKS = 1000

Progress = Callable[[int, int], None]


class Report(NamedTuple):
    """What was found in a store."""

    rows: int
    bandits: int
    decisions: int
    rewards: int
    bytes: int
    problems: list[str]


class _BlockLookUp(StoreLookUp):
    """What folding needs, from a store of one process at a moment at which nothing changes.

    In the copy of a shared store, windows ended bandit by bandit. Their decisions lie among those
    of all others, which are read once, and not again for each bandit.
    """

    def __init__(self, tx: Transaction) -> None:
        super().__init__(tx)
        self._last = tx.last()[0]
        self._block = lru_cache(MOST_BLOCKS)(self._read)

    def _read(self, block: int) -> dict[int, list[Due]]:
        return self.tx.due(block * BLOCK, min((block + 1) * BLOCK, self._last))

    def due_of(self, bandit: int, after: int, upto: int) -> list[Due]:
        """Return the decisions of a bandit with `after` < number <= `upto`."""
        blocks = range(after // BLOCK, -(-min(upto, self._last) // BLOCK))
        found = (due for block in blocks for due in self._block(block).get(bandit, ()))
        return [due for due in found if after < due.decision <= upto]


class Rebuilt:
    """Bandits that are made from the log alone, row by row."""

    def __init__(self, tx: Transaction) -> None:
        self._look_up: StoreLookUp
        if isinstance(tx, SharedTransaction):
            self._look_up = SharedLookUp(tx)
        else:
            self._look_up = _BlockLookUp(tx)
        self.bandits: dict[int, Bandit] = {}
        self.names: dict[int, str] = {}
        self.decisions = self.rewards = self.answers = 0

    def fold(self, row: Row) -> None:
        """Apply a row of the log."""
        if row.kind == Kind.SKIPPED:
            return
        if row.kind == Kind.CREATED:
            made = Bandit.created(row)
            self.bandits[row.bandit] = made
            self.names[row.bandit] = made.config.name
            return
        bandit = self.bandits.get(row.bandit)
        if bandit is None:
            raise DamagedStoreError(f"row {row.seq} is of bandit {row.bandit}, which is not there")
        if row.kind == Kind.DELETED:
            del self.bandits[row.bandit]
            return
        bandit.fold(row, self._look_up)
        self.decisions += row.kind == Kind.DECIDED
        self.rewards += row.kind == Kind.REWARDED
        self.answers += row.kind in ANSWERS


def replay(tx: Transaction) -> dict[int, Bandit]:
    """Return the bandits as they follow from all rows of the log."""
    made = Rebuilt(tx)
    for row in tx.rows():
        made.fold(row)
    return made.bandits


def examine(storage: Storage, progress: Progress | None = None) -> Report:
    """Examine a whole store; change nothing."""
    problems = list(storage.verify())
    size = storage.size()
    tx = storage.moment()
    try:
        made = Rebuilt(tx)
        seen = rows = 0
        try:
            last, at = tx.last()[0], 0
            for row in tx.rows():
                if row.at < at:
                    problems.append(f"row {row.seq} is older than the row before it")
                at = row.at
                made.fold(row)
                _check_row(tx, row, problems)
                seen = row.seq
                rows += row.kind != Kind.SKIPPED
                if progress is not None and seen % REPORT_EVERY == 0:
                    progress(seen, last)
                if len(problems) >= MOST_PROBLEMS:
                    problems.append("there may be more; the examination was broken off")
                    break
            else:
                _compare(tx, made, problems)
        except HandfulError as error:
            problems.append(f"after row {seen}: {error}")
        return Report(rows, len(made.bandits), made.decisions, made.rewards, size, problems)
    finally:
        tx.rollback()


def _check_row(tx: Transaction, row: Row, problems: list[str]) -> None:
    """Look whether a row can be found by the tables that are derived from it."""
    if row.kind in ANSWERS:
        assert row.ref is not None
        if tx.answer_to(row.ref) != row.seq:
            problems.append(f"decision {row.ref} was answered by row {row.seq}, which is not noted")
    elif row.kind == Kind.DECIDED and tx.answer_to(row.seq) is not None:
        answer = tx.row(tx.answer_to(row.seq) or 0)
        if answer is None or answer.kind not in ANSWERS or answer.ref != row.seq:
            problems.append(f"the stored answer to decision {row.seq} is not one")


def _compare(tx: Transaction, made: Rebuilt, problems: list[str]) -> None:
    """Compare the fold of the log with the tables and snapshots."""
    listed = {row.id: row.name for row in tx.bandits()}
    there = {number: made.names[number] for number in made.bandits}
    if listed != there:
        problems.append(f"the log has the bandits {_few(there)}, and the table {_few(listed)}")
    load = loader(tx)
    for number in sorted(made.bandits.keys() & listed.keys()):
        bandit = made.bandits[number]
        name = bandit.config.name
        labels = tx.labels(number)
        if len(labels) != bandit.added or any(
            labels.get(arm) != label for label, arm in bandit.numbers.items()
        ):
            problems.append(f"the labels of {name!r} are not those in the log")
            continue
        try:
            found = load(number).to_bytes()
        except HandfulError as error:
            problems.append(f"{name!r} cannot be loaded: {error}")
            continue
        if found != bandit.to_bytes():
            problems.append(f"the state of {name!r} differs from the fold of the log")


def _few(names: dict[int, str]) -> str:
    shown = sorted(names.values())[:5]
    return msgspec.json.encode(shown).decode() + (" and more" if len(names) > 5 else "")
