"""Digests of all golden files: `python -m tests.golden.digests` adds those of new ones.

A golden file of a released format is never changed. `digests.json` has the digest of each, so that
a change also takes an edit there, which a reviewer sees. In a file to which entries are added, such
as the states of new policies, each entry has its own: FILE#ENTRY.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from tests.pages import ROOT

DIGESTS = Path(__file__).with_name("digests.json")
FOLDERS = (
    "tests/golden",
    "tests/storage/golden",
    "tests/fleet/golden",
    "tests/sweeps/golden",
    "tests/evaluation/golden",
    "tests/adapters/golden",
)
GROWING = ("tests/golden/format-*/*.json",)
"""Objects in JSON to which entries are added."""


def golden_files(root: Path = ROOT) -> list[Path]:
    """Return all golden files: what is in the folders, but for modules and the digests."""
    files = [path for folder in FOLDERS for path in (root / folder).rglob("*")]
    return sorted(
        path
        for path in files
        if path.is_file() and path.suffix not in (".py", ".pyc") and path.name != DIGESTS.name
    )


def digests(root: Path = ROOT) -> dict[str, str]:
    """Return the digests of all golden files as they are."""
    found = {}
    for path in golden_files(root):
        name = path.relative_to(root)
        if any(name.match(pattern) for pattern in GROWING):
            entries = json.loads(path.read_text(encoding="utf-8"))
            for key, entry in entries.items():
                text = json.dumps(entry, sort_keys=True)
                found[f"{name.as_posix()}#{key}"] = sha256(text.encode()).hexdigest()
        else:
            found[name.as_posix()] = sha256(path.read_bytes()).hexdigest()
    return found


def listed() -> dict[str, str]:
    """Return the digests that golden files must have."""
    known: dict[str, str] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return known


def main() -> None:
    """Add the digests of new files and entries; those that are there are left alone."""
    known = listed() if DIGESTS.exists() else {}
    together = {**digests(), **known}
    ordered = {name: together[name] for name in sorted(together)}
    DIGESTS.write_text(json.dumps(ordered, indent=0) + "\n", encoding="utf-8")
    print(f"{len(together) - len(known)} added, {len(known)} were there")


if __name__ == "__main__":
    main()
