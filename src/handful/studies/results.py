"""Lookup of results by policy, instance, memory and horizon."""

from __future__ import annotations

from collections.abc import Iterable

from handful.simulation import Cell, Result
from handful.simulation.plan import cell
from handful.simulation.result import Estimate


def key(planned: Cell) -> str:
    """Identify a cell among the others of a plan."""
    return f"{planned.id} T={planned.horizon}"


class Results:
    """Finished cells of the paper."""

    def __init__(self, finished: Iterable[tuple[Cell, Result]] = ()) -> None:
        self._by_key: dict[str, Result] = {}
        self._longest: dict[str, Result] = {}
        for planned, result in finished:
            self.add(planned, result)

    def __len__(self) -> int:
        return len(self._by_key)

    def all(self) -> list[Result]:
        """Return every result, in the order of the plan."""
        return list(self._by_key.values())

    def add(self, planned: Cell, result: Result) -> None:
        """Add a finished cell."""
        self._by_key[key(planned)] = result
        before = self._longest.get(planned.id)
        if before is None or before.settings["horizon"] <= planned.horizon:
            self._longest[planned.id] = result

    def at(self, planned: Cell) -> Result:
        """Return the result of a cell, whatever its number of runs."""
        return self._by_key[key(planned)]

    def of(
        self, policy: str, instance: str, memory: int | None = None, horizon: int | None = None
    ) -> Result:
        """Return the run to a horizon; if there is none, or none is given, the longest."""
        wanted = cell(policy, instance, memory, horizon or 1)
        found = self._by_key.get(key(wanted), self._longest.get(wanted.id))
        if found is None:
            raise KeyError(f"{policy} M={memory} {instance} has not been run")
        return found

    def regret(
        self, policy: str, instance: str, memory: int | None = None, horizon: int | None = None
    ) -> Estimate:
        """Return the regret at a horizon."""
        result = self.of(policy, instance, memory, horizon)
        return result.regret if horizon is None else result.regret_at(horizon)
