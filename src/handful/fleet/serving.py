"""Serving the calls of a fleet: running kernels, explaining their errors, labelling arms."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import HandfulError, RuleError, SettingError, StoreError, integer
from handful.fleet.ids import Names, Numbers
from handful.fleet.kernels.bulk import COUNTS, kernels_of
from handful.fleet.kernels.members import DONE, NEXT, SLOT, TOO_MANY, WRONG_SLOT, Desk
from handful.fleet.members import Ids, Members, Task, cores
from handful.fleet.saving import Folder
from handful.fleet.shared import Shared
from handful.policies.mistakes import no_score, wrong_arm, wrong_slot


class Serving:
    """The attributes of a fleet, and what its methods have in common."""

    _shared: Shared
    _seed: int
    _ids: Numbers | Names
    _members: Members

    def _prepare(self, threads: int | None) -> None:
        """Set what is not saved."""
        self.threads = cores() if threads is None else integer("threads", threads)
        if self.threads < 1:
            raise SettingError(f"threads={threads}: give at least 1")
        self._lock = RLock()
        self._folder: Folder | None = None
        self._label_array: NDArray[Any] | None = None

    def __len__(self) -> int:
        return self._ids.count

    @property
    def policy(self) -> str:
        """The name of the policy of all members."""
        return self._shared.model.name

    def _check_open(self) -> None:
        if self._folder is not None and not self._folder.is_open:
            raise StoreError(f"the fleet was closed: open it again, Fleet.open({self._where!r})")

    @property
    def _where(self) -> str:
        return "" if self._folder is None else str(self._folder.path)

    def _row(self, member: Any) -> int:
        self._check_open()
        rows = self._ids.rows([member])
        self._members.check_rows(rows)
        return int(rows[0])

    def _run(self, rows: Ids, task: Task) -> None:
        """Run a kernel for the members of some rows."""
        self._check_open()
        members = self._members
        members.check_rows(rows)
        try:
            why, part = members.run(len(rows), self.threads, task, listed=len(rows))
        except HandfulError as error:
            error.add_note(
                "a policy failed for a member: of the other members, some may have been served"
            )
            raise
        if why != DONE:
            raise self._mistake(why, rows, members.desk(part))

    def _mistake(self, why: int, rows: Ids, desk: Desk) -> HandfulError:
        """Return the error for what a member's policy did."""
        shared = self._shared
        cls, row = type(shared.model), int(rows[desk.at[NEXT]])
        where = f"member {self._name(row)!r}"
        clock, slot, held = (int(desk.scalars["clock"][0]), int(desk.at[SLOT]),
                             int(desk.scalars["held"][0]))  # fmt: skip
        error: HandfulError
        if why == TOO_MANY:
            error = RuleError(
                f"{where} has counted to 2^31, which is as far as members of a fleet count: go on "
                "with fleet[i] as a policy by itself"
            )
        elif why == WRONG_SLOT and slot == -1 and hasattr(shared.acts_as, "rule"):
            arms = zip(desk.slots["pulls"][:held].tolist(), desk.slots["sums"].tolist(),
                       strict=False)  # fmt: skip
            error = no_score(cls, clock, arms)
        elif why == WRONG_SLOT:
            error = wrong_slot(cls, clock, slot, held)
        else:
            error = wrong_arm(cls, clock, int(desk.slots["arm"][slot]), shared.n_arms)
        error.add_note(f"{where} is as it was; of the other members, some may have been served")
        return error

    def _labels(self, arms: NDArray[np.int64]) -> NDArray[Any]:
        """Return the labels of arms."""
        known = self._shared.arms
        if not known.is_listed:
            first = known.label(0)
            if isinstance(first, int) and known.label(known.n - 1) == first + known.n - 1:
                return arms + first if first else arms  # a number or a range
            made = [known.label(arm) for arm in arms.tolist()]
            found = np.empty(len(made), np.object_)
            found[:] = made
            return found
        if self._label_array is None:
            labels = known.listed()
            self._label_array = np.empty(len(labels), np.object_)
            self._label_array[:] = labels
        taken: NDArray[Any] = self._label_array[arms]
        return taken

    def _name(self, row: int) -> Any:
        if isinstance(self._ids, Names):
            return self._ids.names[row]
        return self._ids.first + row

    def _look(self, rows: Ids, counting: bool) -> tuple[Any, ...]:
        n, slots = len(rows), self._shared.layout.memory
        recommended = np.empty(n, np.int64)
        some = n if counting else 0
        counts = np.zeros((some, len(COUNTS)), np.int64)
        arms = np.full((some, slots), -1, np.int64)
        pulls = np.zeros((some, slots), np.int64)
        sums = np.zeros((some, slots))
        kernel = kernels_of(self._shared.acts_as).look
        members, p = self._members, self._shared.p

        def task(part: int, parts: int, desk: Desk) -> int:
            kernel(rows, part, parts, p, members.seen, desk, recommended, counts, arms, pulls, sums)
            return DONE

        self._run(rows, task)
        return recommended, counts, arms, pulls, sums
