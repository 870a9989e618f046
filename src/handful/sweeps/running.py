"""Run the missing runs of cells, locally or in any executor; save each range when finished.

The client writes, not the workers. So hosts need not share a disk, and a range that a cluster runs
twice after the loss of a worker is written once. The returned data is small: one row per run.

Without an executor, one part runs at a time, on all cores. In an executor, each part is a task that
runs in one thread; all are submitted at once, and the executor decides which runs where.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from handful.errors import ClusterError, shortened
from handful.simulation import Result, run_cell
from handful.simulation.execution import compiling_message
from handful.sweeps.part import Part
from handful.sweeps.store import Store
from handful.sweeps.task import Failure, Job, run_job
from handful.sweeps.timing import TimeLeft, ordered

Report = Callable[[float, str], None]
"""Called with the work done so far, in the unit of `Part.work`, and what is being done."""
AT_ONCE = 30e9
"""About the longest that a core works on a part, in nanoseconds: what a crash costs at most."""
_SHORTEST = 1e9
_SHARES = 16
"""Parts for each worker: the last to finish should not keep the others waiting."""
_BEAT = 0.5
"""Seconds between two reports where nothing is finished."""


@dataclass(frozen=True)
class Plan:
    """The parts to run, and what is finished already."""

    parts: list[Part]
    finished: int
    """How many cells need nothing."""
    damaged: dict[Path, str]
    """Files that were found to be damaged, and why."""

    @property
    def work(self) -> float:
        """The work of all parts, in the unit of `Part.work`."""
        return sum(part.work for part in self.parts)

    @property
    def pulls(self) -> int:
        """The pulls of all parts."""
        return sum(part.cell.horizon * part.cell.runs for part in self.parts)

    @property
    def cells(self) -> int:
        """How many cells have parts to run."""
        return len({part.key for part in self.parts})


def plan(
    store: Store, cells: Iterable[Part], workers: int, alone: bool, delete: bool = True
) -> Plan:
    """Cut what is missing of cells into parts, for so many workers.

    `alone`: one part at a time has all workers. Damaged files are deleted, unless told otherwise.
    """
    gaps = {part.key: (part, store.missing(part)) for part in cells}
    damaged = dict(store.damaged)
    if delete:
        store.delete_damaged()
    whole = [part.only(runs) for part, missing in gaps.values() for runs in missing]
    total = sum(part.work for part in whole)
    longest = AT_ONCE * workers
    if not alone:
        longest = max(_SHORTEST, min(AT_ONCE, total / (workers * _SHARES)))
    parts = [cut for part, missing in gaps.values() for cut in part.cut(missing, longest)]
    return Plan(ordered(parts), sum(not missing for _, missing in gaps.values()), damaged)


def run(
    store: Store,
    planned: Plan,
    report: Report,
    executor: Executor | None = None,
    n_jobs: int | None = None,
    timing: TimeLeft | None = None,
) -> list[Failure]:
    """Run parts and save them. A cell that fails does not stop others: returns the failures."""
    store.folder.mkdir(parents=True, exist_ok=True)
    run = _Run(store, planned, report, timing or TimeLeft(()))
    if executor is None:
        run.here(n_jobs)
    else:
        run.in_executor(executor)
    return list(run.failures.values())


def workers_of(executor: Executor | None, n_jobs: int | None) -> int:
    """Return how many parts can run at once, or how many threads a part has."""
    return n_jobs or getattr(executor, "_max_workers", None) or os.cpu_count() or 1


class _Run:
    """One pass through the parts."""

    def __init__(self, store: Store, planned: Plan, report: Report, timing: TimeLeft) -> None:
        self.store = store
        self.parts = planned.parts
        self.report = report
        self.timing = timing
        self.done = 0.0
        self.count = 0
        self.failures: dict[str, Failure] = {}

    def finish(self, part: Part, result: Result | Failure) -> None:
        """Take note of a part, and save what it gave."""
        self.done += part.work
        self.count += 1
        if isinstance(result, Failure):
            self.timing.dropped(part)
            self.failures.setdefault(part.key, result)
        elif part.key in self.failures:
            self.timing.dropped(part)
        else:
            self.store.save(part, result)
            self.timing.finished(part, result.settings["seconds"])
        self.report(self.done, self.saying(part))

    def saying(self, part: Part) -> str:
        """Return what to say after a part."""
        many = len(self.parts)
        return shortened(part.cell.shown) + (f" ({self.count} of {many} parts)" if many > 1 else "")

    def here(self, n_jobs: int | None) -> None:
        """Run one part after the other in this process, each on all cores."""
        for part in self.parts:
            if part.key in self.failures:
                self.timing.dropped(part)
                continue
            try:
                result: Result | Failure = self._run(part, n_jobs)
            except Exception as error:
                result = Failure.of(part.shown, part.cell.run_numbers, error)
            self.finish(part, result)

    def _run(self, part: Part, n_jobs: int | None) -> Result:
        what, before = self.saying(part), self.done
        share = part.work / (part.cell.horizon * part.cell.runs)

        def step(pulls: int) -> None:
            self.timing.running(part, pulls * share)
            self.report(before + pulls * share, what)

        def compiling() -> None:
            self.report(before, f"{compiling_message(part.cell)}: {part.cell.policy.name}")

        return run_cell(
            part.cell, engine=part.engine, n_jobs=n_jobs, progress=step, on_compile=compiling
        )

    def in_executor(self, executor: Executor) -> None:
        """Submit all parts, and save them as they come back."""
        waiting: dict[Future[Result | Failure], Part] = {}
        ready: SimpleQueue[Future[Result | Failure]] = SimpleQueue()
        said = "waiting for the first part"
        try:
            for part in self.parts:
                future = _submitted(executor, part)
                waiting[future] = part
                future.add_done_callback(ready.put)
            while waiting:
                try:
                    future = ready.get(timeout=_BEAT)
                except Empty:
                    self.report(self.done, said)
                    continue
                part = waiting.pop(future)
                result = _outcome(future, part, dropped=part.key in self.failures)
                self.finish(part, result)
                said = self.saying(part)
                if isinstance(result, Failure):
                    _drop(waiting, part.key)
        finally:
            for future in list(waiting):
                future.cancel()


def _submitted(executor: Executor, part: Part) -> Future[Result | Failure]:
    try:
        return executor.submit(run_job, Job.of(part))
    except Exception as error:
        raise ClusterError(
            f"the executor accepts no task: {type(error).__name__}: {error}"
        ) from None


def _drop(waiting: dict[Future[Result | Failure], Part], key: str) -> None:
    """Cancel the other parts of a cell that failed."""
    for future in [future for future, part in waiting.items() if part.key == key]:
        future.cancel()


def _outcome(future: Future[Result | Failure], part: Part, dropped: bool) -> Result | Failure:
    """Return what a task returned; a lost executor is an error, whatever the part."""
    if future.cancelled():
        if dropped:
            return Failure(part.shown, part.cell.run_numbers, "dropped")
        raise ClusterError(
            "the scheduler or executor was lost, and with it the parts that were not finished"
        )
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        raise ClusterError(f"the executor was lost: {error}") from None
    if error is not None:
        return Failure.of(part.shown, part.cell.run_numbers, error)
    result = future.result()
    if isinstance(result, Failure) and result.other_sources:
        raise ClusterError(result.error)
    return result
