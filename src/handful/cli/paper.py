"""`handful paper`: the paper's tables, figures and claims, from simulation to report."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from handful.cli.show import HELP, number, progress, table
from handful.errors import SettingError, WriteError
from handful.simulation.files import reason
from handful.simulation.plan import Cell, whole
from handful.studies.paper import beyond, claims, report, tables
from handful.studies.paper.experiments import EXPERIMENTS, Table, recorded
from handful.studies.paper.verdict import Claim
from handful.studies.results import Results
from handful.studies.store import Store
from handful.studies.timing import TimeLeft, work

CLAIMS = "claims"
ALL = "all"


@click.command("paper", context_settings=HELP)
@click.argument("names", nargs=-1, type=click.Choice([*EXPERIMENTS, CLAIMS, ALL]))
@click.option("--runs", type=number, help="Runs of each cell; 20 in tables, 100 in figures.")
@click.option("--seed", type=int, default=0, show_default=True, help="Any integer.")
@click.option("--n-jobs", "-j", type=number, help="Workers; all cores unless given.")
@click.option("--fresh", is_flag=True, help="Run finished cells again.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("report"),
    show_default=True, help="Folder for the report, figures and finished cells.",
)  # fmt: skip
def command(
    names: tuple[str, ...],
    runs: int | None,
    seed: int,
    n_jobs: int | None,
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
    claims  what the paper says, and what the numbers say of it (needs all of the above)
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
    results = run_cells(Store(report_folder(out) / "cells"), cells, n_jobs, fresh)
    figures = [name for name in wanted if name in EXPERIMENTS and not _is_table(name)]

    def write() -> list[Path]:
        drawn = report.draw_all(results, figures, out)
        written = _report(results, out, seed, n_jobs, fresh) if everything else []
        return [*drawn, *reversed(written)]

    files, failed = try_to_write(write, out)
    if as_json:
        data = {name: _data(name, plan.get(name, []), results) for name in wanted}
        click.echo(json.dumps(data if len(data) > 1 else data[wanted[0]]))
    else:
        for name in wanted:
            if name == CLAIMS:
                _print_claims(claims.judged(results))
            elif _is_table(name):
                _print_table(name, results, whole_table=not everything)
        for path in files:
            click.echo(path)
    if failed is not None:
        raise failed


def try_to_write(
    write: Callable[[], list[Path]], out: Path
) -> tuple[list[Path], WriteError | None]:
    """Write files; an error is returned, so that the numbers can be printed before it."""
    try:
        return write(), None
    except WriteError as error:
        return [], error
    except OSError as error:
        where = error.filename or out
        return [], WriteError(f"{where} cannot be written: {reason(error)}")


def report_folder(out: Path) -> Path:
    """The folder to write to, made before any work is done."""
    try:
        (out / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"--out {out}: {error.strerror}") from None
    for folder in (out, out / "cells"):
        if not os.access(folder, os.W_OK):
            raise SettingError(f"--out {out}: the folder {folder} cannot be written to")
    return out


def _is_table(name: str) -> bool:
    return isinstance(EXPERIMENTS.get(name), Table)


def _plan(names: Sequence[str], runs: int | None, seed: int) -> dict[str, list[Cell]]:
    return {
        name: list(EXPERIMENTS[name].cells(runs or EXPERIMENTS[name].default_runs, seed))
        for name in names
    }


def run_cells(store: Store, cells: list[Cell], n_jobs: int | None, fresh: bool) -> Results:
    """Run the missing cells with progress on standard error; returns the results of all."""
    todo = {store.path(planned): planned for planned in cells}
    missing = list(todo.values()) if fresh else store.missing(cells)
    cached = len(todo) - len(missing)
    pulls = sum(planned.horizon * planned.runs for planned in missing)
    click.echo(
        f"{len(missing)} cells to run, {pulls / 1e6:,.0f} million pulls"
        + (f"; {cached} are cached" if cached else "")
        + f"; results are saved in {store.folder}",
        err=True,
    )
    total = sum(map(work, missing))
    timing = TimeLeft(missing)
    starting = "starting (kernels are compiled once, then cached)"
    try:
        with progress(total, starting, 30, timing.seconds) as show:
            results = store.run(list(todo.values()), show, n_jobs, fresh, timing)
    except KeyboardInterrupt:
        left = len(store.missing(cells))
        click.echo(f"{left} cells are missing; the same command resumes the run", err=True)
        raise
    if store.unsaved is not None:
        click.echo(f"finished cells were not all saved: {store.unsaved}", err=True)
    return results


def _report(results: Results, out: Path, seed: int, n_jobs: int | None, fresh: bool) -> list[Path]:
    planned = recorded(seed)
    found = Store(out / "cells").run(planned, lambda done, what: None, n_jobs, fresh)
    return report.write(results, [found.at(one) for one in planned], out, seed)


def _data(name: str, cells: list[Cell], results: Results) -> list[dict[str, Any]]:
    if name == CLAIMS:
        return [claim.to_dict() for claim in claims.judged(results)]
    experiment = EXPERIMENTS[name]
    if isinstance(experiment, Table):
        return [cell.to_dict() for cell in tables.measured(experiment, results)]
    return [results.at(planned).to_dict() for planned in cells]


def _print_table(name: str, results: Results, whole_table: bool) -> None:
    """A table cell by cell, or, where the report has it, only how well it agrees."""
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
