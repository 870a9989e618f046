"""How long the missing cells will take: a model of the work, calibrated by finished cells.

The model knows the kind of rule and the memory, not the machine, and for a kind of policy it may be
off by several times. So what finished cells took counts, kind by kind. To have a finished cell of
every kind early, `ordered` puts one of each first.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable

from handful.simulation import Cell
from handful.simulation.engines import as_run
from handful.simulation.kinds import kind_for

Kind = tuple[str, bool]
"""The policy's name, and whether all arms fit in memory, where engines can skip most pulls."""
_PRIOR = 0.05
"""The pace of all kinds together counts as much as this share of a mean cell of the kind."""
_ENOUGH = 3
"""A kind is known once the work seen of it is so many times that."""


def work(planned: Cell) -> float:
    """About how many nanoseconds a cell takes on one core: for the time left, and nothing else."""
    run = as_run(planned)
    return run.horizon * run.runs * kind_for(run).cost(run)


def kind(planned: Cell) -> Kind:
    """Cells of one kind take about as long as the model says, times a common factor."""
    return planned.policy.name, planned.memory >= planned.instance.n_arms


def ordered(cells: Iterable[Cell]) -> list[Cell]:
    """Put one cell of each kind first: the smallest that is not tiny; the others as they come."""
    cells = list(cells)
    by_kind: dict[Kind, list[int]] = defaultdict(list)
    for index, planned in enumerate(cells):
        by_kind[kind(planned)].append(index)
    probes = []
    for indices in by_kind.values():
        mean = sum(work(cells[index]) for index in indices) / len(indices)
        fair = [index for index in indices if work(cells[index]) >= mean / 4]
        probes.append(min(fair, key=lambda index: work(cells[index])))
    others = sorted(set(range(len(cells))) - set(probes))
    return [cells[index] for index in [*probes, *others]]


class TimeLeft:
    """An estimate of the seconds until all given cells are finished."""

    def __init__(self, cells: Iterable[Cell], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: dict[Kind, float] = defaultdict(float)
        self._mean: dict[Kind, float] = {}
        self._seen: dict[Kind, tuple[float, float]] = {}
        """Work and seconds of what is finished."""
        self._current: tuple[Kind, float, float, float] | None = None
        """The running cell's kind, when its first pulls were seen, how much of it then and now."""
        counts: dict[Kind, int] = defaultdict(int)
        for planned in cells:
            self._left[kind(planned)] += work(planned)
            counts[kind(planned)] += 1
        for key, total in self._left.items():
            self._mean[key] = total / counts[key]

    def running(self, planned: Cell, done: float) -> None:
        """So much of a cell's work is done; the time before its first pulls is not counted."""
        key = kind(planned)
        if self._current is None or self._current[0] != key:
            self._current = (key, self._clock(), done, done)
        else:
            self._current = (*self._current[:3], done)

    def finished(self, planned: Cell, seconds: float) -> None:
        """A cell is finished and took so long, without compiling."""
        key = kind(planned)
        self._current = None
        self._left[key] = max(0.0, self._left[key] - work(planned))
        before = self._seen.get(key, (0.0, 0.0))
        self._seen[key] = (before[0] + work(planned), before[1] + seconds)

    def seconds(self) -> float | None:
        """Estimate the seconds left; None until every kind that is left is known."""
        seen = dict(self._seen)
        left = dict(self._left)
        if self._current is not None:
            key, since, first, done = self._current
            left[key] = max(0.0, left.get(key, 0.0) - done)
            if done > first:
                before = seen.get(key, (0.0, 0.0))
                seen[key] = (before[0] + done - first, before[1] + self._clock() - since)
        left = {key: amount for key, amount in left.items() if amount > 0}
        if not left:
            return 0.0
        for key in left:
            if seen.get(key, (0.0, 0.0))[0] < _ENOUGH * _PRIOR * self._mean[key]:
                return None
        total_work = sum(amount for amount, _ in seen.values())
        overall = sum(seconds for _, seconds in seen.values()) / total_work
        expected = 0.0
        for key, amount in left.items():
            done, seconds = seen[key]
            prior = _PRIOR * self._mean[key]
            expected += amount * (seconds + prior * overall) / (done + prior)
        return expected
