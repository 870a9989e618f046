"""The rows of a store: those of the log, and those derived from it.

A row of the log says what happened to one bandit:

    kind      ref                   mark                value        subset    note
    CREATED                                                                    settings, labels
    CHANGED                                                                    settings that changed
    ADDED     the first new arm                                                labels
    REMOVED                                                                    labels
    DELETED
    DECIDED   the arm's number      the ticket          probability  allowed
    REWARDED  the decision          what became of it   the reward
    LATE      the decision                              the reward
    DROPPED   the decision          what became of it
    CLOSED    the last decision     the one before the
              whose window ended    first
    SKIPPED

SKIPPED stands for a number without a row. Stores that several servers share have such numbers.
Where rows are numbered without gaps, a copy has such a row in their place, of no bandit (0).

Arms are numbered from 0 in the order in which they were added, and a number is never used again. A
decision is identified by the `seq` of its row. `note` is JSON. A row has a checksum, and rows are
numbered without gaps, so that a damaged or missing one is noticed.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple
from zlib import crc32

from handful.errors import DamagedStoreError


class Kind(IntEnum):
    """What a row of the log says."""

    CREATED = 1
    CHANGED = 2
    ADDED = 3
    REMOVED = 4
    DELETED = 5
    DECIDED = 6
    REWARDED = 7
    LATE = 8
    DROPPED = 9
    CLOSED = 10
    SKIPPED = 11


STATUSES: dict[int, str] = {
    Kind.REWARDED: "rewarded",
    Kind.DROPPED: "dropped",
    Kind.LATE: "expired",
}
"""What callers are shown as the status of a decision with such an answer."""
ANSWERS = tuple(STATUSES)
"""What ends the wait for a reward. A late one came after the wait, and counts for nothing."""


class Row(NamedTuple):
    """A row of the log."""

    seq: int
    at: int
    """Milliseconds since 1970, never less than in the row before."""
    bandit: int
    kind: int
    ref: int | None = None
    mark: int | None = None
    value: float | None = None
    subset: int | None = None
    note: bytes | None = None

    def check(self) -> int:
        """Return the checksum that is stored with the row.

        A store need not tell 1 from 1.0, nor 0.0 from -0.0.
        """
        seq, at, bandit, kind, ref, mark, value, subset, note = self
        if value is not None:
            value += 0.0
        form = b"%d,%d,%d,%d,%r,%r,%r,%r"
        check = crc32(form % (seq, at, bandit, kind, ref, mark, value, subset))
        return check if note is None else crc32(note, check ^ 1)


def checked(row: Row, check: int) -> Row:
    """Return the row, or raise an error if it is not what was written."""
    try:
        sound = row.check() == check
    except TypeError:
        sound = False
    if not sound:
        raise DamagedStoreError(
            f"row {row.seq} of the log is damaged: its checksum does not match. Restore a backup, "
            "and see what is left with: handful doctor --store FILE"
        )
    return row


class BanditRow(NamedTuple):
    """A bandit, as the table of bandits has it. Derived from the log."""

    id: int
    name: str
    created: int
    """The `seq` of its first row in the log."""
    deleted: bool = False


class Snapshot(NamedTuple):
    """The state of a bandit after the row `seq` of the log. A cache: the log has it all."""

    bandit: int
    seq: int
    body: bytes

    def check(self) -> int:
        """Return the checksum that is stored with the snapshot."""
        return crc32(self.body, crc32(b"%d,%d" % (self.bandit, self.seq)))


class Due(NamedTuple):
    """A decision whose window has ended."""

    decision: int
    ticket: int | None
    reward: float | None
    """None: no reward came in time."""
    answered: bool
    """Whether its reward came or it was dropped."""


class Point(NamedTuple):
    """A point in the history of a bandit, for its curves. Not used by any decision."""

    decisions: int
    at: int
    body: bytes


class Answer(NamedTuple):
    """What was answered to a request with an `Idempotency-Key`."""

    digest: bytes
    """Of the request, so that the key with another request is noticed."""
    status: int
    body: bytes


class KeyRow(NamedTuple):
    """A key that a caller may use. Only its hash is stored."""

    id: str
    name: str
    digest: bytes
    scopes: str
    """Separated by spaces: decide, reward, admin."""
    bandit: str | None
    """The only bandit that it is for; None: all."""
    created_at: int
