"""The overhead of Dask on one machine: the paper's sweep on local:2 beside two local threads.

    make bench-sweep         or, from the source tree: python -m benchmarks.sweep [RUNS]

Both run all cells of the paper's tables and figures with RUNS runs each (20 unless given), into a
new folder, in turns. Kernels are compiled before. The first turn on the cluster also loads them
into its processes. Times are wall-clock and the processor's, of this process and, for Dask, of its
scheduler and workers as well. The results of both are compared, bit for bit.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from handful.studies.paper.experiments import EXPERIMENTS
from handful.sweeps.cluster import Cluster, joined
from handful.sweeps.part import Part, merged
from handful.sweeps.running import plan, run
from handful.sweeps.store import Store

WORKERS, TURNS = 2, 3


def main() -> None:
    """Measure both in turns, and print the ratios."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    cells = merged(
        Part.whole(planned)
        for experiment in EXPERIMENTS.values()
        for planned in experiment.cells(runs, 0)
    )
    pulls = sum(part.cell.horizon * part.cell.runs for part in cells)
    print(f"{len(cells)} cells, {pulls / 1e6:,.0f} million pulls")
    print("compiling kernels, if they must be ...", flush=True)
    _swept([part.only(range(1)) for part in cells], None)
    began = time.perf_counter()
    with joined(f"local:{WORKERS}") as cluster:
        print(f"a cluster of {WORKERS} processes starts in {time.perf_counter() - began:.1f} s")
        here, there = [], []
        for turn in range(1, TURNS + 1):
            here.append(_measured(lambda: _swept(cells, None)))
            there.append(_measured(lambda: _swept(cells, cluster)))
            ratio = [b / a for a, b in zip(here[-1], there[-1], strict=True)]
            print(
                f"turn {turn}: threads {here[-1][0]:6.1f} s ({here[-1][1]:.1f} s of processors), "
                f"Dask {there[-1][0]:6.1f} s ({there[-1][1]:.1f}), ratio {ratio[0]:.2f} "
                f"({ratio[1]:.2f})",
                flush=True,
            )
    wall, processor = (min(t[i] for t in there) / min(t[i] for t in here) for i in (0, 1))
    print(f"best turns: Dask takes {wall:.2f} times as long, {processor:.2f} times the processors")


def _swept(cells: list[Part], cluster: Cluster | None) -> bytes:
    """Run all cells into a new folder; return their numbers."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        planned = plan(store, cells, WORKERS, alone=cluster is None)
        executor = None if cluster is None else cluster.executor
        failures = run(store, planned, lambda done, what: None, executor, WORKERS)
        assert not failures, failures[0]
        results = [store.load(part) for part in cells]
        return b"".join(one.curve.per_run.tobytes() for one in results if one is not None)


_numbers: set[bytes] = set()


def _measured(sweep: Callable[[], bytes]) -> tuple[float, float]:
    """Seconds by the wall clock and of all processors; results must be those of all others."""
    began, busy = time.perf_counter(), _processor_seconds()
    _numbers.add(sweep())
    assert len(_numbers) == 1, "the results differ"
    return time.perf_counter() - began, _processor_seconds() - busy


def _processor_seconds() -> float:
    """The time of this process and of all that it started."""
    me = psutil.Process(os.getpid())
    times = [process.cpu_times() for process in [me, *me.children(recursive=True)]]
    return float(sum(each.user + each.system for each in times))


if __name__ == "__main__":
    main()
