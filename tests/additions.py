"""What a newcomer adds, as edits to a copy of the package. Each edit is one place."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import NamedTuple

import handful


class Edit(NamedTuple):
    """Text that goes before a line of a file; a file of its own if no line is given."""

    file: str
    before: str | None
    text: str


def copy_with(edits: Iterable[Edit], home: Path) -> Path:
    """Return a copy of the package with the edits made."""
    copy = home / "handful"
    copytree(Path(handful.__file__).parent, copy, ignore=ignore_patterns("__pycache__"))
    for edit in edits:
        path = copy / edit.file
        if edit.before is None:
            assert not path.exists(), f"{edit.file} is there already"
            path.write_text(edit.text, "utf-8")
            continue
        source = path.read_text(encoding="utf-8")
        assert source.count(f"\n{edit.before}") == 1, f"{edit.before!r} in {edit.file}"
        path.write_text(source.replace(f"\n{edit.before}", f"\n{edit.text}{edit.before}"), "utf-8")
    return copy


def run_in(home: Path, *words: str, status: int = 0) -> str:
    """Return what Python prints, given these words, with the copy in place of the package."""
    environment = {**os.environ, "PYTHONPATH": str(home), "HANDFUL_CACHE_DIR": str(home / "cache")}
    run = subprocess.run(
        [sys.executable, *words],
        env=environment, cwd=home, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == status, run.stderr + run.stdout
    return run.stdout
