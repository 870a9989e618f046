"""Finished runs as Parquet files, so that no run is repeated: a folder of partitions.

A partition is a file with a range of a cell's runs. It is written once, completely or not at all.
Its name has the cell, by a digest, and the numbers of the first and the last run. The digest covers
everything that determines the results, including the sources of handful, so a file of other sources
has another name. The name is not trusted: the settings in the file must be those of the cell, and
its checksums must match.

However a cell was cut, its partitions together are the result of all its runs, bit for bit. Where
partitions overlap, each run is read once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

from handful import __version__
from handful.errors import SettingError, WriteError
from handful.simulation import Result, read_parquet
from handful.simulation.outcome import Outcome, joined
from handful.simulation.result import Curve
from handful.sweeps.part import Part, sources_of

_NAME = re.compile(r"(.+)\.(\d+)-(\d+)\.parquet")


@dataclass(frozen=True)
class Entry:
    """What a store must know of a cell to find its partitions, also where its policy is unknown."""

    name: str
    """How the names of its partitions begin."""
    identity: Mapping[str, Any]
    """What decides its numbers, as the settings of results have it."""
    runs: range

    @classmethod
    def of(cls, part: Part) -> Entry:
        """Return the entry of a cell."""
        how = part.cell.how_run()
        identity = {
            "id": part.cell.id,
            **{key: value for key, value in how.items() if key not in ("runs", "first_run")},
            "engine": part.engine,
            "version": __version__,
            "sources": sources_of(part.cell.policy),
        }
        text = repr(sorted(identity.items()))
        policy = re.sub(r"[^\w-]", "_", part.cell.policy.name)
        digest = blake2b(text.encode(), digest_size=6).hexdigest()
        return cls(f"{policy}-M{part.cell.memory}-{digest}", identity, part.cell.run_numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "name": self.name,
            "first_run": self.runs.start,
            "runs": len(self.runs),
            "identity": dict(self.identity),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Entry:
        """Undo `to_dict`."""
        first = int(data["first_run"])
        return cls(str(data["name"]), data["identity"], range(first, first + int(data["runs"])))


class Store:
    """A folder of partitions.

    Where a finished range cannot be saved, as on a full disk, it stays in memory, and `unsaved`
    says why, once. `damaged` has the files that were found to be none of ours, until they are
    deleted or written again; their runs are missing, and are run again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unsaved: str | None = None
        self.damaged: dict[Path, str] = {}
        self._in_memory: dict[Path, Result] = {}

    @cached_property
    def _files(self) -> dict[str, set[range]]:
        """The ranges on disk or in memory, by the names of cells."""
        found: dict[str, set[range]] = defaultdict(set)
        for file in self.folder.glob("*.parquet"):
            if match := _NAME.fullmatch(file.name):
                found[match[1]].add(range(int(match[2]), int(match[3]) + 1))
        return found

    def path(self, part: Part) -> Path:
        """Return the file of a range of runs of a cell."""
        entry = Entry.of(part)
        return self._path(entry, entry.runs)

    def _path(self, entry: Entry, runs: range) -> Path:
        return self.folder / f"{entry.name}.{runs.start}-{runs.stop - 1}.parquet"

    def save(self, part: Part, result: Result) -> None:
        """Save a finished range."""
        entry = Entry.of(part)
        path = self._path(entry, entry.runs)
        result = replace(result, settings={**result.settings, **entry.identity})
        self._files[entry.name].add(entry.runs)
        self.damaged.pop(path, None)
        try:
            result.to_parquet(path)
        except WriteError as error:
            self.unsaved = self.unsaved or str(error)
            self._in_memory[path] = result

    def missing(self, part: Part) -> list[range]:
        """Return the runs that have no sound partition, as ranges."""
        entry = Entry.of(part)
        found = [taken for taken, _ in self._parts(entry)]
        starts = [*(taken.start for taken in found), entry.runs.stop]
        stops = [entry.runs.start, *(taken.stop for taken in found)]
        return [range(a, b) for a, b in zip(stops, starts, strict=True) if a < b]

    def load(self, wanted: Part | Entry) -> Result | None:
        """Return all runs of a cell, joined; None if some are missing."""
        entry = wanted if isinstance(wanted, Entry) else Entry.of(wanted)
        settings: list[dict[str, Any]] = []
        grid: list[int] = []
        count = 0

        def outcomes() -> Iterator[Outcome]:
            # One partition is in memory at a time: a cell may have a million runs.
            nonlocal grid, count
            for taken, result in self._parts(entry):
                settings.append(result.settings)
                grid = result.curve.t.tolist()
                count += len(taken)
                yield Outcome(result.curve.per_run, result.pulls, result.stays)

        parts = outcomes()
        first = next(parts, None)
        if first is None:
            return None
        outcome = joined(chain([first], parts))
        if count < len(entry.runs):
            return None
        return Result.of(_joined_settings(entry, settings), grid, outcome)

    def discard(self, parts: Iterable[Part]) -> None:
        """Delete the partitions of cells, so that they are run again."""
        for part in parts:
            entry = Entry.of(part)
            for runs in self._files.pop(entry.name, set()):
                self._in_memory.pop(self._path(entry, runs), None)
                self._path(entry, runs).unlink(missing_ok=True)

    def delete_damaged(self) -> None:
        """Delete the files that were found to be damaged."""
        found, self.damaged = self.damaged, {}
        for path in found:
            path.unlink(missing_ok=True)
            if match := _NAME.fullmatch(path.name):
                self._files[match[1]].discard(range(int(match[2]), int(match[3]) + 1))

    def others(self, parts: Iterable[Part]) -> int:
        """Return how many files belong to other cells, or to these by other sources."""
        names = {Entry.of(part).name for part in parts}
        return sum(len(runs) for name, runs in self._files.items() if name not in names)

    def _parts(self, entry: Entry) -> Iterator[tuple[range, Result]]:
        """Yield sound partitions in the order of their runs, each cut to what is still missing."""
        at = entry.runs.start
        for runs in sorted(self._files.get(entry.name, ()), key=lambda r: (r.start, -r.stop)):
            taken = range(max(runs.start, at), min(runs.stop, entry.runs.stop))
            if len(taken) > 0 and (found := self._read(entry, runs)) is not None:
                yield taken, _only(found, taken)
                at = taken.stop

    def _read(self, entry: Entry, runs: range) -> Result | None:
        path = self._path(entry, runs)
        if path in self._in_memory:
            return self._in_memory[path]
        try:
            found = read_parquet(path)
        except SettingError as error:
            self.damaged[path] = str(error)
            return None
        if len(found) != 1 or not _is_it(found[0], entry, runs):
            self.damaged[path] = f"{path} has other numbers than its name says"
            return None
        return found[0]


