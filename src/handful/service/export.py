"""The log as a table: a row for each decision, with its outcome.

`handful.evaluation` and any other reader of Parquet or JSON lines can read such tables.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from handful.service.bandits import StoreLookUp
from handful.service.config import Change, Config
from handful.service.ids import Ids
from handful.storage.contract import Storage, Transaction
from handful.storage.rows import STATUSES, Kind, Row

PART = 20_000
"""Rows of the log that are looked at together."""

COLUMNS = (
    "bandit",
    "decision",
    "at",
    "arm",
    "probability",
    "allowed",
    "key",
    "reward",
    "rewarded_at",
    "status",
    "default",
)


class Logged(NamedTuple):
    """A decision and what became of it."""

    bandit: str
    decision: str
    at: datetime
    arm: str
    probability: float | None
    allowed: list[str] | None
    key: str | None
    reward: float | None
    rewarded_at: datetime | None
    status: str
    """open, rewarded, dropped or expired."""
    default: float | None
    """What stands in for the reward of a decision that expired or was dropped: the default at the
    end of its window."""


class _Bandit:
    """What the export knows of a bandit: its name, and which default its windows ended with."""

    def __init__(self, config: Config) -> None:
        self.name = config.name
        self._default = config.default
        """That of the last row that was read."""
        self._upto: list[int] = []
        self._defaults: list[float | None] = []
        """The default that was in force when the windows of decisions up to a row were ended."""

    def change(self, change: Change) -> None:
        self._default = change.default

    def close(self, after: int, upto: int) -> None:
        """Note that the windows of decisions with `after` < number <= `upto` have ended."""
        # None are settled where the default was just set: they counted without one.
        default = self._default if after < upto else None
        if self._defaults and self._defaults[-1] == default:
            self._upto[-1] = upto
        else:
            self._upto.append(upto)
            self._defaults.append(default)

    def is_closed(self, decision: int) -> bool:
        """Return whether the window of a decision has ended."""
        return bool(self._upto) and decision <= self._upto[-1]

    def default(self, decision: int) -> float | None:
        """Return what stood in for the reward of a decision, or will as things are."""
        place = bisect_left(self._upto, decision)
        return self._default if place == len(self._upto) else self._defaults[place]


def decisions(storage: Storage, bandit: str | None = None) -> Iterator[Logged]:
    """Yield the decisions of a store in order: all, or those of one bandit."""
    ids = Ids(storage.identity())
    tx = storage.moment()
    try:
        bandits = _bandits(tx)
        labels: dict[int, dict[int, str]] = {}
        look_up = StoreLookUp(tx)
        last = tx.last()[0]
        for first in range(0, last, PART):
            upto = min(first + PART, last)
            keys = tx.keys_of((first + 1, upto))
            for row in tx.rows(first, upto):
                if row.kind == Kind.ADDED:
                    labels.pop(row.bandit, None)
                if row.kind != Kind.DECIDED:
                    continue
                known = bandits[row.bandit]
                if bandit is not None and known.name != bandit:
                    continue
                if row.bandit not in labels:
                    labels[row.bandit] = tx.labels(row.bandit)
                allowed = None if row.subset is None else sorted(look_up.subset(row.subset))
                yield _logged(tx, row, ids, known, labels[row.bandit], keys.get(row.seq), allowed)
    finally:
        tx.rollback()


def _bandits(tx: Transaction) -> dict[int, _Bandit]:
    """Return all bandits as the whole log tells of them: windows end after their decisions."""
    found: dict[int, _Bandit] = {}
    for row in tx.rows():
        if row.kind == Kind.CREATED:
            config, _ = msgspec.json.decode(row.note or b"", type=tuple[Config, msgspec.Raw])
            found[row.bandit] = _Bandit(config)
        elif row.kind == Kind.CHANGED:
            found[row.bandit].change(msgspec.json.decode(row.note or b"", type=Change))
        elif row.kind == Kind.CLOSED and row.ref is not None and row.mark is not None:
            found[row.bandit].close(row.mark, row.ref)
    return found


def _logged(
    tx: Transaction,
    row: Row,
    ids: Ids,
    known: _Bandit,
    labels: dict[int, str],
    key: str | None,
    allowed: list[str] | None,
) -> Logged:
    seq = tx.answer_to(row.seq)
    answer = None if seq is None else tx.row(seq)
    assert row.ref is not None
    status = "expired" if known.is_closed(row.seq) else "open"
    if answer is not None:
        status = STATUSES[answer.kind]
    came = answer is not None and answer.kind == Kind.REWARDED
    return Logged(
        known.name,
        ids.name(row.seq),
        _time(row.at),
        labels[row.ref],
        row.value,
        allowed,
        key,
        answer.value if answer is not None and came else None,
        _time(answer.at) if answer is not None and came else None,
        status,
        known.default(row.seq) if status in ("expired", "dropped") else None,
    )


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000.0, UTC)


def as_json(logged: Logged) -> bytes:
    """Return a decision as a line of JSON."""
    fields: dict[str, Any] = logged._asdict()
    return msgspec.json.encode(fields) + b"\n"
