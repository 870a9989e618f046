"""Copying a store to one of another kind, and comparing the copy with the source.

Everything is copied: the rows of the log with their numbers, so that the ids of decisions stay
valid; answers, callers' own keys, labels, histories, answered requests, keys, and the identity.
Caches are made again: snapshots, and the times at which the next windows end.

In stores that several servers share, some numbers have no row. Where numbers must have no gaps, a
row of the kind SKIPPED takes their place. It has no content, and is left out when the store is
copied back.

The copy is then compared with the source row by row, and every bandit with the fold of the source's
rows, byte for byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from handful.errors import DamagedStoreError, StoreInUseError
from handful.service.auth import had_key, note_key
from handful.service.bandit import Bandit
from handful.service.doctor import Rebuilt
from handful.service.shared_bandits import loader
from handful.service.windows import Windows
from handful.storage.contract import Storage, Transaction
from handful.storage.rows import BanditRow, Kind, Row, Snapshot
from handful.storage.shared import SharedTransaction

PAGE = 1000
"""Rows that are copied at once."""

Progress = Callable[[int, int], None]


class Copied(NamedTuple):
    """What was copied, and found to be equal."""

    rows: int
    bandits: int
    digest: str
    """SHA-256 of everything that was compared: that of a further copy is the same."""


def copy(source: Storage, target: Storage, progress: Progress | None = None) -> Copied:
    """Copy a store into an empty one, and compare the two."""
    reading = source.moment()
    try:
        with target.begin() as tx:
            if tx.last() != (0, 0) or tx.number("bandits") or tx.caller_keys():
                raise StoreInUseError("the store to copy to is not empty: give a new one")
        target.set_identity(source.identity())
        with target.begin() as tx:
            _Copy(reading, tx).run(progress)
        with_target = target.moment()
        try:
            return _compared(reading, with_target)
        finally:
            with_target.rollback()
    finally:
        reading.rollback()


class _Copy:
    """One transaction of each store."""

    def __init__(self, source: Transaction, target: Transaction) -> None:
        self._source = source
        self._target = target
        self._shared = target if isinstance(target, SharedTransaction) else None
        self._rebuilt = Rebuilt(source)
        self._seq = self._at = 0

    def run(self, progress: Progress | None) -> None:
        source, target = self._source, self._target
        for number, body in source.subsets():
            target.put_subset(number, body)
        last = source.last()[0]
        rows = _meant(source)
        while page := list(islice(rows, PAGE)):
            self._page(page)
            if progress is not None:
                progress(page[-1].seq, last)
        for row in _bandits(source):
            target.put_bandit(row)
            target.put_labels(row.id, 0, source.labels_from(row.id, 0))
            for point in source.points(row.id):
                target.put_point(row.id, point, 1)
        target.set_number("bandits", source.number("bandits"))
        for scope, key, answer, at in source.answered_requests():
            target.put_answered(scope, key, answer, at)
        for caller in source.caller_keys():
            target.put_caller_key(caller)
        if had_key(source):
            note_key(target)
        self._caches()

    def _page(self, page: list[Row]) -> None:
        target = self._target
        keys = self._source.keys_of((page[0].seq, page[-1].seq))
        answers = {}
        for row in page:
            self._rebuilt.fold(row)
            if row.kind == Kind.DECIDED:
                answer = self._source.answer_to(row.seq)
                if answer is not None:
                    answers[row.seq] = answer
        target.append(page if self._shared is not None else self._without_gaps(page))
        target.set_answers(answers)
        for row in page:
            if row.seq in keys:
                target.set_key(row.bandit, keys[row.seq], row.seq)

    def _without_gaps(self, page: list[Row]) -> Iterator[Row]:
        for row in page:
            for seq in range(self._seq + 1, row.seq):
                yield Row(seq, self._at, 0, int(Kind.SKIPPED))
            self._seq, self._at = row.seq, row.at
            yield row

    def _caches(self) -> None:
        """Save every bandit, and see to it that windows end."""
        target, last = self._target, self._source.last()[0]
        versions = self._shared.versions() if self._shared is not None else {}
        windows = None if self._shared is not None else Windows(target)
        for number, bandit in self._rebuilt.bandits.items():
            body = bandit.to_bytes()
            target.put_snapshot(Snapshot(number, versions.get(number, last), body))
            window = bandit.config.window
            if window is None:
                continue
            if windows is not None:
                windows.watch(target, window, bandit.counted.closed)
            elif self._shared is not None:
                waiting = self._shared.decided(number, bandit.counted.closed, 1)
                if waiting:
                    self._shared.set_due(number, waiting[0][1] + int(window * 1000.0))
        if self._shared is None:
            target.set_number("checkpoint", last)


def _meant(tx: Transaction) -> Iterator[Row]:
    """Yield the rows that mean something."""
    return (row for row in tx.rows() if row.kind != Kind.SKIPPED)


def _bandits(tx: Transaction) -> Iterator[BanditRow]:
    """Yield all bandits, also those that were deleted."""
    for number in range(1, tx.number("bandits") + 1):
        row = tx.bandit(number)
        if row is None:
            raise DamagedStoreError(f"bandit {number} is not in the store: restore a backup")
        yield row


def _compared(source: Transaction, target: Transaction) -> Copied:
    """Compare all that two stores have; raise `DamagedStoreError` where they differ."""
    digest = hashlib.sha256()

    def same(what: str, one: Iterable[Any], other: Iterable[Any]) -> int:
        count = 0
        for a, b in zip_longest(one, other):
            if a != b:
                raise DamagedStoreError(f"the copy differs from the source in {what}: {a} and {b}")
            digest.update(repr((what, a)).encode("utf-8", "surrogatepass"))
            count += 1
        return count

    rows = same("the log", _with_answers(source), _with_answers(target))
    last = source.last()[0]
    same(
        "callers' own keys", _sorted(source.keys_of((1, last))), _sorted(target.keys_of((1, last)))
    )
    bandits = same("bandits", _bandits(source), _bandits(target))
    for row in _bandits(source):
        one, other = (tx.labels_from(row.id, 0) for tx in (source, target))
        same(f"labels of {row.name!r}", one, other)
        same(f"the history of {row.name!r}", source.points(row.id), target.points(row.id))
    same("sets of allowed arms", source.subsets(), target.subsets())
    same("answered requests", source.answered_requests(), target.answered_requests())
    same("keys", source.caller_keys(), target.caller_keys())
    same("whether there was a key", [had_key(source)], [had_key(target)])
    made, again = _replayed(source), _replayed(target)
    load = loader(target)
    for number, bandit in made.items():
        state = bandit.to_bytes()
        states = [state, again[number].to_bytes(), load(number).to_bytes()]
        same(f"the state of {bandit.config.name!r}", [state] * 3, states)
    return Copied(rows, bandits, digest.hexdigest())


def _with_answers(tx: Transaction) -> Iterator[tuple[Row, int | None]]:
    for row in _meant(tx):
        answer = tx.answer_to(row.seq) if row.kind == Kind.DECIDED else None
        yield row, answer


def _sorted(found: dict[int, str]) -> list[tuple[int, str]]:
    return sorted(found.items())


def _replayed(tx: Transaction) -> dict[int, Bandit]:
    made = Rebuilt(tx)
    for row in _meant(tx):
        made.fold(row)
    return made.bandits
