"""`handful leaderboard`: compare all policies; late rewards and drift on pages of their own."""

from __future__ import annotations

from pathlib import Path

import click

from handful.cli import options
from handful.cli.cells import deliver, report_folder, run_cells
from handful.cli.show import HELP, number, table
from handful.simulation.plan import whole
from handful.studies.leaderboard import page
from handful.studies.leaderboard.arenas import RUNS, cells
from handful.studies.leaderboard.conditions import SHEETS
from handful.studies.leaderboard.scores import Board, board
from handful.sweeps.store import Store


@click.command("leaderboard", context_settings=HELP)
@click.option(
    "--runs", type=number, default=RUNS, show_default=True,
    help="Runs of each cell on the paper's instances, and of Race; fewer where a cell is slow.",
)  # fmt: skip
@options.of_a_report("the scores", "the page, its figures")
def command(
    runs: int,
    seed: int,
    n_jobs: int | None,
    cluster: str | None,
    fresh: bool,
    as_json: bool,
    out: Path,
) -> None:
    """Compare every policy on the paper's ten instances and on others: leaderboard.html.

    Two more pages compare some of them where rewards come late or never, and where means change.

    \b
    handful leaderboard             up to 1000 runs a cell: an hour or two
    handful leaderboard --runs 40   a first look: some minutes

    Prints Race beside the best of the paper's policies with the same memory, instance by instance.
    Finished cells are cached under --out, so a run that was stopped is resumed.
    """
    runs = whole("runs", runs, 10**6)
    store = Store(report_folder(out) / "cells")
    in_sheets = [one for sheet in SHEETS for one in sheet.cells(runs, seed)]
    results = run_cells(store, [*cells(runs, seed), *in_sheets], n_jobs, fresh, cluster)
    found = board(results)

    def write() -> list[Path]:
        written = page.write(found, out, seed)
        more = [path for sheet in SHEETS for path in page.write_sheet(sheet, results, out, seed)]
        return [*written[1:], *more, written[0]]

    def data() -> object:
        boards = [found, *(sheet.board(results) for sheet in SHEETS)]
        return [score.to_dict() for one in boards for score in one]

    deliver(write, out, as_json, data, lambda: _print(found))


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
