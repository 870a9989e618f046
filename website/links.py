"""Links of Markdown files as links of the site.

A link to a file that is a page leads to the page, a link to another file of text to a page that
shows it (`source/`). Links to folders and other files lead to the repository: only these need a
network.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from website import REPOSITORY, ROOT
from website.contents import ELSEWHERE, written

SOURCES = "source"
"""The folder of the pages that show files."""
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")


class Links:
    """Where links lead, and which files have to be shown for that."""

    def __init__(self) -> None:
        self.pages = {path.relative_to(ROOT).as_posix(): name for name, path in written().items()}
        self.pages |= ELSEWHERE
        notebooks = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
        self.pages |= {
            f"docs/notebooks/{each.name}": f"notebooks/{each.stem}" for each in notebooks
        }
        self.shown: set[str] = set()

    def rewritten(self, text: str, file: Path, page: str) -> str:
        """Return the text of a file with its links as links of a page of the site."""
        folder = file.parent.relative_to(ROOT).as_posix()

        def to_site(link: re.Match[str]) -> str:
            target, heading = link[1], link[2] or ""
            if not target:
                return link[0]
            path = posixpath.normpath(posixpath.join(folder, target))
            return f"]({self.to(path, page)}{heading})"

        return outside_blocks(text, lambda part: _LINK.sub(to_site, part))

    def to(self, path: str, page: str) -> str:
        """Return what a page writes to link to a file or folder of the tree."""
        if path in self.pages:
            target = f"{self.pages[path]}.md"
        elif path.endswith(".png"):
            target = path.removeprefix("docs/")
        elif (ROOT / path).is_dir():
            return f"{REPOSITORY}/tree/main/{path}"
        elif not _is_text(ROOT / path):
            return f"{REPOSITORY}/blob/main/{path}"
        else:
            self.shown.add(path)
            target = f"{SOURCES}/{path}.md"
        return posixpath.relpath(target, posixpath.dirname(page) or ".")


def outside_blocks(text: str, change: Callable[[str], str]) -> str:
    """Return the text with everything changed that is in no code block."""
    parts = re.split(r"(^`{3,}.*?^`{3,}$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(change(part) if place % 2 == 0 else part for place, part in enumerate(parts))


def _is_text(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return True
