"""Means and intervals of all cells, as JSON: what the pages and the figure are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import ROOT
from benchmarks.real.cells import Cell, Outcome
from benchmarks.real.contestants import LEAST_RUNS
from benchmarks.real.sources import Arms
from handful.simulation.intervals import half_width

FILE = ROOT / "docs" / "real.json"


@dataclass(frozen=True)
class Facts:
    """What is known of a data set."""

    data: str
    arms: int
    rows: int
    best: float
    """The highest mean."""
    average: float
    """The mean of an arm at random."""
    few_arms: int
    """Arms that were left out, as they have fewer than `LEAST_ROWS` rows."""
    few_rows: int

    @classmethod
    def of(cls, name: str, arms: Arms) -> Facts:
        """Return the facts of the arms of a data set."""
        return cls(
            name, len(arms.means), arms.rows, round(arms.best, 6), round(arms.average, 6),
            arms.few_arms, arms.few_rows,
        )  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A cell with its mean regret; with 0 runs, one that was not run."""

    data: str
    contestant: str
    horizon: int
    delay: int
    runs: int
    regret: float | None
    half: float | None
    """Half the 95% interval of the mean, by Student's t."""
    version: str
    minutes: float | None = None
    """If the cell was left out: about how long its least runs would take on a core."""


@dataclass(frozen=True)
class Results:
    """All that the pages show."""

    facts: tuple[Facts, ...]
    rows: tuple[Row, ...]

    def row(self, data: str, contestant: str, horizon: int, delay: int) -> Row | None:
        """Return the row of a cell, if there is one."""
        wanted = (data, contestant, horizon, delay)
        for row in self.rows:
            if (row.data, row.contestant, row.horizon, row.delay) == wanted:
                return row
        return None

    def fact(self, data: str) -> Facts:
        """Return the facts of a data set."""
        return next(fact for fact in self.facts if fact.data == data)


def of_cells(
    data: Mapping[str, Arms], cells: Sequence[Cell], found: Mapping[Cell, Outcome]
) -> Results:
    """Return the results of the cells that were run, and of those that were not."""
    rows = []
    for cell in cells:
        at = (cell.data, cell.contestant.key, cell.horizon, cell.delay)
        if cell in found:
            regrets = np.array(found[cell].regrets)
            half = float(half_width(regrets)) if len(regrets) > 1 else None
            rows.append(
                Row(*at, len(regrets), _short(regrets.mean()), _short(half), found[cell].version)
            )
        else:
            one = cell.contestant.seconds(len(cell.arms.means), cell.horizon, cell.delay)
            minutes = None if cell.runs else _short(LEAST_RUNS * one / 60.0)
            rows.append(Row(*at, 0, None, None, "", minutes))
    return Results(tuple(Facts.of(name, arms) for name, arms in data.items()), tuple(rows))


def _short(value: Any) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def save(results: Results, file: Path = FILE) -> None:
    """Write the results, a row a line."""
    parts = []
    for name, items in (("facts", results.facts), ("rows", results.rows)):
        lines = ",\n".join(f"    {json.dumps(asdict(item))}" for item in items)
        parts.append(f'  "{name}": [\n{lines}\n  ]')
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def load(file: Path = FILE) -> Results:
    """Read results that were written by `save`."""
    content = json.loads(file.read_text())
    return Results(
        tuple(Facts(**fact) for fact in content["facts"]),
        tuple(Row(**row) for row in content["rows"]),
    )
