"""Results found by policy, instance, memory and horizon."""

from __future__ import annotations

from collections.abc import Iterable

from handful.simulation import Cell, Result
from handful.simulation.plan import cell
from handful.simulation.result import Estimate
from handful.studies.paper import experiments


def key(planned: Cell) -> str:
    """Identify a cell among the others of a plan."""
    return f"{planned.id} T={planned.horizon}"


class Results:
    """Finished cells of the paper."""

    def __init__(self, finished: Iterable[tuple[Cell, Result]] = ()) -> None:
        self._by_key = {key(planned): result for planned, result in finished}

    def __len__(self) -> int:
        return len(self._by_key)

    def all(self) -> list[Result]:
        """Every result, in the order of the plan."""
        return list(self._by_key.values())

    def add(self, planned: Cell, result: Result) -> None:
        """Add a finished cell."""
        self._by_key[key(planned)] = result

    def at(self, planned: Cell) -> Result:
        """The result of a cell, whatever its number of runs."""
        return self._by_key[key(planned)]

    def of(
        self, policy: str, instance: str, memory: int | None = None, horizon: int | None = None
    ) -> Result:
        """The result at a horizon, or of a longer one that passes it."""
        for end in (horizon, experiments.HORIZON):
            if end is not None:
                found = self._by_key.get(key(cell(policy, instance, memory, end)))
                if found is not None:
                    return found
        raise KeyError(f"{policy} M={memory} {instance} has not been run")

    def regret(
        self, policy: str, instance: str, memory: int | None = None, horizon: int | None = None
    ) -> Estimate:
        """The regret at a horizon."""
        result = self.of(policy, instance, memory, horizon)
        return result.regret if horizon is None else result.regret_at(horizon)
