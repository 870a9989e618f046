"""The contract of a store that several processes share, on one machine or on several.

It is a store as `contract.py` says, with these differences:

- Each process has one transaction at a time, and transactions of different processes run at once.
- Only the rows of **one bandit** are ordered. A transaction *holds* a bandit before it writes a
  row of it, and no other transaction holds that bandit until the first one ends. So the rows of a
  bandit have increasing numbers in the order of their commits.
- Numbers are *drawn*, together with a time, while bandits are held. Numbers of transactions that
  were rolled back are missing, and the rows of another bandit may appear later with lower numbers.
  `at` never decreases with the numbers.
- The last row of each bandit is stored, and each row has the number of the bandit's previous row,
  so that a missing row is noticed.
- A transaction that has to wait for another holds nothing, so that no two wait for each other.
  After the first wait, a bandit that is not available at once raises no error, but is not held.
- After an interrupted commit, the store is asked for its outcome before the commit returns: the
  transaction was committed, or nothing of it is visible. If the store cannot be asked,
  `StoreUnavailableError` says that the outcome is not known.

`handful.testing.shared_storage` has the tests of this contract.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from handful.storage.contract import Storage, Transaction
from handful.storage.rows import Due, Row


class BusyError(Exception):
    """Another server holds what a request needs: the request is postponed, and nothing was done."""


class Held(NamedTuple):
    """Bandits that are held, and numbers to write rows with."""

    versions: dict[int, int]
    """The last row of each bandit that is held; 0 if it has none."""
    seq: int
    """The number before the first one that was drawn."""
    at: int
    """The time of the rows with these numbers."""


class SharedStorage(Storage):
    """A store that other processes may have open, too."""

    @abstractmethod
    def begin(self) -> SharedTransaction:
        """Begin a transaction."""

    @abstractmethod
    def moment(self) -> SharedTransaction:
        """Begin a transaction that only reads, and sees the store as it was at one moment."""


class SharedTransaction(Transaction):
    """A transaction, while other processes run theirs."""

    @abstractmethod
    def hold(
        self,
        first: Sequence[int],
        others: Sequence[int],
        rows: int,
        time: int | None,
        decisions: Sequence[int] = (),
    ) -> Held:
        """Hold bandits, draw numbers for so many rows, and look for the answers to decisions.

        The `first` ones are waited for, if nothing is held yet; of the `others`, those that are
        held elsewhere are left out. `time` is the least time of the rows; None: the time by the
        clock of the store. Answers that were read before a hold are read again.
        """

    @abstractmethod
    def draw(self, rows: int, time: int | None) -> tuple[int, int]:
        """Draw more numbers: return the one before the first, and their time."""

    @abstractmethod
    def lock(self, name: str) -> bool:
        """Hold a name until the end of the transaction; return whether it could be had."""

    @abstractmethod
    def versions(self, bandits: Iterable[int] | None = None) -> dict[int, int]:
        """Return the last rows of bandits, or of all, without holding them."""

    @abstractmethod
    def rows_of(self, bandit: int, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        """Yield the rows of a bandit in order, after a number."""

    @abstractmethod
    def rows_at(self, numbers: Iterable[int]) -> dict[int, Row]:
        """Return rows by their numbers; those that are not there are left out."""

    @abstractmethod
    def due_of(self, bandit: int, after: int, upto: int) -> list[Due]:
        """Return the decisions of a bandit with `after` < number <= `upto`, in order."""

    @abstractmethod
    def decided(self, bandit: int, after: int, most: int) -> list[tuple[int, int]]:
        """Return number and time of the first decisions of a bandit after a number."""

    @abstractmethod
    def tails(self, after: dict[int, int], most: int) -> dict[int, list[Row]]:
        """Return the rows of bandits after a number each, at most so many of each."""

    @abstractmethod
    def set_due(self, bandit: int, at: int | None, *, unless_set: bool = False) -> None:
        """Note when the window of the oldest open decision of a bandit ends; None: never."""

    @abstractmethod
    def hold_due(self, time: int | None, most: int) -> dict[int, int]:
        """Hold bandits whose next window ends by that time, and return their last rows.

        Those that are held elsewhere are left out.
        """

    @abstractmethod
    def size(self) -> int:
        """Return how many bytes the store takes."""

    @abstractmethod
    def revision(self) -> int:
        """Return a number that changes with the keys of callers."""
