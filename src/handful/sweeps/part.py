"""A part of a sweep: a cell, or a range of its runs, and the engine that runs it.

The engine is the one that was chosen, never "auto": a worker must not choose again. Parts of a cell
are cells themselves, with fewer runs, and have the same results as the cell, to the bit
(`handful.simulation.seeds`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path

from handful.compiling.sources import ROOT, own_sources, source_digest
from handful.errors import SettingError
from handful.policies.base import Policy
from handful.simulation import Cell
from handful.simulation.engines import as_run, choose
from handful.simulation.kernels.lanes import WIDTH
from handful.simulation.kinds import kind_for
from handful.simulation.outcome import MOST_PULLS
from handful.simulation.plan import FEW_ARMS

_PYTHON_PULL = 8000.0
"""About the nanoseconds of a pull in the python engine, whatever the policy."""


@dataclass(frozen=True)
class Part:
    """Some or all runs of a cell."""

    cell: Cell
    engine: str

    @classmethod
    def whole(cls, cell: Cell, engine: str = "auto") -> Part:
        """Return all runs of a cell, on the engine that runs it."""
        return cls(cell, choose(cell, engine))

    @property
    def key(self) -> str:
        """Identify the cell among those of a sweep, whatever the runs."""
        return self._named(self.cell.id)

    @property
    def shown(self) -> str:
        """The key as users see it."""
        return self._named(self.cell.shown)

    def _named(self, cell: str) -> str:
        more = {"seed": self.cell.seed, "tape": self.cell.tape, "record": self.cell.record}
        said = "".join(f" {name}={value}" for name, value in more.items() if value)
        return f"{cell} T={self.cell.horizon}{said} {self.engine}"

    @property
    def work(self) -> float:
        """About how many nanoseconds the part takes on one core, and nothing to rely on."""
        run = as_run(self.cell)
        pulls = float(run.horizon) * run.runs
        return pulls * (_PYTHON_PULL if self.engine == "python" else kind_for(run).cost(run))

    def only(self, runs: range) -> Part:
        """Return some of the runs."""
        return replace(self, cell=replace(self.cell, first_run=runs.start, runs=len(runs)))

    def cut(self, missing: Iterable[range], nanoseconds: float) -> Iterator[Part]:
        """Cut runs into parts that take about so long on one core.

        Kernels run `WIDTH` runs side by side, so long ranges are multiples of it. No part has so
        many runs that their pulls by arm would be summed: sums could not be joined to the bit.
        """
        size = int(min(nanoseconds / (self.work / self.cell.runs), self.cell.runs))
        arms = self.cell.instance.n_arms
        if arms <= FEW_ARMS:
            size = min(size, MOST_PULLS // arms)
        if WIDTH < size < self.cell.runs:
            size -= size % WIDTH
        size = max(1, size)
        for runs in missing:
            for first in range(runs.start, runs.stop, size):
                yield self.only(range(first, min(first + size, runs.stop)))


def merged(parts: Iterable[Part]) -> list[Part]:
    """Return each cell once, with all runs that any of the parts asks for."""
    found: dict[str, Part] = {}
    for part in parts:
        runs = part.cell.run_numbers
        if part.key in found:
            before = found[part.key].cell.run_numbers
            runs = range(min(runs.start, before.start), max(runs.stop, before.stop))
        found[part.key] = part.only(runs)
    return list(found.values())


def sources_of(policy: type[Policy]) -> str:
    """Return a digest of all sources that decide what a policy does in a simulation.

    For a policy of a user's these are its modules, and every policy and rule of handful, of which
    it may be made.
    """
    module = policy.__module__
    if _is_ours(module):
        return source_digest(module)
    files = own_sources([module])
    if files is None:
        raise SettingError(
            f"policy {policy.name}: the module {module!r} has no source file, so that results of "
            "an older version of the policy could not be told from new ones: put the policy into "
            "a file of its own and give module:Class"
        )
    return _with_files(all_sources(), files)


def checked_sources(policy: type[Policy]) -> str:
    """Return a digest that must be the same where a part is planned and where it is run.

    Of a user's modules only the policy's own is compared: what else is loaded may differ between
    processes. A script's policies are sent with the cell, so there is nothing to compare.
    """
    module = policy.__module__
    if _is_ours(module):
        return source_digest(module)
    file = getattr(sys.modules.get(module), "__file__", None)
    sent = module == "__main__" or file is None
    return _with_files(all_sources(), [] if sent else [Path(str(file))])


@cache
def all_sources() -> str:
    """Return a digest of all sources of handful that can decide a number."""
    files = [*(ROOT / "policies").glob("*.py"), *(ROOT / "rules").glob("*.py")]
    return source_digest(*sorted(f"handful.{file.parent.name}.{file.stem}" for file in files))


def _is_ours(module: str) -> bool:
    return module == "handful" or module.startswith("handful.")


def _with_files(ours: str, files: Iterable[Path]) -> str:
    digest = blake2b(ours.encode(), digest_size=8)
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
