"""`handful paper`: reproduce the paper's tables, figures and claims, and write a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from handful.cli import options
from handful.cli.cells import deliver, loaded, report_folder, run_cells
from handful.cli.show import HELP, number, table
from handful.simulation.plan import Cell, whole
from handful.studies.paper import beyond, claims, report, tables
from handful.studies.paper.experiments import EXPERIMENTS, Table, recorded
from handful.studies.paper.verdict import Claim
from handful.studies.results import Results
from handful.sweeps.store import Store

CLAIMS = "claims"
ALL = "all"


@click.command("paper", context_settings=HELP)
@click.argument("names", nargs=-1, type=click.Choice([*EXPERIMENTS, CLAIMS, ALL]))
@click.option("--runs", type=number, help="Runs of each cell; 20 in tables, 100 in figures.")
@options.of_a_report("the numbers", "the report, figures")
def command(
    names: tuple[str, ...],
    runs: int | None,
    seed: int,
    n_jobs: int | None,
    cluster: str | None,
    fresh: bool,
    as_json: bool,
    out: Path,
) -> None:
    """Reproduce the paper: its tables, figures and claims.

    \b
    table1  endless arms, alpha = 0.347, beside older rules
    table2  the same with alpha = 0.205
    fig1    K = 100, M = 2: regret beside UCBConstantSpace
    fig2    regret by memory and horizon on B_L^100
    fig3    K = 10, M = 2: regret and pulls by arm
    fig4    as fig2 on B_0.3^100
    fig5    as fig2 on B_0.6^100
    claims  the paper's claims, and the verdict of our numbers (needs all of the above)
    all     everything, and the report: index.html, report.md, report.tex

    Without a name: all. Finished cells are cached under --out, so a run that was stopped is
    resumed. With --json: of one name its numbers, of several an object with an entry for each.
    """
    runs = None if runs is None else whole("runs", runs, 10**6)
    everything = not names or ALL in names
    wanted = [*EXPERIMENTS, CLAIMS] if everything else list(dict.fromkeys(names))
    needed = list(EXPERIMENTS) if CLAIMS in wanted else wanted
    plan = _plan(needed, runs, seed)
    cells = [planned for group in plan.values() for planned in group]
    if everything:
        cells += beyond.cells(runs or beyond.RUNS, seed)
    store = Store(report_folder(out) / "cells")
    with_records = [*cells, *recorded(seed)] if everything else cells
    run_cells(store, with_records, n_jobs, fresh, cluster)
    results = loaded(store, cells)
    figures = [name for name in wanted if name in EXPERIMENTS and not _is_table(name)]

    def write() -> list[Path]:
        drawn = report.draw_all(results, figures, out)
        written = _report(results, out, seed, store) if everything else []
        return [*drawn, *reversed(written)]

    def data() -> object:
        found = {name: _data(name, plan.get(name, []), results) for name in wanted}
        return found if len(found) > 1 else found[wanted[0]]

    def show() -> None:
        for name in wanted:
            if name == CLAIMS:
                _print_claims(claims.judged(results))
            elif _is_table(name):
                _print_table(name, results, whole_table=not everything)

    deliver(write, out, as_json, data, show)


def _is_table(name: str) -> bool:
    return isinstance(EXPERIMENTS.get(name), Table)


def _plan(names: Sequence[str], runs: int | None, seed: int) -> dict[str, list[Cell]]:
    return {
        name: list(EXPERIMENTS[name].cells(runs or EXPERIMENTS[name].default_runs, seed))
        for name in names
    }


def _report(results: Results, out: Path, seed: int, store: Store) -> list[Path]:
    planned = recorded(seed)
    found = loaded(store, planned)
    return report.write(results, [found.at(one) for one in planned], out, seed)


def _data(name: str, cells: list[Cell], results: Results) -> list[dict[str, Any]]:
    if name == CLAIMS:
        return [claim.to_dict() for claim in claims.judged(results)]
    experiment = EXPERIMENTS[name]
    if isinstance(experiment, Table):
        return [cell.to_dict() for cell in tables.measured(experiment, results)]
    return [results.at(planned).to_dict() for planned in cells]


def _print_table(name: str, results: Results, whole_table: bool) -> None:
    """Print a table cell by cell, or, where the report has it, only how well it agrees."""
    experiment = EXPERIMENTS[name]
    assert isinstance(experiment, Table)
    cells = tables.measured(experiment, results)
    title = f"Table {name.removeprefix('table')}, alpha = {experiment.alpha}"
    if whole_table:
        click.echo(f"{title}: regret / 1e5 after 1e6 pulls, mean ± standard error")
        heads = ["algorithm", "M", "instance", "printed", "measured", "runs", "z"]
        table(heads, [_row(cell) for cell in cells])
    count, within, farthest = tables.agreement(cells)
    agreed = "one run has no standard error: give --runs 2 or more to compare"
    if count:
        agreed = (
            f"{within} of {count} cells of the paper's algorithms within 3 standard errors, "
            f"the farthest at {farthest:.1f}"
        )
    if count and tables.has_few_runs(cells):
        agreed += f" (fewer than {tables.FEW_RUNS} runs a cell: too few to judge by)"
    click.echo(f"{title}: {agreed}")


def _row(cell: tables.TableCell) -> list[str]:
    return [
        cell.row,
        str(cell.memory),
        cell.instance,
        f"{cell.published_mean:.2f} ± {cell.published_sem:.3g}",
        f"{cell.mean:.3f}" + ("" if math.isnan(cell.sem) else f" ± {cell.sem:.3f}"),
        str(cell.runs),
        "-" if math.isnan(cell.z) else f"{cell.z:+.1f}",
    ]


def _print_claims(judged: Sequence[Claim]) -> None:
    rows = [
        [claim.title, claim.verdict, *(str(count) for count in claim.counts)] for claim in judged
    ]
    table(["claim", "verdict", "hold", "against", "too close"], rows, left=2)
