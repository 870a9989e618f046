"""What a fresh environment is given to run: the checks, and the pages whose examples they run."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.pages import ROOT

FILES = (
    "README.md",
    "docs/tutorial.md",
    "pyproject.toml",
    "tests/__init__.py",
    "tests/pages.py",
    "tests/release/__init__.py",
    "tests/release/checks",
)
CHECKS = Path(__file__).parent / "checks"


def write_kit(folder: Path) -> None:
    """Copy the checks and what they need into a folder, and nothing of the package itself."""
    for name in FILES:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)


def has_check(extra: str) -> bool:
    """Return whether an extra has a check of what it is for."""
    return (CHECKS / f"{extra}.py").exists()
