"""The contract of a store.

A store has one **log** and tables that are derived from it. The log is authoritative: each row
records what happened to one bandit, and the state of a bandit is the fold of its rows in order. The
tables serve lookups: which bandit has a name, which row answered a decision, which decision has a
caller's key, which labels the arms have. A **snapshot** is the state of a bandit after some row, so
that a restart need not begin with the first one; snapshots are a cache with checksums.

All reading and writing is in a **transaction**:

- It is applied as a whole or not at all. When `commit` returns, it is on disk, and survives a
  crash of the process or of the machine. If it raises, nothing of it is visible. (If the disk
  failed at the very end of a commit, and the process ended before the next one, a restart may
  find the whole transaction. It was not acknowledged, and a request that is repeated is a
  duplicate.)
- A transaction sees what it has written itself.
- Rows of the log are numbered 1, 2, 3, ... without gaps, also where transactions were rolled back.
- `at` never decreases from row to row.
- There is one transaction at a time. A store that several processes share serialises them.
- Damaged data on disk raises `DamagedStoreError` when it is read, and is never returned.
  (A damaged snapshot counts as missing.)
- A disk that is full, or fails, raises `StoreUnavailableError`; the store is as it was before, and
  works again when there is room.

`handful.testing.storage` has the tests of this contract; a subclass provides the store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from handful.storage.rows import Answer, BanditRow, Due, KeyRow, Point, Row, Snapshot

SCHEMA = 1
"""The version of the tables. A store with an older one is migrated when it is opened."""


class Storage(ABC):
    """A store, open in this process."""

    @abstractmethod
    def begin(self) -> Transaction:
        """Begin a transaction, as a context manager: it is committed if its block ends well."""

    @abstractmethod
    def identity(self) -> bytes:
        """Return 16 random bytes that were drawn when the store was made."""

    @abstractmethod
    def set_identity(self, identity: bytes) -> None:
        """Take the identity of another store, of which this one is made a copy."""

    def moment(self) -> Transaction:
        """Begin a transaction that only reads, and sees the store as it was at one moment."""
        return self.begin()

    @abstractmethod
    def backup(self, path: Path) -> None:
        """Copy everything that is committed to a new file; the store may be in use meanwhile."""

    @abstractmethod
    def verify(self) -> list[str]:
        """Return what is wrong with the store as a file; an empty list if nothing is."""

    @abstractmethod
    def size(self) -> int:
        """Return how many bytes the store takes."""

    @abstractmethod
    def close(self) -> None:
        """Close the store; what was committed stays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Transaction(ABC):
    """All that is read and written between `begin` and `commit`."""

    def prepare_commit(self) -> None:  # noqa: B027, most stores have nothing to do here
        """Do all of the commit but wait for the disk. Nothing may be written afterwards.

        `commit` does this itself if it was not called before. Whoever lets another thread wait for
        the disk calls it first, so that the other thread does nothing else.
        """

    @abstractmethod
    def commit(self) -> None:
        """Write everything to disk."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo everything."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.rollback()

    @property
    @abstractmethod
    def has_written(self) -> bool:
        """Whether the transaction has changed anything, so that its commit waits for the disk."""

    # The log.

    @abstractmethod
    def last(self) -> tuple[int, int]:
        """Return `seq` and `at` of the last row of the log; (0, 0) if it is empty."""

    @abstractmethod
    def append(self, rows: Iterable[Row]) -> None:
        """Append rows, whose numbers follow on the last one."""

    @abstractmethod
    def row(self, seq: int) -> Row | None:
        """Return a row of the log by its number."""

    @abstractmethod
    def rows(self, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        """Yield the rows of the log in order, from `after` + 1 on."""

    # What is derived from the log.

    @abstractmethod
    def answer_to(self, decision: int) -> int | None:
        """Return the number of the row that answered a decision: REWARDED, DROPPED or LATE."""

    @abstractmethod
    def set_answer(self, decision: int, seq: int) -> None:
        """Note which row answered a decision."""

    def set_answers(self, answers: Mapping[int, int]) -> None:
        """Note which rows answered decisions. A store may have a faster way than one by one."""
        for decision, seq in answers.items():
            self.set_answer(decision, seq)

    @abstractmethod
    def due(self, after: int, upto: int) -> dict[int, list[Due]]:
        """Return the decisions with `after` < number <= `upto`, in order, for each bandit."""

    @abstractmethod
    def written_by(self, at: int, after: int, most: int) -> int:
        """Return the last row that was written by the time `at`, at most `most` after `after`."""

    @abstractmethod
    def decision_with_key(self, bandit: int, key: str) -> int | None:
        """Return the decision of a bandit that a caller gave this key."""

    @abstractmethod
    def set_key(self, bandit: int, key: str, decision: int) -> None:
        """Note a caller's key of a decision."""

    @abstractmethod
    def keys_of(self, decisions: tuple[int, int]) -> dict[int, str]:
        """Return the callers' keys of the decisions from the first number to the second."""

    @abstractmethod
    def subset_number(self, body: bytes) -> int:
        """Return the number of a set of allowed arms, which is stored if it is new."""

    @abstractmethod
    def subset(self, number: int) -> bytes:
        """Return a set of allowed arms by its number."""

    @abstractmethod
    def subsets(self) -> Iterator[tuple[int, bytes]]:
        """Yield all sets of allowed arms by number."""

    @abstractmethod
    def put_subset(self, number: int, body: bytes) -> None:
        """Store a set of allowed arms under a number that is free: for a copy."""

    @abstractmethod
    def bandit_named(self, name: str) -> BanditRow | None:
        """Return the bandit that has a name now."""

    @abstractmethod
    def bandit(self, number: int) -> BanditRow | None:
        """Return a bandit by its number, also if it was deleted."""

    @abstractmethod
    def bandits(self, after: str = "", limit: int | None = None) -> list[BanditRow]:
        """Return the bandits that are not deleted, by name, from the one after `after` on."""

    @abstractmethod
    def put_bandit(self, row: BanditRow) -> None:
        """Add a bandit, or change it."""

    @abstractmethod
    def labels(self, bandit: int, numbers: Iterable[int] | None = None) -> dict[int, str]:
        """Return the labels of arms by number: all that were ever added, or some."""

    @abstractmethod
    def labels_from(self, bandit: int, first: int, limit: int | None = None) -> list[str]:
        """Return the labels of the arms from this number on, at most `limit` of them."""

    @abstractmethod
    def put_labels(self, bandit: int, first: int, labels: Iterable[str]) -> None:
        """Add the labels of arms with the numbers from `first` on."""

    # Caches, and what has nothing to do with the log.

    @abstractmethod
    def snapshot(self, bandit: int) -> Snapshot | None:
        """Return the snapshot of a bandit; None if there is none, or if it is damaged."""

    @abstractmethod
    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Store the snapshot of a bandit in place of its last one."""

    @abstractmethod
    def points(self, bandit: int) -> list[Point]:
        """Return the history of a bandit."""

    @abstractmethod
    def put_point(self, bandit: int, point: Point, stride: int) -> None:
        """Add a point to a history, and remove those whose number is no multiple of `stride`."""

    @abstractmethod
    def answered(self, scope: str, key: str) -> Answer | None:
        """Return what was answered to a request with this `Idempotency-Key`."""

    @abstractmethod
    def put_answered(self, scope: str, key: str, answer: Answer, at: int) -> None:
        """Store what is answered to a request."""

    @abstractmethod
    def forget_answered(self, before: int) -> None:
        """Forget the answers from before a time."""

    @abstractmethod
    def answered_requests(self) -> Iterator[tuple[str, str, Answer, int]]:
        """Yield all answers with their scope, key and time, by scope and key as bytes."""

    @abstractmethod
    def caller_keys(self) -> list[KeyRow]:
        """Return all keys of callers."""

    @abstractmethod
    def put_caller_key(self, row: KeyRow) -> None:
        """Add a key."""

    @abstractmethod
    def remove_caller_key(self, id: str) -> bool:
        """Remove a key; return whether there was one."""

    @abstractmethod
    def number(self, name: str) -> int:
        """Return a number that was stored under a name; 0 if none was."""

    @abstractmethod
    def numbers(self, prefix: str) -> dict[str, int]:
        """Return the numbers whose names begin with this, by name."""

    @abstractmethod
    def set_number(self, name: str, value: int) -> None:
        """Store a number under a name."""
