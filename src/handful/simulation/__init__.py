"""Simulation: plan -> engine -> result.

Engines: `python`, the oracle, drives the policy object itself and runs any policy; `compiled` makes
the same choices in Numba kernels; `skip` makes choices of the same law and pays only for the pulls
that can change a decision. `auto` takes the fastest that can run the cell.
"""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from functools import partial
from typing import Any

from handful.instances import Instance
from handful.policies.base import Policy
from handful.policies.settings import check_settings
from handful.simulation import reference
from handful.simulation.engines import choose
from handful.simulation.outcome import Outcome, joined
from handful.simulation.plan import Cell, cell, log_grid, whole
from handful.simulation.result import Result, read_parquet, write_parquet

__all__ = ["Cell", "Result", "cell", "read_parquet", "run_cell", "simulate", "write_parquet"]

Progress = Callable[[int], None]


def simulate(
    policy: str | type[Policy],
    instance: str | Instance | Sequence[float],
    *,
    memory: int | None = None,
    horizon: float,
    runs: int = 100,
    seed: int = 0,
    engine: str = "auto",
    tape: bool = False,
    record: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **settings: float,
) -> Result:
    """Run a policy on an instance.

    Args:
        policy: a name such as "ucb-m" or "ucb-m:eta=0.2", or a subclass of `Policy`.
        instance: a name such as "linear:100" or "power:1000:0.3+beta", or a list of means, or an
            `Instance`.
        memory: how many arms may have statistics; left out for policies with a number of their own.
        horizon: pulls per run.
        runs: independent runs.
        seed: any whole number; the same seed, the same numbers, whatever the workers. The engines
            "compiled" and "python" give the same numbers too; "skip" has the same law.
        engine: "auto", "skip", "compiled" or "python".
        tape: take rewards from a tape that is the same for all policies.
        record: also keep which arms were in memory when (`result.stays`).
        n_jobs: workers; None: every core for the compiled engine, one for the python engine.
        progress: called now and then with the number of pulls done in all runs.
        settings: the policy's own, such as eta.
    """
    planned = cell(policy, instance, memory, horizon, runs, seed, tape, record, settings)
    return run_cell(planned, engine=engine, n_jobs=n_jobs, progress=progress)


def run_cell(
    planned: Cell,
    *,
    engine: str = "auto",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_compile: Callable[[], None] | None = None,
) -> Result:
    """Run a planned cell. `on_compile` is called before kernels are compiled, once and for all."""
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
        outcome = _python_runs(planned, grid, n_jobs or 1, progress)
    seconds = time.perf_counter() - warm
    return Result.of(_resolved(planned, chosen, seconds, warm - began), grid, outcome)


def _python_runs(planned: Cell, grid: list[int], n_jobs: int, progress: Progress | None) -> Outcome:
    if n_jobs > 1 and planned.runs > 1 and _can_be_sent(planned):
        return joined(_in_processes(planned, grid, min(n_jobs, planned.runs), progress))
    outcomes = []
    for run in range(planned.runs):
        before = run * planned.horizon
        step = None if progress is None else partial(_from, progress, before)
        outcomes.append(reference.simulate_run(planned, run, grid, step))
    return joined(outcomes)


def _from(progress: Progress, before: int, pulls: int) -> None:
    progress(before + pulls)


def _in_processes(
    planned: Cell, grid: list[int], n_jobs: int, progress: Progress | None
) -> list[Outcome]:
    stop = multiprocessing.Event()
    with ProcessPoolExecutor(n_jobs, initializer=reference.watch, initargs=(stop,)) as pool:
        try:
            futures = [
                pool.submit(reference.simulate_run, planned, run, grid)
                for run in range(planned.runs)
            ]
            pending = set(futures)
            while pending:
                _, pending = wait(pending, return_when=FIRST_COMPLETED)
                if progress is not None:
                    progress((planned.runs - len(pending)) * planned.horizon)
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _can_be_sent(planned: Cell) -> bool:
    """Whether another process can be told of the cell; a policy of a notebook may not."""
    try:
        pickle.dumps(planned)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return planned.policy.__module__ != "__main__"


def _resolved(planned: Cell, engine: str, seconds: float, compile_seconds: float) -> dict[str, Any]:
    import handful

    values = check_settings(planned.policy, planned.policy_settings())
    pulls = planned.horizon * planned.runs
    return {
        "id": planned.id,
        "policy": planned.policy.name,
        "label": planned.label,
        "settings": values,
        "memory": planned.memory,
        "instance": planned.instance.name,
        "n_arms": planned.instance.n_arms,
        "best_mean": planned.instance.best_mean,
        "horizon": planned.horizon,
        "runs": planned.runs,
        "seed": planned.seed,
        "tape": planned.tape,
        "engine": engine,
        "version": handful.__version__,
        "seconds": seconds,
        "compile_seconds": compile_seconds,
        "pulls_per_second": pulls / max(seconds, 1e-9),
        "peak_rss_bytes": peak_rss_bytes(),
    }


def peak_rss_bytes() -> int:
    """The most memory that this process, or a worker of its, has had at once."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
