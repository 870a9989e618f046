"""Recent decisions without an answer, in memory, so that rewards need not read them.

Most rewards come soon. Then the row of the decision is in memory, and it is known that no other
reward came before, so neither is read from the store. The contents equal what the store has, or
will have with the current transaction; if that fails, everything is discarded. Where several
servers write to a store, another one may have answered a decision, so nothing is kept.
"""

from __future__ import annotations

from collections import OrderedDict

from handful.storage.rows import Row

MOST = 2**15


class Recent:
    """The last decisions that have no answer, by their ids."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._rows: dict[str, Row] = {}
        # To find its first entry, a plain dict passes all that were removed before it.
        self._ids: OrderedDict[int, str] = OrderedDict()

    def add(self, id: str, row: Row) -> None:
        """Remember a decision; the oldest one may be forgotten."""
        ids, rows = self._ids, self._rows
        ids[row.seq] = id
        rows[id] = row
        if len(ids) > self._most:
            _, oldest = ids.popitem(last=False)
            del rows[oldest]

    def get(self, id: str) -> Row | None:
        """Return the row of a decision that has no answer; None if that is not known here."""
        return self._rows.get(id)

    def answered(self, decision: int) -> None:
        """Note that a decision has an answer."""
        id = self._ids.pop(decision, None)
        if id is not None:
            del self._rows[id]

    def forget(self) -> None:
        """Forget everything."""
        self._ids.clear()
        self._rows.clear()
