"""`handful paper`: the paper's figures, from simulation to picture."""

from __future__ import annotations

from pathlib import Path

import click

from handful.cli.show import number, progress
from handful.paper import figures
from handful.paper.experiments import FIGURES
from handful.paper.store import Store
from handful.simulation.plan import Cell, whole
from handful.simulation.plot import save


@click.command("paper")
@click.argument("names", nargs=-1, type=click.Choice([*FIGURES, "all"]))
@click.option("--runs", type=number, default=100, show_default=True, help="Runs of each cell.")
@click.option("--seed", type=int, default=0, show_default=True, help="Any whole number.")
@click.option("--n-jobs", "-j", type=number, help="Workers; all cores unless given.")
@click.option("--fresh", is_flag=True, help="Run finished cells again.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("report"),
    show_default=True, help="Folder for figures and finished cells.",
)  # fmt: skip
def command(
    names: tuple[str, ...], runs: int, seed: int, n_jobs: int | None, fresh: bool, out: Path
) -> None:
    """Reproduce the paper's figures.

    \b
    fig1  K = 100, M = 2: regret of each policy on three instances
    fig2  regret by memory and horizon on B_L^100
    fig3  K = 10, M = 2: regret and pulls by arm
    fig4  as fig2 on B_0.3^100
    fig5  as fig2 on B_0.6^100

    Finished cells are kept under --out, so a run that was stopped goes on where it was.
    """
    runs = whole("runs", runs, 10**6)
    wanted = list(FIGURES) if not names or "all" in names else list(dict.fromkeys(names))
    plans = {name: list(FIGURES[name].cells(runs, seed)) for name in wanted}
    store = Store(out / "cells")
    total = sum(_pulls(cells) for cells in plans.values())
    before = 0
    click.echo(
        f"{total / 1e6:,.0f} million pulls; finished cells are kept in {store.folder}", err=True
    )
    with progress(total, "starting (kernels are compiled once, then kept)") as show:
        for name, cells in plans.items():

            def report(done: int, what: str, before: int = before, name: str = name) -> None:
                show(before + done, f"{name}: {what}")

            results = store.run(cells, report, n_jobs, fresh)
            drawn = figures.draw(name, FIGURES[name], results, runs)
            for ending in ("png", "svg"):
                save(drawn, str(out / f"{name}.{ending}"))
            click.echo(out / f"{name}.png")
            before += _pulls(cells)


def _pulls(cells: list[Cell]) -> int:
    return sum(planned.horizon * planned.runs for planned in cells)
