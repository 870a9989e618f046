"""`handful leaderboard`: every policy on the paper's instances and on others, on one page."""

from __future__ import annotations

import json
from pathlib import Path

import click

from handful.cli.paper import report_folder, run_cells, try_to_write
from handful.cli.show import HELP, number, table
from handful.simulation.plan import whole
from handful.studies.leaderboard import drift, page
from handful.studies.leaderboard.arenas import RUNS, cells
from handful.studies.leaderboard.scores import Board, board
from handful.studies.store import Store


@click.command("leaderboard", context_settings=HELP)
@click.option(
    "--runs", type=number, default=RUNS, show_default=True,
    help="Runs of each cell on the paper's instances, and of Race; fewer where a cell is slow.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Any integer.")
@click.option("--n-jobs", "-j", type=number, help="Workers; all cores unless given.")
@click.option("--fresh", is_flag=True, help="Run finished cells again.")
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("report"),
    show_default=True, help="Folder for the page, its figures and finished cells.",
)  # fmt: skip
def command(
    runs: int, seed: int, n_jobs: int | None, fresh: bool, as_json: bool, out: Path
) -> None:
    """Compare every policy on the paper's ten instances and on others: leaderboard.html.

    \b
    handful leaderboard             up to 1000 runs a cell: an hour or two
    handful leaderboard --runs 40   a first look: some minutes

    Prints Race beside the best of the paper's policies with the same memory, instance by instance.
    Finished cells are cached under --out, so a run that was stopped is resumed.
    """
    runs = whole("runs", runs, 10**6)
    store = Store(report_folder(out) / "cells")
    found = board(run_cells(store, list(cells(runs, seed)), n_jobs, fresh))

    def write() -> list[Path]:
        changing = drift.simulate(
            store.folder, seed, min(runs, drift.RUNS), lambda what: click.echo(what, err=True),
            fresh,
        )  # fmt: skip
        written = page.write(found, changing, out, seed)
        return [*written[1:], written[0]]

    files, failed = try_to_write(write, out)
    if as_json:
        click.echo(json.dumps([score.to_dict() for score in found]))
    else:
        _print(found)
        for path in files:
            click.echo(path)
    if failed is not None:
        raise failed


def _print(found: Board) -> None:
    rows = [
        [
            duel.race.arena.name.replace("$", "") + "*" * duel.race.arena.held_out,
            str(duel.race.entry.memory),
            f"{duel.race.mean:,.0f}",
            f"{duel.race.p99:,.0f}",
            duel.best.entry.title,
            f"{duel.best.mean:,.0f}",
            f"{duel.ratio:.2f}",
        ]
        for duel in found.duels()
    ]
    heads = ["instance", "M", "race", "its p99", "the paper's best", "its regret", "ratio"]
    table(heads, rows)
    if any(duel.race.arena.held_out for duel in found.duels()):
        click.echo("* held out: had no say in any choice of Race's constants")
