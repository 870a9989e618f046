"""The task of a worker: run one part, in one thread. Errors are returned as data.

Exceptions are not sent: some cannot be pickled, and some cannot be unpickled.
"""

from __future__ import annotations

import pickle
import platform
import traceback
from dataclasses import dataclass

from handful import __version__
from handful.simulation import Result, run_cell
from handful.sweeps.part import Part, all_sources, checked_sources


@dataclass(frozen=True)
class Failure:
    """A cell that failed, and why."""

    cell: str
    """The cell, as users see it."""
    runs: range
    """The range in which it failed; whatever else of the cell was running was dropped."""
    error: str
    """The type and the message of the exception."""
    traceback: str = ""
    other_sources: bool = False
    """Whether the worker has other sources than the client, so that no part can run there."""

    def __str__(self) -> str:
        return f"{self.cell}, runs {self.runs.start} to {self.runs.stop - 1}: {self.error}"

    @classmethod
    def of(cls, cell: str, runs: range, error: BaseException) -> Failure:
        """Return the failure of a part by an exception."""
        said = f"{type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(error))
        return cls(cell, runs, said, trace)


@dataclass(frozen=True)
class Job:
    """A part as it is sent to a worker.

    It is pickled here, so that a worker that cannot import a policy of a user's can say so, and a
    scheduler on the way needs only handful. Policies of a script are left to the executor: Dask
    sends their code.
    """

    cell: str
    runs: range
    sources: str
    part: bytes | Part

    @classmethod
    def of(cls, part: Part) -> Job:
        """Return what to send of a part."""
        policy = part.cell.policy
        sent = part if policy.__module__ == "__main__" else pickle.dumps(part)
        return cls(part.shown, part.cell.run_numbers, checked_sources(policy), sent)


def run_job(job: Job) -> Result | Failure:
    """Run a part, if this process has the sources that it was planned with."""
    try:
        part = pickle.loads(job.part) if isinstance(job.part, bytes) else job.part
        if checked_sources(part.cell.policy) == job.sources:
            return run_cell(part.cell, engine=part.engine, n_jobs=1)
    except Exception as error:
        return Failure.of(job.cell, job.runs, error)
    return Failure(
        job.cell,
        job.runs,
        f"the worker on {platform.node()} has other sources of {part.cell.policy.name} or of "
        f"handful (version {__version__} there): install the same on all hosts",
        other_sources=True,
    )


def fingerprint() -> tuple[str, str]:
    """Return the version and a digest of the sources of handful in this process."""
    return __version__, all_sources()
