"""The windows in use, in seconds, and the row of the log up to which each was checked.

Bandits with the same window share one entry: `at` never decreases from row to row, so the decisions
whose windows have ended are those up to some row. An entry is dropped with the last bandit that has
that window. (Where a store of an earlier version does not say how many have it, it stays.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from handful.storage.contract import Transaction

_PREFIX = "window "
_USERS = "users of window "
_UNUSED = -1
"""Instead of a row: the window is not in use. Numbers of a store can be set, and not removed."""

Saved: TypeAlias = tuple[dict[float, int], dict[float, int]]


class Windows:
    """The windows in use. The store has them, too, as numbers."""

    def __init__(self, tx: Transaction) -> None:
        self._upto = {
            window: upto for window, upto in _numbers(tx, _PREFIX).items() if upto != _UNUSED
        }
        self._users = {window: users for window, users in _numbers(tx, _USERS).items() if users}
        """How many bandits have a window, where that is known."""

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
        """Look at decisions of one more bandit, those after a row, when a window has passed."""
        if window not in self._upto:
            self._set_users(tx, window, 1)
        elif window in self._users:
            self._set_users(tx, window, self._users[window] + 1)
        self.looked(tx, window, min(self._upto.get(window, after), after))

    def leave(self, tx: Transaction, window: float) -> None:
        """Note that a bandit has this window no more; if no other one has it, it is dropped."""
        if window not in self._users:
            return
        self._set_users(tx, window, self._users[window] - 1)
        if self._users[window] == 0:
            del self._users[window], self._upto[window]
            tx.set_number(f"{_PREFIX}{window!r}", _UNUSED)

    def looked(self, tx: Transaction, window: float, upto: int) -> None:
        """Note up to which row a window was looked at."""
        self._upto[window] = upto
        tx.set_number(f"{_PREFIX}{window!r}", upto)

    def _set_users(self, tx: Transaction, window: float, users: int) -> None:
        self._users[window] = users
        tx.set_number(f"{_USERS}{window!r}", users)

    def saved(self) -> Saved:
        """Return what `restore` takes, if the transaction that begins now fails."""
        return self._upto.copy(), self._users.copy()

    def restore(self, saved: Saved) -> None:
        """Undo what a transaction has changed."""
        self._upto, self._users = saved


def _numbers(tx: Transaction, prefix: str) -> dict[float, int]:
    """Return the numbers of windows in a store."""
    return {float(name.removeprefix(prefix)): value for name, value in tx.numbers(prefix).items()}
