"""Simulation: plan -> engine -> result.

Engines: `python`, the oracle, drives the policy object itself and runs any policy; `compiled` makes
the same choices in Numba kernels; `skip` makes choices of the same distribution and pays only for
the pulls that can change a decision. `auto` takes the fastest that can run the cell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from handful.errors import SettingError
from handful.instances import Instance
from handful.policies.base import Policy
from handful.policies.settings import check_settings
from handful.simulation.comparison import Comparison, paired
from handful.simulation.execution import Execution, Progress, execute
from handful.simulation.plan import Cell, cell, parse_policy, run_range
from handful.simulation.progress import shown_progress
from handful.simulation.result import Result
from handful.simulation.result_files import read_parquet, write_csv, write_parquet

__all__ = [
    "Cell",
    "Comparison",
    "Result",
    "cell",
    "compare",
    "read_parquet",
    "run_cell",
    "simulate",
    "write_csv",
    "write_parquet",
]


def simulate(
    policy: str | type[Policy],
    instance: str | Instance | Sequence[float] | Mapping[Any, float],
    *,
    memory: int | None = None,
    horizon: float,
    runs: int | range = 100,
    seed: int = 0,
    engine: str = "auto",
    tape: bool = False,
    record: bool = False,
    delay: str | float | None = None,
    lost: float | None = None,
    drift: str | None = None,
    clicks_only: int | None = None,
    churn: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    **settings: float,
) -> Result:
    """Run a policy on an instance.

    Args:
        policy: a name such as "ucb-m" or "ucb-m:eta=0.2", a subclass of `Policy`, or the name of
            one, "module:Class".
        instance: a name such as "linear:100" or "power:1000:0.3+beta", or a list of means, or an
            `Instance`.
        memory: how many arms may have statistics; left out for policies with a number of their own.
        horizon: pulls per run.
        runs: independent runs. A range runs a part: the runs 40 to 59 of `runs=range(40, 60)` are
            those of `runs=100`, to the bit.
        seed: any integer; the same seed gives the same numbers, whatever the workers. The engines
            "compiled" and "python" give the same numbers too; "skip" has the same distribution.
        engine: "auto", "skip", "compiled" or "python".
        tape: take rewards from a tape that is the same for all policies.
        record: also record which arms were in memory when (`result.stays`).
        delay: how many decisions late rewards come: 200, or "geometric:200" for random delays with
            this mean, or "batch:500" for rewards that come together after every 500th decision.
        lost: the probability that a reward never comes.
        drift: how the means change: "falls", "rises", "rises:0.97", "swap:5" or "walk:0.01" (see
            "Late and lost rewards" in docs/simulation.md).
        clicks_only: rewards of 0 are never reported, and policies are given this `clicks_only`:
            what has not come after so many decisions counts as 0.
        churn: after how many decisions, again and again, an arm drawn at random is removed and a
            new one added, with the mean that a random arm of the instance starts with.
        n_jobs: workers; None: every core for the compiled engine, one for the python engine.
        progress: True for a progress bar on a terminal or in a notebook, or a function that is
            called now and then with the number of pulls done in all runs.
        settings: the policy's own, such as eta.
    """
    planned = cell(
        policy, instance, memory, horizon, runs, seed, tape, record, settings,
        delay=delay, lost=lost, drift=drift, clicks_only=clicks_only, churn=churn,
    )  # fmt: skip
    total = planned.horizon * planned.runs
    what = f"{planned.label} on {planned.world}"
    with shown_progress(progress, total, what) as report:
        return run_cell(planned, engine=engine, n_jobs=n_jobs, progress=report)


def run_cell(
    planned: Cell,
    *,
    runs: range | None = None,
    engine: str = "auto",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_compile: Callable[[], None] | None = None,
) -> Result:
    """Run a planned cell, or only those of its runs whose numbers are in the range `runs`.

    `on_compile` is called before kernels are compiled, if they have to be.
    """
    if runs is not None:
        numbers, all_runs = run_range(runs), planned.run_numbers
        if numbers.start < all_runs.start or numbers.stop > all_runs.stop:
            raise SettingError(
                f"runs={runs!r}: the cell has the runs {all_runs.start} to {all_runs.stop - 1}"
            )
        planned = replace(planned, first_run=numbers.start, runs=len(numbers))
    done = execute(planned, engine, n_jobs, progress, on_compile)
    return Result.of(_resolved(planned, done), done.grid, done.outcome)


def compare(
    a: str | type[Policy] | Result,
    b: str | type[Policy] | Result,
    instance: str | Instance | Sequence[float] | Mapping[Any, float] | None = None,
    *,
    memory: int | None = None,
    horizon: float | None = None,
    runs: int | range | None = None,
    seed: int | None = None,
    engine: str | None = None,
    delay: str | float | None = None,
    lost: float | None = None,
    drift: str | None = None,
    clicks_only: int | None = None,
    churn: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    **settings: float,
) -> Comparison:
    """Compare two policies run by run on a common reward tape.

        compare("race", "ucb-m:eta=0.2", "linear:100", memory=2, horizon=10**5, runs=100)
        compare(result, other)

    Args:
        a: a policy as `simulate` takes it, or a `Result` that was simulated with `tape=True`.
        b: the same.
        instance: as in `simulate`; not with results, which have theirs. The same holds for all
            other arguments.
        memory: for those of the two that take one.
        horizon: pulls per run.
        runs: independent runs, or a range of their numbers; 100 unless given.
        seed: any integer; 0 unless given.
        engine: as in `simulate`; "auto" unless given.
        delay: as in `simulate`. On a tape, delays and losses are the same for both policies, and so
            are drifting means, and arms that come and go.
        lost: as in `simulate`.
        drift: as in `simulate`.
        clicks_only: as in `simulate`.
        churn: as in `simulate`.
        n_jobs: workers.
        progress: as in `simulate`, once for each policy.
        settings: none; a setting belongs to one of the two and is part of its name.
    """
    if settings:
        key, value = next(iter(settings.items()))
        raise SettingError(
            f"{key}={value!r}: write a setting of one policy into its name, such as "
            f'"ucb-m:{key}={value}"'
        )
    if isinstance(a, Result) and isinstance(b, Result):
        given = (
            instance, memory, horizon, runs, seed, engine, delay, lost, drift, clicks_only, churn,
            n_jobs, progress,
        )  # fmt: skip
        if any(value is not None for value in given):
            raise SettingError(
                "results were simulated already, each with its own instance, runs and seed: give "
                "compare(a, b) only"
            )
        return paired(a, b)
    if isinstance(a, Result) or isinstance(b, Result):
        raise SettingError("compare takes two policies or two results, not one of each")
    if instance is None or horizon is None:
        raise SettingError(
            "to compare policies give the instance and the horizon: "
            'compare("race", "ucb-m", "linear:100", memory=2, horizon=10**5)'
        )
    classes = [parse_policy(policy)[0] for policy in (a, b)]
    if memory is not None and not any(cls.takes_memory() for cls in classes):
        raise SettingError(f"memory={memory}: neither policy takes one")
    first, second = (
        simulate(
            policy, instance, memory=memory if cls.takes_memory() else None, horizon=horizon,
            runs=100 if runs is None else runs, seed=seed or 0, engine=engine or "auto",
            tape=True, delay=delay, lost=lost, drift=drift, clicks_only=clicks_only, churn=churn,
            n_jobs=n_jobs, progress=progress,
        )
        for policy, cls in zip((a, b), classes, strict=True)
    )  # fmt: skip
    return paired(first, second)


def _resolved(planned: Cell, done: Execution) -> dict[str, Any]:
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
        **_origin(planned.instance),
        **planned.how_run(),
        "engine": done.engine,
        "version": handful.__version__,
        "seconds": done.seconds,
        "compile_seconds": done.compile_seconds,
        "pulls_per_second": pulls / max(done.seconds, 1e-9),
        "peak_rss_bytes": peak_rss_bytes(),
    }


def _origin(world: Instance) -> dict[str, str]:
    """Return what results say of the data that an instance was made from."""
    if world.origin is None:
        return {}
    return {"file": world.origin.file, "digest": world.origin.digest, "data": world.origin.said}


def peak_rss_bytes() -> int:
    """Return the peak resident memory of this process or of one of its workers."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
