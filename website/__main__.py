"""Build the site: `python -m website [FOLDER]`. A warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from website import HERE, SITE, SOURCE, pictures
from website.staging import stage


def build(site: Path = SITE, source: Path = SOURCE, with_pictures: bool = True) -> int:
    """Write the site to a folder; return the exit code."""
    stage(source, pictures.folder() if with_pictures else None)
    return sphinx(
        ["-b", "html", "-c", str(HERE), "-d", str(source.parent / "site-doctrees"),
         "-n", "-W", "--keep-going", "-q", "-E", str(source), str(site)]
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if sys.argv[1:] else SITE))