def _is_it(found: Result, entry: Entry, runs: range) -> bool:
    """Return whether a file has what its name says: this cell, these runs, pulls to be joined."""
    wanted = {**entry.identity, "first_run": runs.start, "runs": len(runs)}
    same = all(found.settings.get(key) == value for key, value in wanted.items())
    summed = found.pulls is None and found.mean_pulls is not None
    return same and len(found.curve.per_run) == len(runs) and not summed


def _only(result: Result, runs: range) -> Result:
    """Return some of the runs of a partition."""
    first = int(result.settings["first_run"])
    here = slice(runs.start - first, runs.stop - first)
    if len(runs) == len(result.curve.per_run):
        return result
    return Result(
        result.settings,
        Curve(result.curve.t, result.curve.per_run[here]),
        None if result.pulls is None else result.pulls[here],
        None if result.stays is None else result.stays[here],
    )


def _joined_settings(entry: Entry, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of all runs: the times are sums, the memory is the highest."""
    seconds = sum(part["seconds"] for part in parts)
    return {
        **parts[0],
        "first_run": entry.runs.start,
        "runs": len(entry.runs),
        "seconds": seconds,
        "compile_seconds": sum(part["compile_seconds"] for part in parts),
        "pulls_per_second": parts[0]["horizon"] * len(entry.runs) / max(seconds, 1e-9),
        "peak_rss_bytes": max(part["peak_rss_bytes"] for part in parts),
    }
