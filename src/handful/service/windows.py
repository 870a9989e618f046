"""The windows in use, in seconds, and up to which row of the log each was looked at.

Bandits with the same window share one entry: `at` never decreases from row to row, so the decisions
whose windows have ended are those up to some row.
"""

from __future__ import annotations

from collections.abc import Iterator

from handful.storage.contract import Transaction

_PREFIX = "window "


class Windows:
    """The windows in use. The store has them, too, as numbers."""

    def __init__(self, tx: Transaction) -> None:
        self._upto = {
            float(name.removeprefix(_PREFIX)): value for name, value in tx.numbers(_PREFIX).items()
        }

    def __bool__(self) -> bool:
        return bool(self._upto)

    def __contains__(self, window: float) -> bool:
        return window in self._upto

    def __iter__(self) -> Iterator[float]:
        return iter(tuple(self._upto))

    def upto(self, window: float) -> int:
        """Return the row up to which a window was looked at; 0 if it is not in use."""
        return self._upto.get(window, 0)

    def watch(self, tx: Transaction, window: float, after: int) -> None:
        """See to it that decisions after a row are looked at when a window has passed."""
        self.looked(tx, window, min(self._upto.get(window, after), after))

    def looked(self, tx: Transaction, window: float, upto: int) -> None:
        """Note up to which row a window was looked at."""
        self._upto[window] = upto
        tx.set_number(f"{_PREFIX}{window!r}", upto)

    def saved(self) -> dict[float, int]:
        """Return what `restore` takes, if the transaction that begins now fails."""
        return self._upto.copy()

    def restore(self, saved: dict[float, int]) -> None:
        """Undo what a transaction has changed."""
        self._upto = saved
