"""The folder of a sweep: a manifest, partitions, and one process that writes to them.

    DIR/manifest.json    the spec as it was given, the cells, the version and the sources
    DIR/cells/           partitions, see `store.py`
    DIR/sweep.lock       held by the process that runs the sweep, and free when it ends

The manifest does not say which runs are finished: the runs of every valid partition are. So a crash
cannot leave the folder in an inconsistent state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from handful import __version__
from handful.errors import SettingError, StoreInUseError, StoreUnavailableError, WriteError
from handful.files.writing import reason, write_file
from handful.simulation import Result
from handful.storage.owner import Owner
from handful.sweeps.part import all_sources
from handful.sweeps.spec import Spec
from handful.sweeps.store import Entry, Store

FORMAT = 1
MANIFEST, CELLS = "manifest.json", "cells"


class Sweep:
    """The cells of a sweep and their results, read from its folder when they are asked for."""

    def __init__(self, folder: Path, entries: Sequence[Entry], store: Store | None = None) -> None:
        self.folder = folder
        self.entries = list(entries)
        self.store = store or Store(folder / CELLS)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Result]:
        """The results of the finished cells, one after the other, in the order of the spec."""
        return (result for entry in self.entries if (result := self.store.load(entry)) is not None)

    @property
    def results(self) -> list[Result]:
        """The results of all cells, in the order of the spec; an error if some are missing."""
        found = [(entry, self.store.load(entry)) for entry in self.entries]
        missing = [str(entry.identity["id"]) for entry, result in found if result is None]
        if missing:
            raise SettingError(
                f"{self.folder}: {len(missing)} of {len(self)} cells are not finished, such as "
                f"{missing[0]}: run the sweep again, or go through list(sweep) for the others"
            )
        return [result for _, result in found if result is not None]

    def __repr__(self) -> str:
        return f"Sweep({str(self.folder)!r}, {len(self)} cells)"


def read_sweep(folder: str | Path) -> Sweep:
    """Read the folder of a sweep, finished or not. It may be of any version of handful."""
    manifest = read_manifest(Path(folder))
    if manifest is None:
        raise SettingError(f"{folder} is not the folder of a sweep: it has no {MANIFEST}")
    return Sweep(Path(folder), [Entry.from_dict(one) for one in manifest["cells"]])


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a sweep; None if there is none."""
    path = folder / MANIFEST
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
        if data["format"] > FORMAT:
            raise SettingError(f"{path} was written by a newer version of handful")
        [Entry.from_dict(one) for one in data["cells"]]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, LookupError, TypeError, OSError) as error:
        if isinstance(error, SettingError):
            raise
        raise SettingError(
            f"{path} cannot be read: {error}. Delete this file and run the sweep again: finished "
            "partitions are used"
        ) from None
    return data


def write_manifest(folder: Path, spec: Spec, entries: Sequence[Entry]) -> None:
    """Write the manifest, completely or not at all."""
    data = {
        "format": FORMAT,
        "version": __version__,
        "sources": all_sources(),
        "spec": spec.text,
        "cells": [entry.to_dict() for entry in entries],
    }
    write_file(folder / MANIFEST, json.dumps(data, indent=1).encode())


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Make the folder, and be the only process that writes to it; delete what a crash left."""
    try:
        (folder / CELLS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{folder} cannot be made: {reason(error)}") from None
    try:
        owner = Owner(folder / "sweep")
    except StoreUnavailableError as error:
        raise WriteError(f"{folder} cannot be written to: {error}") from None
    except StoreInUseError:
        raise StoreInUseError(
            f"another process runs a sweep in {folder}: wait for it, or give another folder"
        ) from None
    try:
        for part in (folder / CELLS).glob("*.part"):
            part.unlink(missing_ok=True)
        yield
    finally:
        owner.release()
