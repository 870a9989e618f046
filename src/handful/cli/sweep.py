"""`handful sweep`: run the cells of a spec, here or on a cluster, and resume after a crash."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import click

from handful.cli import options
from handful.cli.cells import failed, on_cluster, run_parts
from handful.cli.show import HELP, in_words, say_data, table
from handful.errors import shortened
from handful.simulation import Result
from handful.sweeps import Sweep
from handful.sweeps.calibration import estimate
from handful.sweeps.folder import CELLS, owned, read_manifest, write_manifest
from handful.sweeps.part import all_sources
from handful.sweeps.running import plan, workers_of
from handful.sweeps.spec import Spec, read_spec
from handful.sweeps.store import Entry, Store
from handful.sweeps.task import Failure


@click.command("sweep", context_settings=HELP)
@click.argument("spec", type=click.Path(dir_okay=False, path_type=Path), metavar="SPEC.toml")
@click.option(
    "--out", "-o", required=True, type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Folder for the results, a Parquet file for each range of runs.",
)  # fmt: skip
@options.cluster
@options.n_jobs
@click.option("--fresh", is_flag=True, help="Run finished cells again.")
@click.option(
    "--dry-run", is_flag=True,
    help="Check the spec, print its cells and about how long the missing ones take; a short run of "
    "each kind of cell is made for it, and nothing is written.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print an object with the cells as JSON.")
def command(
    spec: Path,
    out: Path,
    cluster: str | None,
    n_jobs: int | None,
    fresh: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Simulate the cells of a spec, here or on a Dask cluster.

    \b
    handful sweep spec.toml --out DIR
    handful sweep spec.toml --out DIR --cluster tcp://10.0.0.1:8786

    The spec has tables [[grid]] with the keys policy, memory, instance, horizon, runs, seed,
    engine, tape, record, delay, lost, drift, clicks_only and churn, whose products are the cells;
    it is checked as a whole before anything starts. Finished ranges of runs are never run again:
    the same command resumes a sweep that was stopped. A cell that fails is named at the end, and
    stops no others.
    """
    checked = read_spec(spec)
    say_data(part.cell.instance for part in checked.cells)
    if dry_run:
        _dry_run(checked, out, cluster, n_jobs, as_json)
        return
    entries = [Entry.of(part) for part in checked.cells]
    with owned(out):
        _say_what_changed(out, entries)
        store = Store(out / CELLS)
        if others := store.others(checked.cells):
            click.echo(
                f"{others} files in {store.folder} are of other cells, or of these by other "
                "sources of handful: they are not used",
                err=True,
            )
        write_manifest(out, checked, entries)
        with on_cluster(cluster) as joined:
            failures = run_parts(store, checked.cells, n_jobs, fresh, joined)
    found = Sweep(out, entries, store)
    if as_json:
        _print_json(found, failures)
    else:
        _print(found)
    if failures:
        raise failed(failures, len(entries))


def _say_what_changed(out: Path, entries: list[Entry]) -> None:
    """Say where the folder has cells of another spec or of other sources."""
    before = read_manifest(out)
    if before is None:
        return
    if before["sources"] != all_sources():
        click.echo(
            f"{out} was last written by other sources of handful (version {before['version']}): "
            "cells that they decide are run again",
            err=True,
        )
        return
    old, new = ({entry.name for entry in some} for some in (_entries(before), entries))
    if old != new:
        click.echo(
            f"the spec has changed since {out} was last written: {len(new - old)} cells are new, "
            f"{len(old - new)} are no longer in it",
            err=True,
        )


def _entries(manifest: dict[str, object]) -> list[Entry]:
    cells = manifest["cells"]
    assert isinstance(cells, list)
    return [Entry.from_dict(one) for one in cells]


def _dry_run(
    checked: Spec, out: Path, cluster: str | None, n_jobs: int | None, as_json: bool
) -> None:
    store = Store(out / CELLS)
    with on_cluster(cluster) as joined:
        workers = workers_of(None, n_jobs) if joined is None else joined.workers
    planned = plan(store, checked.cells, workers, alone=cluster is None, delete=False)

    def report(what: str) -> None:
        if sys.stderr.isatty():
            click.echo(f"calibrating: {shortened(what)}", err=True)

    found = estimate(planned.parts, workers, report)
    runs: dict[str, int] = {}
    parts: dict[str, int] = {}
    for part in planned.parts:
        runs[part.key] = runs.get(part.key, 0) + part.cell.runs
        parts[part.key] = parts.get(part.key, 0) + 1
    if as_json:
        cells = [
            {
                **dict(Entry.of(part).identity),
                "runs": part.cell.runs,
                "missing_runs": runs.get(part.key, 0),
                "parts": parts.get(part.key, 0),
            }
            for part in checked.cells
        ]
        data = {
            "cells": cells,
            "workers": workers,
            "seconds": found.seconds,
            "core_seconds": found.core_seconds,
        }
        click.echo(json.dumps(data))
        return
    rows = [
        [
            part.cell.label,
            shortened(part.cell.world, 40),
            str(part.cell.memory),
            f"{part.cell.horizon:.6g}",
            str(part.cell.runs),
            str(runs.get(part.key, 0)),
            str(parts.get(part.key, 0)),
            part.engine,
        ]
        for part in checked.cells
    ]
    heads = ["policy", "world", "M", "horizon", "runs", "missing", "parts", "engine"]
    table(heads, rows, left=2)
    if not planned.parts:
        click.echo("nothing is missing")
        return
    said = in_words(found.seconds).replace(" left", "")
    click.echo(f"{said} with {workers} workers, {found}; the truth may be a few times less or more")


def _print(found: Sweep) -> None:
    heads = ["policy", "world", "M", "horizon", "runs", "regret", "± s.e.", "median", "engine"]
    table(heads, [_row(result) for result in found], left=2, spare=("engine", "median", "runs"))


def _row(result: Result) -> list[str]:
    s, regret = result.settings, result.regret
    return [
        s["label"],
        shortened(result.world, 40),
        str(s["memory"]),
        f"{s['horizon']:.6g}",
        str(s["runs"]),
        f"{regret.mean:.1f}",
        "-" if math.isnan(regret.sem) else f"{regret.sem:.1f}",
        f"{regret.median:.1f}",
        s["engine"],
    ]


def _print_json(found: Sweep, failures: list[Failure]) -> None:
    """Print an object; cells are written one by one, since there may be many."""
    click.echo('{"cells": [', nl=False)
    for index, result in enumerate(found):
        click.echo(("," if index else "") + json.dumps(result.to_dict()), nl=False)
    lost = [
        {"cell": one.cell, "first_run": one.runs.start, "runs": len(one.runs), "error": one.error}
        for one in failures
    ]
    click.echo(f'], "failed": {json.dumps(lost)}, "out": {json.dumps(str(found.folder))}}}')
