"""The tables of docs/choosing.md and docs/recipes.md that show regrets, printed as Markdown.

    python -m benchmarks.guide [memory clicks linear drift churn clicks-only]

All tables unless some are named. Finished cells are cached in `report/cells`, so a run that was
stopped is resumed. Runs have seed 12, with which no setting of Race was tried. The policies that
remember every arm are slow to simulate, and have fewer runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from handful.cli.cells import run_cells
from handful.simulation.plan import Cell, cell
from handful.simulation.result import Estimate
from handful.studies.leaderboard.arenas import evenly, repeated
from handful.studies.results import Results
from handful.sweeps.store import Store

SEED = 12
TAIL = 0.99
CELLS = Path("report") / "cells"


class Row(NamedTuple):
    """A policy, and how often it is run."""

    label: str
    policy: str
    memory: int | None
    runs: int


class Column(NamedTuple):
    """An instance for a number of decisions, and how rewards come."""

    head: str
    instance: str
    horizon: int
    traffic: dict[str, Any]


def shown(found: Estimate) -> str:
    """Return the mean and its standard error."""
    return f"{found.mean:,.0f} ± {found.sem:,.0f}"


def shown_with_tail(found: Estimate) -> str:
    """Return the mean, its standard error, and the 99th percentile in means."""
    return f"{shown(found)} ({found.quantile(TAIL) / found.mean:.1f})"


def tail(found: Estimate) -> str:
    """Return the 99th percentile."""
    return f"{found.quantile(TAIL):,.0f}"


@dataclass(frozen=True)
class Table:
    """Policies beside conditions; `across` if the policies are the columns."""

    corner: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    show: Callable[[Estimate], str] = shown
    across: bool = False
    most_arms: int | None = None
    """With more arms, the policies that remember all of them are left out."""

    def planned(self, row: Row, column: Column) -> Cell | None:
        """Return the cell of a row and a column, if it is to be run."""
        made = cell(
            row.policy, column.instance, row.memory, column.horizon, row.runs, SEED,
            **column.traffic,
        )  # fmt: skip
        arms = made.instance.n_arms
        if self.most_arms is None:
            return made
        too_many = row.memory is None and arms > self.most_arms
        return None if too_many or (row.memory or 0) > arms else made

    def cells(self) -> Iterator[Cell]:
        """Yield the cells to run."""
        for row in self.rows:
            for column in self.columns:
                if (made := self.planned(row, column)) is not None:
                    yield made

    def markdown(self, found: Results) -> str:
        """Return the table."""
        written = [
            [self._entry(self.planned(row, column), found) for column in self.columns]
            for row in self.rows
        ]
        heads, labels = [one.head for one in self.columns], [one.label for one in self.rows]
        if self.across:
            written = [list(one) for one in zip(*written, strict=True)]
            heads, labels = labels, heads
        lines = [[self.corner, *heads], ["---", *["--:"] * len(heads)]]
        lines += [[label, *entries] for label, entries in zip(labels, written, strict=True)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _entry(self, made: Cell | None, found: Results) -> str:
        return "-" if made is None else self.show(found.at(made).regret)


RACES = tuple(Row(f"Race, M = {m}", "race", m, 200) for m in (2, 8, 64))
TSM = Row("TS-M, M = 8", "ts-m", 8, 100)
THOMPSON = Row("Thompson sampling", "ts", None, 25)
IMED = Row("IMED", "imed", None, 25)
CLICKS, LINEAR = "linear:300:0.05", "linear:100"
FIFTY = evenly(0.9, 0.1, 50)
MILLION = 10**6


def _stationary(head: str, instance: str) -> Column:
    return Column(head, instance, MILLION, {})


def _late(instance: str, horizon: int, *delays: tuple[str, str | None, float | None]) -> Any:
    return tuple(
        Column(head, instance, horizon, {"delay": delay, "lost": lost})
        for head, delay, lost in delays
    )


def _clicks_only(window: int) -> Column:
    traffic = {"delay": "geometric:200", "clicks_only": window}
    return Column(f"W = {window:,}", CLICKS, 50_000, traffic)


REPORTED = Column("all rewards reported", CLICKS, 50_000, {"delay": "geometric:200"})
WINDOWS = (REPORTED, *(_clicks_only(window) for window in (100, 200, 400, 700, 1000, 2000)))
TABLES = {
    "memory": [
        Table(
            "regret after 10⁶ pulls (99th percentile / mean)",
            (
                *(Row(f"M = {m}", "race", m, 200) for m in (2, 4, 8, 16)),
                Row("IMED, all arms in memory", "imed", None, 40),
            ),
            (
                _stationary("B_L^100", LINEAR),
                _stationary("B_0.3^100", "power:100:0.3"),
                _stationary("B_L^10", "linear:10"),
                _stationary("0.55 among 19 of 0.5", repeated((1, 0.55), (19, 0.5))),
                _stationary("0.51 among 19 of 0.5", repeated((1, 0.51), (19, 0.5))),
                _stationary(
                    "0.35, 9 of 0.33, 90 of 0.2", repeated((1, 0.35), (9, 0.33), (90, 0.2))
                ),
                _stationary("0.9 among 999 of 0.1", repeated((1, 0.9), (999, 0.1))),
                _stationary("0.5 among 299 of 0.3", repeated((1, 0.5), (299, 0.3))),
            ),
            shown_with_tail,
            across=True,
            most_arms=100,
        )
    ],
    "clicks": [
        Table(
            "regret",
            (*RACES, TSM, THOMPSON, IMED, Row("QPM-D around IMED", "qpm-d", None, 25)),
            _late(
                CLICKS,
                50_000,
                ("at once", None, None),
                ("20 later", "20", None),
                ("200 later", "200", None),
                ("2,000 later", "2000", None),
                ("200 on average, a fifth lost", "geometric:200", 0.2),
                ("in batches of 500", "batch:500", None),
            ),
        )
    ],
    "linear": [
        Table(
            "regret",
            (*RACES, TSM, THOMPSON, IMED),
            _late(
                LINEAR,
                100_000,
                ("at once", None, None),
                ("200 later", "200", None),
                ("2,000 later", "2000", None),
                ("in batches of 500", "batch:500", None),
            ),
        )
    ],
    "drift": [
        Table(
            "regret",
            (
                Row("Race", "race", 8, 200),
                Row("Race, `every=20000`", "race:every=20000", 8, 200),
                Row("Race, `watch=0`", "race:watch=0", 8, 200),
                Row("Race, M = 2", "race", 2, 200),
                Row("TS-M", "ts-m", 8, 100),
                THOMPSON,
                Row("discounted Thompson sampling", "discounted-ts", None, 25),
                Row("sliding-window Thompson sampling", "sliding-window-ts", None, 25),
                Row("GLR-klUCB", "glr-klucb", None, 25),
                IMED,
            ),
            tuple(
                Column(head, FIFTY, 100_000, {"drift": drift})
                for head, drift in (
                    ("no drift", None), ("falls", "falls"), ("rises", "rises"),
                    ("swaps", "swap:5"), ("walk", "walk:0.01"),
                )
            ),
        )
    ],
    "churn": [
        Table(
            "regret",
            (
                Row("Race, M = 8", "race", 8, 50),
                Row("TS-M, M = 8", "ts-m", 8, 50),
                Row("UCB-M, M = 8", "ucb-m", 8, 50),
                Row("Thompson sampling, all arms in memory", "ts", None, 50),
            ),
            tuple(
                Column(head, FIFTY, 100_000, {"churn": churn})
                for head, churn in (
                    ("never", None), ("every 10,000", 10_000), ("every 1,000", 1000),
                    ("every 100", 100),
                )
            ),
        )
    ],
    "clicks-only": [
        Table("", (Row("regret", "race", 8, 200),), WINDOWS),
        Table("", (Row("its 99th percentile", "race", 8, 200),), WINDOWS, tail),
    ],
}  # fmt: skip


def main(names: list[str]) -> None:
    """Run what is missing, and print the tables."""
    unknown = set(names) - set(TABLES)
    if unknown:
        raise SystemExit(f"no such table: {', '.join(sorted(unknown))}; give {', '.join(TABLES)}")
    CELLS.mkdir(parents=True, exist_ok=True)
    for name in names or TABLES:
        for one in TABLES[name]:
            found = run_cells(Store(CELLS), list(one.cells()), None, False)
            print(f"\n{name}\n\n{one.markdown(found)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
