"""What is run: each contestant on each data set, to each horizon, with and without delay.

A cell that has been run is stored under `build/real/cells` and not run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import handful
from benchmarks.peers import ROOT, PeerError, installed, output
from benchmarks.real.contestants import CONTESTANTS, Contestant
from benchmarks.real.sources import Arms
from handful.policies import policy_class
from handful.sweeps.part import sources_of

HORIZONS = (10**4, 10**5, 10**6)
DELAYS = (0, 200)
SEED = 0
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}

Show = Callable[[str], None]


@dataclass(frozen=True)
class Cell:
    """A contestant on a data set, to a horizon, with so many runs."""

    data: str
    arms: Arms
    contestant: Contestant
    horizon: int
    delay: int
    runs: int

    @property
    def key(self) -> str:
        """The name of the file in which the cell is stored."""
        one = self.contestant
        means = hashlib.sha256(json.dumps(self.arms.means).encode()).hexdigest()[:8]
        # Another version of the policy, or of the simulator, makes other runs.
        code = "" if one.peer else f"-{sources_of(policy_class(one.policy))[:8]}"
        at = f"T{self.horizon}-delay{self.delay}-runs{self.runs}"
        return f"{self.data}-{means}-{one.key}{code}-{at}"

    @property
    def seconds(self) -> float:
        """The estimated processor time."""
        return self.runs * self.contestant.seconds(len(self.arms.means), self.horizon, self.delay)


@dataclass(frozen=True)
class Outcome:
    """What came out of a cell."""

    version: str
    """The package's."""
    regrets: list[float]
    seconds: float
    """Of the clock, without loading kernels."""


def planned(
    data: dict[str, Arms],
    horizons: Sequence[int] = HORIZONS,
    most: int | None = None,
    contestants: Sequence[Contestant] = CONTESTANTS,
) -> list[Cell]:
    """Return all cells, also those without runs, which are left out because they take too long."""
    cells = []
    for name, arms in data.items():
        for contestant in contestants:
            for horizon in horizons:
                for delay in DELAYS:
                    runs = contestant.planned(len(arms.means), horizon, delay)
                    runs = runs if most is None else min(runs, most)
                    cells.append(Cell(name, arms, contestant, horizon, delay, runs))
    return cells


def run_all(cells: Sequence[Cell], folder: Path, workers: int, show: Show) -> dict[Cell, Outcome]:
    """Run the cells that are not stored, the shortest first, and return what came out of all.

    Cells of a package that cannot be installed or run are left out; the reason is shown.
    """
    found: dict[Cell, Outcome] = {}
    missing = []
    for cell in cells:
        if cell.runs == 0:
            continue
        if (stored := read(cell, folder)) is not None:
            found[cell] = stored
        else:
            missing.append(cell)
    for cell in missing:
        if cell.contestant.peer is not None:
            _python(cell.contestant, show)
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(workers) as pool:
        tasks = {
            pool.submit(_stored, cell, folder): cell
            for cell in sorted(missing, key=lambda cell: cell.seconds)
        }
        for done, task in enumerate(as_completed(tasks), 1):
            cell = tasks[task]
            try:
                found[cell] = task.result()
                show(f"{done} of {len(missing)}: {cell.key}, {found[cell].seconds:.0f} s")
            except PeerError as error:
                show(f"{done} of {len(missing)}: {cell.key} is left out: it {error}")
    return found


def _python(contestant: Contestant, show: Show) -> Path | None:
    """Return the Python of a package's environment, which is created unless it exists."""
    assert contestant.peer is not None
    name = contestant.peer.name
    folder = ROOT / "build" / "peers" / name.lower()
    if not folder.exists():
        show(f"installing {name} into build/peers")
    try:
        return installed(contestant.peer, folder)
    except PeerError as error:
        show(f"{name} is left out: it {error}")
        return None


def read(cell: Cell, folder: Path) -> Outcome | None:
    """Return what came out of a cell if it is stored."""
    file = folder / f"{cell.key}.json"
    if cell.runs == 0 or not file.exists():
        return None
    return Outcome(**json.loads(file.read_text()))


def _stored(cell: Cell, folder: Path) -> Outcome:
    """Run a cell and store it, unless another process has done so meanwhile."""
    if (stored := read(cell, folder)) is not None:
        return stored
    outcome = run(cell, folder)
    file = folder / f"{cell.key}.json"
    part = file.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(asdict(outcome)))
    part.replace(file)
    return outcome


def run(cell: Cell, folder: Path) -> Outcome:
    """Run a cell, by the simulator or in the environment of a package."""
    contestant = cell.contestant
    if contestant.peer is not None:
        python = _python(contestant, lambda text: None)
        if python is None:
            raise PeerError("could not be installed")
        return run_elsewhere(cell, python, folder)
    began = time.perf_counter()
    result = handful.simulate(
        contestant.policy, cell.arms.instance, memory=contestant.memory, horizon=cell.horizon,
        runs=cell.runs, seed=SEED, delay=cell.delay or None, n_jobs=1, progress=False,
    )  # fmt: skip
    regrets = result.curve.per_run[:, -1].tolist()
    return Outcome(handful.__version__, regrets, time.perf_counter() - began)


def run_elsewhere(cell: Cell, python: Path, folder: Path) -> Outcome:
    """Run a cell by the driver of a package."""
    means = folder / f"{cell.key}.means"
    means.write_text(json.dumps(cell.arms.means))
    numbers = (cell.horizon, cell.delay, 0, cell.runs)
    driver = f"benchmarks.drivers.real_{cell.contestant.key}"
    environment = {**os.environ, **_ONE_THREAD, "PYTHONPATH": str(ROOT)}
    try:
        printed = output(
            [str(python), "-m", driver, str(means), *map(str, numbers)], "did not run", environment
        )
    finally:
        means.unlink()
    shown: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return Outcome(shown["version"], shown["regrets"], shown["seconds"])


def to_terminal(text: str) -> None:
    """Show a line of progress."""
    print(text, file=sys.stderr, flush=True)
