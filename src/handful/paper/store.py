"""Finished cells, kept as Parquet files: never run twice, and where a killed run goes on."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from handful import __version__
from handful.errors import SettingError
from handful.simulation import Cell, Result, read_parquet, run_cell
from handful.simulation.sources import source_digest

Report = Callable[[int, str], None]


class Store:
    """A folder of finished cells."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, planned: Cell) -> Path:
        """The file of a cell; another seed, horizon, number of runs or version is another file."""
        text = (
            f"{planned.id} T={planned.horizon} runs={planned.runs} seed={planned.seed} "
            f"tape={planned.tape} record={planned.record} {__version__} {source_digest()}"
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

    def run(
        self, cells: list[Cell], report: Report, n_jobs: int | None = None, fresh: bool = False
    ) -> dict[str, Result]:
        """Run what is not kept, keep it, and return all by `key`. Reports pulls done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        results: dict[str, Result] = {}
        done = 0
        for planned in cells:
            kept = None if fresh else self.load(planned)
            if kept is None:

                def step(pulls: int, before: int = done, planned: Cell = planned) -> None:
                    report(before + pulls, planned.id)

                kept = run_cell(planned, n_jobs=n_jobs, progress=step)
                kept.to_parquet(self.path(planned))
            results[key(planned)] = kept
            done += planned.horizon * planned.runs
            report(done, planned.id)
        return results


def key(planned: Cell) -> str:
    """What tells a cell from others of one plan."""
    return f"{planned.id} T={planned.horizon}"
