"""The extras of pyproject.toml, and which of them users install."""

from __future__ import annotations

import re
import tomllib
from typing import NamedTuple

from tests.pages import ROOT

DEVELOPMENT = {"dev", "docs", "fuzz"}
"""Extras for work on handful itself: they need no lowest versions and no trial."""
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\d.]+)(?:,[^;]*)?(?:;.*)?")


class Requirement(NamedTuple):
    """A package that an extra needs."""

    package: str
    """Its name in lower case, with hyphens."""
    lowest: str


def normal(package: str) -> str:
    """Return the name of a package in the one form that all its spellings have."""
    return re.sub(r"[-_.]+", "-", package).lower()


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers, without zeros at its end: 2.0 is 2.0.0."""
    parts = [int(part) for part in version.split(".") if part.isdigit()]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def extras() -> dict[str, list[Requirement]]:
    """Return every extra and the packages that it declares; `all` and the like have those of all.

    A package without a lowest version is a mistake in pyproject.toml.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared: dict[str, list[str]] = project["optional-dependencies"]
    return {name: _resolved(name, declared) for name in declared}


def users_extras() -> dict[str, list[Requirement]]:
    """Return the extras that users install."""
    return {name: needs for name, needs in extras().items() if name not in DEVELOPMENT}


def _resolved(extra: str, declared: dict[str, list[str]]) -> list[Requirement]:
    found: dict[str, Requirement] = {}
    for line in declared[extra]:
        if own := re.fullmatch(r"handful\[([\w,-]+)\]", line):
            parts = own[1].split(",")
            found.update((need.package, need) for p in parts for need in _resolved(p, declared))
            continue
        match = _REQUIREMENT.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"extra {extra}: {line!r} has no lowest version")
        found[normal(match[1])] = Requirement(normal(match[1]), match[2])
    return list(found.values())
