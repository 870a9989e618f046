"""The manifest of a sharded fleet, `shards.json`: the number and the size of the shards.

The manifest is written before the shards are made, and again when all of them exist. This
distinguishes a folder in which only some shards were made from one that lost its manifest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from handful.errors import DamagedStoreError, SettingError, StoreError
from handful.files.writing import PART, write_whole

MANIFEST = "shards.json"
FORMAT = 1


class Manifest(NamedTuple):
    """What is known of the shards of a folder."""

    shards: int
    size: int
    """Members of a shard; the last one may have others."""
    complete: bool
    """Whether all shards have been made."""


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder."""
    data = json.dumps({"format": FORMAT, **manifest._asdict()}).encode()
    write_whole(path / MANIFEST, lambda file: file.write(data))


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a folder; refuse a folder that has none."""
    try:
        found = json.loads((path / MANIFEST).read_bytes())
        if found["format"] != FORMAT:
            raise ValueError
        return Manifest(int(found["shards"]), int(found["size"]), bool(found["complete"]))
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(
            f"{path} is not the folder of a sharded fleet: there is no {MANIFEST} in it"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise DamagedStoreError(
            f"{path / MANIFEST} is damaged, or of a newer version of handful"
        ) from None


def check_free(path: Path) -> None:
    """Refuse a folder unless it is new, or the making of a fleet in it was interrupted."""
    free = not path.exists()
    if path.is_dir():
        names = [file.name for file in path.iterdir() if file.suffix != PART]
        free = not read_manifest(path).complete if MANIFEST in names else set(names) <= {"lock"}
    if not free:
        raise SettingError(
            f"{path} exists: give a new folder, or open this one with ShardedFleet.open"
        )
