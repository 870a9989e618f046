"""The ids of decisions: the number of the row in the log, and check bits of the store.

A mistyped id, or one of another store, is recognised as unknown, except for one in 65,536. The
check bits are no authentication.
"""

from __future__ import annotations

import re
from hashlib import blake2b

_FORM = re.compile(r"[1-9a-f][0-9a-f]{4,18}")


class Ids:
    """Turns numbers of decisions into their names and back."""

    def __init__(self, identity: bytes) -> None:
        self._keyed = blake2b(key=identity, digest_size=2)

    def name(self, decision: int) -> str:
        """Return the name of a decision."""
        return "%x%04x" % (decision, self._check(decision))  # noqa: UP031, faster

    def number(self, name: str) -> int | None:
        """Return the number of a decision by its name; None if it is no name."""
        if not _FORM.fullmatch(name):
            return None
        decision = int(name[:-4], 16)
        return decision if int(name[-4:], 16) == self._check(decision) else None

    def _check(self, decision: int) -> int:
        digest = self._keyed.copy()
        digest.update(b"%d" % decision)
        return int.from_bytes(digest.digest(), "little")
