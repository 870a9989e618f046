"""Print the time that a build of this tree has, in seconds since 1970: `SOURCE_DATE_EPOCH`.

It is that of the last commit. In an unpacked sdist, whose files have the time of the build that
made it, it is that of PKG-INFO: so the sdist makes the wheel that was built with it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.pages import ROOT


def epoch(root: Path = ROOT) -> int:
    """Return the time of a tree."""
    info = root / "PKG-INFO"
    if info.exists():
        return int(info.stat().st_mtime)
    git = ("git", "-C", str(root), "log", "-1", "--format=%ct")
    try:
        said = subprocess.run(git, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit(
            f"{root} is neither a checkout with a commit nor an unpacked sdist: set "
            "SOURCE_DATE_EPOCH to the time that the build should have"
        ) from None
    return int(said)


if __name__ == "__main__":
    sys.stdout.write(f"{epoch()}\n")
