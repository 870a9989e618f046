"""Sweeps: many cells, cut into ranges of runs, on this machine or a cluster; they can be resumed.

    spec.py        a spec in TOML: its cells, or all of its mistakes
    part.py        ranges of runs of a cell, and how cells are cut
    store.py       finished ranges as Parquet partitions
    folder.py      the folder of a sweep: manifest, partitions, lock
    running.py     run missing ranges, locally or in any executor
    task.py        what a worker does
    cluster.py     Dask, the only module that imports it
    timing.py      the time left
    calibration.py an estimate of the time before a sweep is run

The package is not named `sweep`: a module of that name would replace the function.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from handful.errors import SettingError, SweepError
from handful.simulation.plan import whole
from handful.sweeps.folder import CELLS, Sweep, owned, read_sweep, write_manifest
from handful.sweeps.running import plan, run, workers_of
from handful.sweeps.spec import Given, read_spec
from handful.sweeps.store import Entry, Store

__all__ = ["Sweep", "read_sweep", "sweep"]


def sweep(
    spec: Given,
    *,
    out: str | os.PathLike[str],
    executor: Executor | None = None,
    n_jobs: int | None = None,
    fresh: bool = False,
    progress: Callable[[float, str], None] | None = None,
) -> Sweep:
    """Run the cells of a spec that are not finished in a folder, and save them there.

    The same call resumes a sweep that was stopped, by whatever. The numbers are those of
    `simulate`, to the bit, whatever runs them. What cannot be saved, as on a full disk, stays in
    memory, and a `RuntimeWarning` says so.

    Args:
        spec: the name of a TOML file, or a mapping with the same keys (docs/sweeps.md).
        out: the folder.
        executor: what runs the parts, such as a `ProcessPoolExecutor` or that of a Dask client
            (`client.get_executor(pure=False)`); None: this process, on all cores.
        n_jobs: how many parts the executor runs at once, by which cells are cut; without an
            executor, how many threads a part has.
        fresh: run finished cells again.
        progress: called with the share of the work that is done, and what is being done.
    """
    if executor is not None and not isinstance(executor, Executor):
        raise SettingError(
            f"executor={executor!r} is not a concurrent.futures.Executor: of a Dask client give "
            "client.get_executor(pure=False)"
        )
    if n_jobs is not None:
        n_jobs = whole("n_jobs", n_jobs, 2**20)
    checked = read_spec(spec)
    folder = Path(out)
    entries = [Entry.of(part) for part in checked.cells]
    with owned(folder):
        store = Store(folder / CELLS)
        if fresh:
            store.discard(checked.cells)
        write_manifest(folder, checked, entries)
        planned = plan(store, checked.cells, workers_of(executor, n_jobs), executor is None)
        total = planned.work

        def report(done: float, what: str) -> None:
            if progress is not None:
                progress(min(1.0, done / total), what)

        failures = run(store, planned, report, executor, n_jobs)
    if store.unsaved is not None:
        warnings.warn(
            f"finished cells were not all saved: {store.unsaved}. What this call returns has them, "
            "and a later one runs them again",
            RuntimeWarning,
            stacklevel=2,
        )
    if failures:
        raise SweepError(
            f"{len(failures)} of {len(entries)} cells failed:\n  "
            + "\n  ".join(str(failure) for failure in failures)
        )
    return Sweep(folder, entries, store)
