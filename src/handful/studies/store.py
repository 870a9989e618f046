"""Finished cells, kept as Parquet files: never run twice, and where a killed run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path

from handful import __version__
from handful.errors import SettingError
from handful.simulation import Cell, Result, read_parquet, run_cell
from handful.simulation.engines import as_run
from handful.simulation.result import shortened
from handful.simulation.sources import source_digest
from handful.studies.results import Results

Report = Callable[[float, str], None]
"""Told the work done so far, in the unit of `work`, and what is being done."""


class Store:
    """A folder of finished cells."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, planned: Cell) -> Path:
        """The file of a cell; another seed, horizon, number of runs or version is another file."""
        sources = source_digest(planned.policy.__module__)
        text = (
            f"{planned.id} T={planned.horizon} runs={planned.runs} seed={planned.seed} "
            f"tape={planned.tape} record={planned.record} {__version__} {sources}"
        )
        digest = blake2b(text.encode(), digest_size=6).hexdigest()
        return self.folder / f"{planned.policy.name}-M{planned.memory}-{digest}.parquet"

    def load(self, planned: Cell) -> Result | None:
        """A kept cell, or None; a file that cannot be read is as good as none."""
        path = self.path(planned)
        if not path.exists():
            return None
        try:
            return read_parquet(path)[0]
        except SettingError:
            return None

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """The cells that are not kept, each once."""
        by_path = {self.path(planned): planned for planned in cells}
        return [planned for planned in by_path.values() if self.load(planned) is None]

    def run(
        self,
        cells: Iterable[Cell],
        report: Report,
        n_jobs: int | None = None,
        fresh: bool = False,
    ) -> Results:
        """Run what is not kept, keep it, and return all. Reports the work done, kept cells not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        results = Results()
        done = 0.0
        for planned in cells:
            kept = None if fresh else self.load(planned)
            if kept is None:
                share = work(planned) / (planned.horizon * planned.runs)

                what = shortened(planned.id)

                def step(
                    pulls: int, before: float = done, share: float = share, what: str = what
                ) -> None:
                    report(before + pulls * share, what)

                def compiling(before: float = done, policy: str = planned.policy.name) -> None:
                    report(before, f"compiling kernels, once: {policy}")

                kept = run_cell(planned, n_jobs=n_jobs, progress=step, on_compile=compiling)
                kept.to_parquet(self.path(planned))
                done += work(planned)
                report(done, what)
            results.add(planned, kept)
        return results


def work(planned: Cell) -> float:
    """About how many nanoseconds a cell takes on one core: for the time left, and nothing else."""
    from handful.simulation.kinds import kind_of

    run = as_run(planned)
    return run.horizon * run.runs * kind_of(run.policy).cost(run)
