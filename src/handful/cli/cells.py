"""What the commands that run many cells and write a report share: `paper`, `leaderboard`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import click

from handful.cli.show import progress
from handful.errors import SettingError, WriteError
from handful.simulation.files import reason
from handful.simulation.plan import Cell
from handful.studies.results import Results
from handful.studies.store import Store
from handful.studies.timing import TimeLeft, work


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
