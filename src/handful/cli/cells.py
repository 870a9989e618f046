"""Options and functions of the commands that run many cells: `sweep`, `paper`, `leaderboard`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from handful.cli.show import progress
from handful.errors import ClusterError, SettingError, SweepError, WriteError
from handful.files.writing import reason
from handful.simulation.plan import Cell
from handful.studies.results import Results
from handful.sweeps.part import Part, merged
from handful.sweeps.running import Plan, plan, run, workers_of
from handful.sweeps.store import Store
from handful.sweeps.task import Failure
from handful.sweeps.timing import TimeLeft

if TYPE_CHECKING:
    from handful.sweeps.cluster import Cluster


def report_folder(out: Path) -> Path:
    """Return the folder to write to, made before any work is done."""
    try:
        (out / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"--out {out}: {error.strerror}") from None
    for folder in (out, out / "cells"):
        if not os.access(folder, os.W_OK):
            raise SettingError(f"--out {out}: the folder {folder} cannot be written to")
    return out


def run_cells(
    store: Store, cells: list[Cell], n_jobs: int | None, fresh: bool, cluster: str | None = None
) -> Results:
    """Run the missing runs with progress on standard error; returns the results of all cells."""
    wholes = merged(Part.whole(planned) for planned in cells)
    with on_cluster(cluster) as joined:
        failures = run_parts(store, wholes, n_jobs, fresh, joined)
    if failures:
        raise failed(failures, len(wholes))
    return loaded(store, cells)


def loaded(store: Store, cells: list[Cell]) -> Results:
    """Return the results of cells that are finished."""
    results = Results()
    for planned in cells:
        result = store.load(Part.whole(planned))
        assert result is not None
        results.add(planned, result)
    return results


def failed(failures: list[Failure], cells: int) -> SweepError:
    """Return the error that names the cells that failed."""
    lines = "\n  ".join(str(failure) for failure in failures)
    return SweepError(
        f"{len(failures)} of {cells} cells failed, and the others are saved; the same command runs "
        f"the missing ones again:\n  {lines}"
    )


@contextmanager
def on_cluster(address: str | None) -> Iterator[Cluster | None]:
    """Join the cluster of --cluster, if it is given."""
    if address is None:
        yield None
        return
    from handful.sweeps.cluster import joined

    click.echo(f"joining the cluster {address}", err=True)
    with joined(address) as cluster:
        click.echo(f"{cluster.workers} workers", err=True)
        yield cluster


def run_parts(
    store: Store,
    wholes: list[Part],
    n_jobs: int | None,
    fresh: bool,
    cluster: Cluster | None,
) -> list[Failure]:
    """Run what is missing of cells, with progress on standard error; returns what failed."""
    executor = None if cluster is None else cluster.executor
    workers = cluster.workers if cluster is not None else workers_of(None, n_jobs)
    if fresh:
        store.discard(wholes)
    planned = plan(store, wholes, workers, alone=cluster is None)
    _say_what_is_there(store, planned)
    timing = TimeLeft(planned.parts, workers=1 if cluster is None else workers)
    starting = "starting (kernels are compiled once, then cached)"
    try:
        with progress(planned.work, starting, 30, timing.seconds) as show:
            failures = run(store, planned, show, executor, n_jobs, timing)
    except (KeyboardInterrupt, ClusterError) as error:
        left = plan(store, wholes, workers, alone=cluster is None, delete=False).cells
        what = f"{left} cells are missing or incomplete; the same command resumes the run"
        if isinstance(error, ClusterError):
            where = "" if cluster is None else f"{cluster.address}: "
            raise ClusterError(f"{where}{error}. Finished parts are saved: {what}") from None
        click.echo(what, err=True)
        raise
    if store.unsaved is not None:
        click.echo(f"finished cells were not all saved: {store.unsaved}", err=True)
    return failures


def _say_what_is_there(store: Store, planned: Plan) -> None:
    for path, why in planned.damaged.items():
        click.echo(f"{path.name} is not used, and its runs are run again: {why}", err=True)
    parts = f" in {len(planned.parts)} parts" if len(planned.parts) > planned.cells else ""
    click.echo(
        f"{planned.cells} cells to run{parts}, {planned.pulls / 1e6:,.0f} million pulls"
        + (f"; {planned.finished} are cached" if planned.finished else "")
        + f"; results are saved in {store.folder}",
        err=True,
    )


def deliver(
    write: Callable[[], list[Path]],
    out: Path,
    as_json: bool,
    data: Callable[[], object],
    show: Callable[[], None],
) -> None:
    """Write files and print the numbers, as JSON or as a table and the files' names.

    Files that cannot be written are an error, but the numbers are printed before it.
    """
    files, failed = _try_to_write(write, out)
    if as_json:
        click.echo(json.dumps(data()))
    else:
        show()
        for path in files:
            click.echo(path)
    if failed is not None:
        raise failed


def _try_to_write(
    write: Callable[[], list[Path]], out: Path
) -> tuple[list[Path], WriteError | None]:
    try:
        return write(), None
    except WriteError as error:
        return [], error
    except OSError as error:
        where = error.filename or out
        return [], WriteError(f"{where} cannot be written: {reason(error)}")
