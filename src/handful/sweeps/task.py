"""What a worker runs: one part, in one thread. What went wrong comes back as data.

An exception is not sent: some cannot be pickled, and some cannot be made again from what was.
"""

from __future__ import annotations

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
    """The cell's key."""
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
    def of(cls, part: Part, error: BaseException) -> Failure:
        """The failure of a part by an exception."""
        said = f"{type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(error))
        return cls(part.key, part.cell.run_numbers, said, trace)


def run_part(part: Part, sources: str) -> Result | Failure:
    """Run a part, if this process has the sources that it was planned with."""
    if checked_sources(part.cell.policy) != sources:
        return Failure(
            part.key,
            part.cell.run_numbers,
            f"the worker on {platform.node()} has other sources of {part.cell.policy.name} or of "
            f"handful (version {__version__} there): install the same on all hosts",
            other_sources=True,
        )
    try:
        return run_cell(part.cell, engine=part.engine, n_jobs=1)
    except Exception as error:
        return Failure.of(part, error)


def fingerprint() -> tuple[str, str]:
    """The version and a digest of the sources of handful in this process."""
    return __version__, all_sources()
