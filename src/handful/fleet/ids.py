"""Ids of members: consecutive numbers, or names in an index that grows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from handful.core.rng import words
from handful.errors import SettingError
from handful.fleet.members import Ids

NOBODY = -1
"""The row of a name that no member has."""


class Numbers:
    """Members that are called first, first + 1, ...: the whole of a fleet, or a shard of one."""

    def __init__(self, seed: int, first: int, count: int) -> None:
        self.first = first
        self.count = count
        # 62 bits, so that seeds and what is added to them stay below 2^63.
        self._base = words("fleet", seed, count=1)[0] >> 2

    @property
    def first_seed(self) -> int:
        """The seed of the first row."""
        return self._base + self.first

    def seed_of(self, name: Any) -> int:
        """Return the seed of a member."""
        return self.first_seed + int(self.rows([name])[0])

    def rows(self, ids: Any) -> Ids:
        """Return the rows of members; refuse all if there is no such member."""
        given = np.asarray(ids)
        if given.size == 0:
            given = given.astype(np.int64)
        if given.dtype.kind not in "iu" or given.ndim != 1:
            raise SettingError(
                f"ids of the type {given.dtype} and the shape {given.shape}: give a list or an "
                f"array of integers from {self.first} to {self.first + self.count - 1}"
            )
        rows = np.ascontiguousarray(given, np.int64) - self.first
        # A negative number is a very large one here.
        if rows.size and int(rows.view(np.uint64).max()) >= self.count:
            at = int(np.argmax(rows.view(np.uint64) >= self.count))
            raise SettingError(
                f"ids[{at}]={given[at]} is not a member: the members are {self.first} to "
                f"{self.first + self.count - 1}"
            )
        return rows

    def known(self, ids: Any) -> Ids:
        """Return the rows of members."""
        return self.rows(ids)

    def saved(self) -> bytes:
        """Return no names as bytes."""
        return b""

    def new(self, ids: Any) -> list[str]:
        """Return no names: a fleet of numbered members grows by `grow` only."""
        return []


class Names:
    """Members with names, in the order in which they were added."""

    first_seed = 0

    def __init__(self, seed: int, names: Iterable[str] = ()) -> None:
        self.seed = seed
        self.names: list[str] = []
        self._rows: dict[str, int] = {}
        self._saved = bytearray()
        self.add(checked(names))

    @property
    def count(self) -> int:
        """How many members there are."""
        return len(self.names)

    def add(self, names: Iterable[str]) -> None:
        """Add members that are not there yet."""
        for name in names:
            if name not in self._rows:
                self._rows[name] = len(self.names)
                self.names.append(name)
                text = name.encode("utf-8", "surrogatepass")
                self._saved += len(text).to_bytes(4, "little") + text

    def saved(self) -> bytes:
        """Return all names as bytes: each with its length before it."""
        return bytes(self._saved)

    def seed_of(self, name: Any) -> int:
        """Return the seed of a member, whether it is there yet or not: it follows from the name."""
        (given,) = checked([name])
        return words("member", self.seed, given, count=1)[0] | 1

    def new(self, ids: Any) -> list[str]:
        """Return the names that no member has yet, once each, in their order."""
        return [name for name in dict.fromkeys(checked(ids)) if name not in self._rows]

    def rows(self, ids: Any) -> Ids:
        """Return the rows of members; refuse all if there is no such member."""
        found = self.known(ids)
        if (found == NOBODY).any():
            at = int(np.argmax(found == NOBODY))
            raise SettingError(
                f"ids[{at}]={checked(ids)[at]!r} is not a member: decide for it first, "
                "or grow() by it"
            )
        return found

    def known(self, ids: Any) -> Ids:
        """Return the rows of members, `NOBODY` for names that no member has."""
        get = self._rows.get
        return np.array([get(name, NOBODY) for name in checked(ids)], np.int64)


def checked(ids: Any) -> Sequence[str]:
    """Return names as a sequence of strings, or raise an error."""
    if isinstance(ids, str | bytes):
        raise SettingError(f"ids={ids!r} is one name: give [{ids!r}]")
    given = ids.tolist() if isinstance(ids, np.ndarray) else ids
    names = given if isinstance(given, list) else list(given)
    for at, name in enumerate(names):
        if not isinstance(name, str):
            raise SettingError(
                f"ids[{at}]={name!r} is not a string: members of this fleet have names"
            )
    return names


def names_of(saved: bytes) -> list[str]:
    """Return the names that `Names.saved` wrote."""
    names, at = [], 0
    while at < len(saved):
        size = int.from_bytes(saved[at : at + 4], "little")
        names.append(saved[at + 4 : at + 4 + size].decode("utf-8", "surrogatepass"))
        at += 4 + size
    return names
