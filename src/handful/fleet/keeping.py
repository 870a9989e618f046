"""Saving a fleet, opening it again, and adding members."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np

from handful.errors import SettingError, integer
from handful.fleet.header import facts_of
from handful.fleet.ids import Names, Numbers, names_of
from handful.fleet.members import Members, blocks_of
from handful.fleet.saving import Folder
from handful.fleet.serving import Serving
from handful.fleet.shared import Shared, check_kind
from handful.policies import Policy, from_bytes
from handful.policies.given import ArmsLike

MOST_MEMBERS = 2**40


class Keeping(Serving):
    """The part of a fleet that is about folders, and about how many members there are."""

    def save(self, path: str | Path | None = None) -> None:
        """Save the fleet to a new folder; without a path, what has changed to the same folder.

        If the process dies meanwhile, the folder has the last complete save.
        """
        with self._lock:
            self._check_open()
            names = self._ids.saved()
            facts = {**self._facts(), **facts_of(self._members, names)}
            # The folder stays the same when the working directory changes.
            given = None if path is None else Path(path).absolute()
            if given is not None and (self._folder is None or given != self._folder.path):
                folder = Folder.create(given, facts, self._members, names)
                self.close()
                self._folder = folder
            elif self._folder is not None:
                self._folder.save(facts, self._members, names)
            else:
                raise SettingError("the fleet has no folder yet: give save(path)")

    def _facts(self) -> dict[str, Any]:
        return {
            "model": self._shared.model.to_bytes().hex(),
            "policy": self.policy,
            "seed": str(self._seed),
            "counters": self._shared.counters,
            "first": None if isinstance(self._ids, Names) else self._ids.first,
        }

    @classmethod
    def open(
        cls,
        path: str | Path,
        arms: ArmsLike,
        *,
        policy: type[Policy] | None = None,
        threads: int | None = None,
    ) -> Self:
        """Open the folder of a fleet, as it was last saved. Members are read as they are needed.

        `arms` are those that the fleet had then. `policy` is needed for a policy of your own.
        """
        folder = Folder.open(Path(path).absolute())
        try:
            header = folder.header
            blob = bytes.fromhex(header["model"])
            model = from_bytes(blob, arms) if policy is None else policy.from_bytes(blob, arms)
            check_kind(model)
            fleet = object.__new__(cls)
            fleet._shared = Shared(model, header["counters"])
            fleet._seed = int(header["seed"])
            numbered = header["first"] is not None
            ids = Numbers(fleet._seed, header["first"] or 0, header["members"])
            fleet._members = Members(
                fleet._shared.layout, header["members"], ids.first_seed if numbered else 0, False
            )
            names = folder.load(fleet._members)
            fleet._ids = ids if numbered else Names(fleet._seed, names_of(names))
            fleet._prepare(threads)
            fleet._folder = folder
        except BaseException:
            folder.close()
            raise
        return fleet

    def check(self) -> None:
        """Read the whole fleet, and refuse one that is damaged."""
        with self._lock:
            self._check_open()
            self._members.check(np.arange(blocks_of(len(self))))

    def close(self) -> None:
        """Let other processes open the folder; what has changed since the last save is lost.

        The fleet cannot be used any more: its rows are those of the folder.
        """
        with self._lock:
            if self._folder is not None:
                self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def grow(self, more: int | Iterable[str]) -> None:
        """Add members: so many numbers after the last, or these names."""
        with self._lock:
            self._check_open()
            if isinstance(self._ids, Names):
                if isinstance(more, int):
                    raise SettingError(f"grow({more}): members of this fleet have names: give them")
                self._welcome(more)
                return
            count = integer("more", more)
            if not 0 <= count <= MOST_MEMBERS - len(self):
                raise SettingError(f"grow({more}): give a number of members from 0 on")
            self._members.resize(len(self) + count)
            self._ids.count += count  # only now: it is the bound that ids are checked by

    def shrink(self, fewer: int) -> None:
        """Remove the last members; if they come back by `grow`, they begin anew."""
        with self._lock:
            self._check_open()
            count = integer("fewer", fewer)
            if isinstance(self._ids, Names):
                raise SettingError("a fleet whose members have names cannot shrink")
            if not 0 <= count < len(self):
                raise SettingError(
                    f"shrink({fewer}): give fewer than the {len(self)} members that there are"
                )
            self._members.resize(len(self) - count)
            self._ids.count -= count

    def _welcome(self, ids: Any) -> None:
        """Add names that are not known yet."""
        fresh = self._ids.new(ids)
        if fresh:
            assert isinstance(self._ids, Names)
            self._members.resize(len(self) + len(fresh))
            self._give_seeds(len(self), fresh)
            self._ids.add(fresh)

    def _give_seeds(self, first: int, names: list[str]) -> None:
        """Write the seeds of members, from a row on: they follow from their names."""
        seeds = np.array([self._ids.seed_of(name) for name in names], "<u8")
        self._members.set_words(first, seeds)
