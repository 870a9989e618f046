"""An estimate of a sweep's time: a short run of each kind of cell, on one core of this machine.

The run has the horizon of the cell, or the longest one that is short enough. Engines that skip
pulls, and policies that settle, are faster over a whole cell than in the short run, so the estimate
is too high for them. Kernels are compiled and cached first, if necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from handful.errors import HandfulError
from handful.simulation import run_cell
from handful.sweeps.part import Part
from handful.sweeps.timing import Kind, kind, ordered

_LONG = 0.3e9
"""About the nanoseconds of a calibrating run, by the model."""
_LEAST_HORIZON = 1000
_MOST_RUNS = 16


@dataclass(frozen=True)
class TimeEstimate:
    """About how long parts take."""

    seconds: float
    """By the workers, all of them busy to the end."""
    core_seconds: float
    kinds: int
    """How many kinds of cells were run."""
    unknown: int
    """How many kinds could not be: a policy of a user's that fails, say."""

    def __str__(self) -> str:
        known = f"from a short run of each of {self.kinds} kinds of cells on this machine"
        return known + (
            f"; {self.unknown} kinds failed and count by the model alone" * bool(self.unknown)
        )


def estimate(
    parts: Iterable[Part], workers: int, report: Callable[[str], None] = lambda what: None
) -> TimeEstimate:
    """Estimate how long parts take, by so many workers at once."""
    parts = list(parts)
    pace: dict[Kind, float] = {}
    failed = 0
    for part in ordered(parts):
        if kind(part) not in pace:
            report(part.cell.shown)
            try:
                pace[kind(part)] = _pace(part)
            except HandfulError:
                pace[kind(part)] = 1.0
                failed += 1
    total = sum(part.work * pace[kind(part)] for part in parts) / 1e9
    return TimeEstimate(total / workers, total, len(pace), failed)


def _pace(part: Part) -> float:
    """Measure, in a short run, how many times as long as the model says the part takes."""
    cell = part.cell
    runs = min(cell.runs, _MOST_RUNS)
    a_pull = part.work / (cell.horizon * cell.runs)
    horizon = max(_LEAST_HORIZON, int(_LONG / (a_pull * runs)))
    short = replace(cell, runs=runs, horizon=min(cell.horizon, horizon))
    if cell.traffic is not None:
        short = replace(short, traffic=cell.traffic.shortened(short.horizon))
    result = run_cell(short, engine=part.engine, n_jobs=1)
    return float(result.settings["seconds"]) * 1e9 / (a_pull * short.horizon * runs)
