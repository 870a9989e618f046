"""Run a planned cell on an engine, in threads or processes.

Everything that determines a result is reached by imports from this module, so that `sources.py`
needs no list of files. A `Result` only describes the numbers and is made elsewhere.
"""

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from handful.simulation import reference
from handful.simulation.engines import choose
from handful.simulation.outcome import Outcome, joined
from handful.simulation.plan import Cell, log_grid, whole

Progress = Callable[[int], None]
"""Called now and then with the number of pulls done in all runs."""


@dataclass(frozen=True)
class Execution:
    """The outcome of the runs, and the time that they took."""

    grid: list[int]
    outcome: Outcome
    engine: str
    seconds: float
    compile_seconds: float


def execute(
    planned: Cell,
    engine: str = "auto",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_compile: Callable[[], None] | None = None,
) -> Execution:
    """Run a planned cell; `on_compile` is called before kernels are compiled, if they must be."""
    if n_jobs is not None:
        n_jobs = whole("n_jobs", n_jobs, 4096)
    chosen = choose(planned, engine)
    grid = log_grid(planned.horizon)
    began = time.perf_counter()
    if chosen != "python":
        from handful.simulation import compiled

        skipping = chosen == "skip"
        if on_compile is not None and compiled.must_compile(planned, skipping):
            on_compile()
        compiled.warm_up(planned, skipping)
        warm = time.perf_counter()
        outcome = compiled.simulate_runs(planned, grid, n_jobs, progress, skipping)
    else:
        warm = began
        outcome = joined(_python_runs(planned, grid, n_jobs or 1, progress))
    return Execution(grid, outcome, chosen, time.perf_counter() - warm, warm - began)


def compiling_message(planned: Cell) -> str:
    """Return what to say while the kernels of a cell are compiled."""
    from handful.simulation import compiled

    if compiled.compiles_once(planned):
        return "compiling kernels, once"
    return "compiling kernels (a policy defined interactively is compiled in every process)"


def _python_runs(
    planned: Cell, grid: list[int], n_jobs: int, progress: Progress | None
) -> Iterator[Outcome]:
    if n_jobs > 1 and planned.runs > 1 and _can_be_sent(planned):
        yield from _in_processes(planned, grid, min(n_jobs, planned.runs), progress)
        return
    for done, run in enumerate(planned.run_numbers):
        step = None if progress is None else partial(_from, progress, done * planned.horizon)
        yield reference.simulate_run(planned, run, grid, step)


def _from(progress: Progress, before: int, pulls: int) -> None:
    progress(before + pulls)


def _in_processes(
    planned: Cell, grid: list[int], n_jobs: int, progress: Progress | None
) -> Iterator[Outcome]:
    stop = multiprocessing.Event()
    with ProcessPoolExecutor(n_jobs, initializer=reference.watch, initargs=(stop,)) as pool:
        try:
            futures = deque(
                pool.submit(reference.simulate_run, planned, run, grid)
                for run in planned.run_numbers
            )
            while futures:
                outcome = futures.popleft().result()
                if progress is not None:
                    progress((planned.runs - len(futures)) * planned.horizon)
                yield outcome
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _can_be_sent(planned: Cell) -> bool:
    """Return whether the cell can be pickled; a policy of a notebook may not be."""
    try:
        pickle.dumps(planned)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return planned.policy.__module__ != "__main__"
