"""The log as a table: a row for each decision, with what became of it.

`handful.evaluation` reads such tables, and so does anything else that reads Parquet or JSON lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from handful.service.bandit import Change, Config
from handful.service.bandits import StoreLookUp
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
    """What stands in for the reward of a decision that expired."""


class _Settings(msgspec.Struct):
    """What the export knows of a bandit while it reads the log."""

    name: str
    default: float | None
    closed: int = 0


def decisions(storage: Storage, bandit: str | None = None) -> Iterator[Logged]:
    """Yield the decisions of a store in order: all, or those of one bandit."""
    ids = Ids(storage.identity())
    tx = storage.moment()
    try:
        closed = _closed(tx)
        settings: dict[int, _Settings] = {}
        labels: dict[int, dict[int, str]] = {}
        look_up = StoreLookUp(tx)
        last = tx.last()[0]
        for first in range(0, last, PART):
            upto = min(first + PART, last)
            keys = tx.keys_of((first + 1, upto))
            for row in tx.rows(first, upto):
                if row.kind == Kind.SKIPPED:
                    continue
                _note(settings, row)
                known = settings[row.bandit]
                if row.kind == Kind.ADDED:
                    labels.pop(row.bandit, None)
                if row.kind != Kind.DECIDED or (bandit is not None and known.name != bandit):
                    continue
                if row.bandit not in labels:
                    labels[row.bandit] = tx.labels(row.bandit)
                is_closed = row.seq <= closed.get(row.bandit, 0)
                allowed = None if row.subset is None else sorted(look_up.subset(row.subset))
                yield _logged(
                    tx, row, ids, known, labels[row.bandit], keys.get(row.seq), allowed, is_closed
                )
    finally:
        tx.rollback()


def _closed(tx: Transaction) -> dict[int, int]:
    """Return up to which decision the windows of each bandit have ended."""
    closed: dict[int, int] = {}
    for row in tx.rows():
        if row.kind == Kind.CLOSED and row.ref is not None:
            closed[row.bandit] = row.ref
    return closed


def _note(settings: dict[int, _Settings], row: Row) -> None:
    """Remember the settings of bandits as they were created and changed."""
    if row.kind == Kind.CREATED:
        config, _ = msgspec.json.decode(row.note or b"", type=tuple[Config, list[str]])
        settings[row.bandit] = _Settings(config.name, config.default)
    elif row.kind == Kind.CHANGED:
        change = msgspec.json.decode(row.note or b"", type=Change)
        settings[row.bandit].default = change.default


def _logged(
    tx: Transaction,
    row: Row,
    ids: Ids,
    known: _Settings,
    labels: dict[int, str],
    key: str | None,
    allowed: list[str] | None,
    is_closed: bool,
) -> Logged:
    seq = tx.answer_to(row.seq)
    answer = None if seq is None else tx.row(seq)
    assert row.ref is not None
    status = "expired" if is_closed else "open"
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
        known.default if status in ("expired", "dropped") else None,
    )


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000.0, UTC)


def as_json(logged: Logged) -> bytes:
    """Return a decision as a line of JSON."""
    fields: dict[str, Any] = logged._asdict()
    return msgspec.json.encode(fields) + b"\n"
