"""The paper's tables cell by cell: as published and as measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from handful.studies.paper.experiments import Table
from handful.studies.paper.published import INSTANCES, UNIT
from handful.studies.results import Results

FEW_RUNS = 10
"""With fewer runs a standard error is itself too uncertain to judge a cell by."""


@dataclass(frozen=True)
class TableCell:
    """Regret / 10^5: what the paper prints, what we measured, and how far apart they are."""

    row: str
    memory: int
    instance: str
    published_mean: float
    published_sem: float
    mean: float
    sem: float
    runs: int

    @property
    def z(self) -> float:
        """The difference in combined standard errors; NaN for a single run."""
        return (self.mean - self.published_mean) / math.hypot(self.sem, self.published_sem)

    @property
    def is_ours(self) -> bool:
        """Whether the cell is of the paper's own algorithms."""
        return self.row.startswith("Q")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; NaN becomes null."""
        values = {**asdict(self), "z": self.z}
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in values.items()
        }


def measured(table: Table, results: Results) -> list[TableCell]:
    """Return every cell of a table, row by row."""
    cells = []
    for row in table.rows():
        for instance, (mean, sem) in zip(INSTANCES, row.published, strict=True):
            result = results.of(row.policy, instance, row.memory)
            regret = result.regret
            cells.append(
                TableCell(
                    row.name,
                    row.memory,
                    instance,
                    mean,
                    sem,
                    regret.mean / UNIT,
                    regret.sem / UNIT,
                    result.settings["runs"],
                )
            )
    return cells


def by_row(cells: Sequence[TableCell]) -> list[list[TableCell]]:
    """Return the cells of each row together."""
    width = len(INSTANCES)
    return [list(cells[i : i + width]) for i in range(0, len(cells), width)]


def has_few_runs(cells: Sequence[TableCell]) -> bool:
    """Return whether there are too few runs to judge how well the cells agree with the paper."""
    return any(cell.runs < FEW_RUNS for cell in cells)


def agreement(cells: Sequence[TableCell]) -> tuple[int, int, float]:
    """Return how many cells the paper's algorithms have, how many within 3, the largest |z|.

    Cells of a single run, which have no standard error, are left out.
    """
    distances = [abs(c.z) for c in cells if c.is_ours and not math.isnan(c.z)]
    return len(distances), sum(z <= 3 for z in distances), max(distances, default=math.nan)
