"""Make the figures of README.md and docs/.

    python -m handful.cli.figures [--out docs/images] [--cells report/cells]

headline.png     8 of 10,000 headlines in memory, or all of them
fig1.png         the paper's Figure 1
memory.png       which arms are in memory when, in one run of Race
leaderboard.png  every policy beside IMED, on the paper's finite sets and with small gaps
drift.png        what happens when means change

Finished cells are cached and not run twice. bench.png is made by `handful bench`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from handful.cli.cells import run_cells
from handful.plots.style import save
from handful.simulation.plan import cell
from handful.studies import headline
from handful.studies.leaderboard import arenas, conditions
from handful.studies.leaderboard import figures as leaderboard
from handful.studies.leaderboard.scores import board_on
from handful.studies.paper import figures, report
from handful.studies.paper.experiments import EXPERIMENTS
from handful.sweeps.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 0
LEADERBOARD_SHOWN = (*arenas.FINITE, *arenas.HARDER[:2])
LEADERBOARD_RUNS = 20
"""Enough for a picture of means; the page with all its percentiles takes 1000."""
DRIFT_RUNS = 1000
"""As `handful leaderboard` asks for; a cell has a fifth of them or fewer."""
RACE_SHOWN = ("race", "linear:20:0.05", 4, 100_000)
"""Policy, instance, memory and horizon of the run whose memory is shown."""


def draw_headline(store: Store, out: Path) -> Path:
    """Draw `headline.png`."""
    planned = headline.cells(SEED)
    found = run_cells(store, planned, None, False)
    return _saved(headline.draw(*(found.at(one) for one in planned)), out / "headline.png")


def draw_fig1(store: Store, out: Path) -> Path:
    """Draw `fig1.png`."""
    experiment = EXPERIMENTS["fig1"]
    found = run_cells(store, list(experiment.cells(experiment.default_runs, SEED)), None, False)
    return _saved(report.drawn_figure("fig1", found), out / "fig1.png")


def draw_memory(store: Store, out: Path) -> Path:
    """Draw `memory.png`."""
    planned = cell(*RACE_SHOWN, 1, SEED, record=True)
    found = run_cells(store, [planned], None, False)
    return _saved(figures.timeline(found.at(planned)), out / "memory.png")


def draw_leaderboard(store: Store, out: Path) -> Path:
    """Draw `leaderboard.png`."""
    planned = [
        arenas.planned(arena, entry, LEADERBOARD_RUNS, SEED)
        for arena in LEADERBOARD_SHOWN
        for entry in arenas.entries(arena)
    ]
    found = board_on(LEADERBOARD_SHOWN, run_cells(store, planned, None, False))
    return _saved(leaderboard.relative(found), out / "leaderboard.png")


def draw_drift(store: Store, out: Path) -> Path:
    """Draw `drift.png`."""
    planned = list(conditions.DRIFT.cells(DRIFT_RUNS, SEED))
    found = run_cells(store, planned, None, False)
    return _saved(conditions.draw(conditions.DRIFT, found), out / "drift.png")


def _saved(made: Figure, path: Path) -> Path:
    save(made, str(path))
    return path


PICTURES: dict[str, Callable[[Store, Path], Path]] = {
    "headline": draw_headline,
    "fig1": draw_fig1,
    "memory": draw_memory,
    "leaderboard": draw_leaderboard,
    "drift": draw_drift,
}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(PICTURES)))
@click.option("--out", type=click.Path(path_type=Path), default=Path("docs/images"))
@click.option("--cells", type=click.Path(path_type=Path), default=Path("report/cells"))
def main(names: tuple[str, ...], out: Path, cells: Path) -> None:
    """Draw the pictures of README.md and docs/: all of them, or those named."""
    out.mkdir(parents=True, exist_ok=True)
    for name in names or PICTURES:
        click.echo(PICTURES[name](Store(cells), out))


if __name__ == "__main__":
    main()
