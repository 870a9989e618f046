"""A cache of finished cells as Parquet files: none is run twice, and a killed run is resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from handful import __version__
from handful.compiling.sources import source_digest
from handful.errors import SettingError, WriteError, shortened
from handful.simulation import Cell, Result, read_parquet, run_cell
from handful.simulation.execution import compiling_message
from handful.studies.results import Results
from handful.studies.timing import TimeLeft, ordered, work

Report = Callable[[float, str], None]
"""Called with the work done so far, in the unit of `work`, and what is being done."""


class Store:
    """A folder of finished cells.

    Where a finished cell cannot be saved, as on a full disk, its result is still returned;
    `unsaved` says why, once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unsaved: str | None = None

    def path(self, planned: Cell) -> Path:
        """The file of a cell; another seed, horizon, range of runs or version is another file."""
        text = repr(sorted(_identity(planned).items()))
        digest = blake2b(text.encode(), digest_size=6).hexdigest()
        return self.folder / f"{planned.policy.name}-M{planned.memory}-{digest}.parquet"

    def load(self, planned: Cell) -> Result | None:
        """Return a cached cell, or None; a file that cannot be read, or of another cell, is none.

        The name of the file is not trusted: its own settings must be those of the cell.
        """
        path = self.path(planned)
        if not path.exists():
            return None
        try:
            found = read_parquet(path)
        except SettingError:
            return None
        if len(found) != 1:
            return None
        settings = found[0].settings
        same = all(settings.get(key) == value for key, value in _identity(planned).items())
        return found[0] if same and len(found[0].curve.per_run) == planned.runs else None

    def save(self, planned: Cell, result: Result) -> Result:
        """Save a finished cell; return it with what identifies it among its settings."""
        result = replace(result, settings={**result.settings, **_identity(planned)})
        try:
            result.to_parquet(self.path(planned))
        except WriteError as error:
            self.unsaved = self.unsaved or str(error)
        return result

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """The cells that are not cached, each once."""
        by_path = {self.path(planned): planned for planned in cells}
        return [planned for planned in by_path.values() if self.load(planned) is None]

    def run(
        self,
        cells: Iterable[Cell],
        report: Report,
        n_jobs: int | None = None,
        fresh: bool = False,
        timing: TimeLeft | None = None,
    ) -> Results:
        """Run missing cells, save them, return all; progress excludes cached ones.

        One missing cell of each kind is run first, so that `timing` soon knows all kinds.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        by_path = {self.path(planned): planned for planned in cells}
        finished = {} if fresh else self._loaded(by_path)
        timing = timing or TimeLeft(())
        done = 0.0
        for planned in ordered(cell for path, cell in by_path.items() if path not in finished):
            result = self._run(planned, done, report, n_jobs, timing)
            timing.finished(planned, result.settings["seconds"])
            done += work(planned)
            report(done, shortened(planned.id))
            finished[self.path(planned)] = result
        results = Results()
        for path, planned in by_path.items():
            results.add(planned, finished[path])
        return results

    def _loaded(self, by_path: dict[Path, Cell]) -> dict[Path, Result]:
        found = {path: self.load(planned) for path, planned in by_path.items()}
        return {path: result for path, result in found.items() if result is not None}

    def _run(
        self, planned: Cell, before: float, report: Report, n_jobs: int | None, timing: TimeLeft
    ) -> Result:
        what = shortened(planned.id)
        share = work(planned) / (planned.horizon * planned.runs)

        def step(pulls: int) -> None:
            timing.running(planned, pulls * share)
            report(before + pulls * share, what)

        def compiling() -> None:
            report(before, f"{compiling_message(planned)}: {planned.policy.name}")

        result = run_cell(planned, n_jobs=n_jobs, progress=step, on_compile=compiling)
        return self.save(planned, result)


def _identity(planned: Cell) -> dict[str, object]:
    """What identifies the numbers of a cell, as the settings of its result have it."""
    return {
        "id": planned.id,
        **planned.how_run(),
        "version": __version__,
        "sources": source_digest(planned.policy.__module__),
    }
