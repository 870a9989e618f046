"""Which pages the site has, in which sections, and which files they are made from."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from website import ROOT


class Section(NamedTuple):
    """A heading of the sidebar and the pages below it."""

    title: str
    pages: tuple[str, ...]


SECTIONS = (
    Section("Learn", ("tutorial", "notebooks/index", "recipes", "choosing")),
    Section(
        "Policies", ("policies/index", "own-rule", "proposers", "adapters", "fleets", "key-value")
    ),
    Section(
        "In production",
        ("service", "client", "http-api", "replay", "sharded-fleets", "capacity"),
    ),
    Section(
        "Simulation", ("simulation", "sweeps", "data", "reproduce", "mathematics", "benchmarks")
    ),
    Section("Reference", ("api/index", "cli", "compatibility", "changelog", "security")),
    Section("Background", ("design", "real", "compared", "contributing", "releasing")),
)
"""Pages of `docs/` that are in no section are put into the last one: none is ever missing."""

FILES = {
    "benchmarks": "benchmarks/README.md",
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "releasing": "RELEASING.md",
    "security": "SECURITY.md",
}
"""Pages that are not made from the file of their name in `docs/`."""

GENERATED = ("api/index", "http-api", "notebooks/index", "policies/index")
"""Pages that code writes, with those below them."""

ELSEWHERE = {"README.md": "index"}
"""Files that the site has another page for."""


def written() -> dict[str, Path]:
    """Return the file of every page that is written by hand, by the name of the page."""
    pages = {path.stem: path for path in sorted((ROOT / "docs").glob("*.md"))}
    return pages | {name: ROOT / file for name, file in FILES.items()}


def sections() -> list[Section]:
    """Return the sections with the pages that there are; one without a place is in the last."""
    there = {*written(), *GENERATED}
    placed = {page for section in SECTIONS for page in section.pages}
    rest = tuple(sorted(there - placed))
    found = [
        Section(title, tuple(page for page in pages if page in there)) for title, pages in SECTIONS
    ]
    found[-1] = Section(found[-1].title, found[-1].pages + rest)
    return found
