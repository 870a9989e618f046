"""A digest of the sources that determine results: the key of cached kernels and stored cells.

The sources are found by following imports from the modules that run a cell, so none can be
forgotten. The catalogue of policies imports every policy but has no influence on results, so it is
not followed: after a change to one policy, the stored cells of the others remain valid.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from sysconfig import get_paths
from types import ModuleType

ROOT = Path(__file__).parent.parent
ENTRY_POINTS = (
    "handful.simulation.compiled",
    "handful.simulation.engines",
    "handful.simulation.execution",
    "handful.simulation.plan",
    "handful.simulation.reference",
)
CATALOGUES = ("handful", "handful.policies", "handful.simulation")
"""Packages whose `__init__` only gives names to what their modules define."""
_IMPORT = re.compile(
    r"^ *(?:from (handful[\w.]*) import (\([^)]*\)|[^\n]*)|import (handful[\w.]*))", re.MULTILINE
)


@cache
def source_digest(*modules: str) -> str:
    """Return a 64-bit digest of all sources that run a cell, and of those behind these modules."""
    digest = blake2b(digest_size=8)
    for file in files_behind((*ENTRY_POINTS, *modules)):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def files_behind(modules: Iterable[str]) -> list[Path]:
    """Return the files of these modules of handful, and of all that they import, sorted."""
    waiting = [file for name in modules if (file := _file(name)) is not None]
    found = set(waiting)
    while waiting:
        for package, names, module in _IMPORT.findall(waiting.pop().read_text(encoding="utf-8")):
            for file in _imported(package, names, module):
                if file not in found:
                    found.add(file)
                    waiting.append(file)
    return sorted(found)


def own_sources(modules: Iterable[str]) -> list[Path] | None:
    """Return the files of modules of a user's and of all that they import, in order.

    None if one of these modules has no source, such as that of a notebook. Imports of what is
    installed are not followed, except in the packages of the given modules.
    """
    packages = {name.partition(".")[0] for name in modules}
    waiting = list(modules)
    found: dict[str, Path] = {}
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        file = Path(getattr(module, "__file__", None) or "")
        if file.suffix != ".py" or not file.is_file():
            return None
        found[name] = file
        for imported in _imports(file, getattr(module, "__package__", None) or ""):
            ours = imported == "handful" or imported.startswith("handful.")
            other = sys.modules.get(imported)
            if other is None or ours or imported in found:
                continue
            mine = imported.partition(".")[0] in packages and hasattr(other, "__file__")
            if (mine and other.__file__ is not None) or not is_installed(other):
                waiting.append(imported)
    return [found[name] for name in sorted(found)]


def _imports(file: Path, package: str) -> Iterator[str]:
    """Yield the modules that a file may import, by their full names."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join(above) if node.level else ""
            whole = ".".join(part for part in (start, node.module) if part)
            yield whole
            for alias in node.names:
                yield f"{whole}.{alias.name}"


def is_installed(module: ModuleType) -> bool:
    """Return whether a module is part of Python or of an installed package, or has no source."""
    file = getattr(module, "__file__", None)
    if file is None:
        return True
    return any(Path(file).is_relative_to(folder) for folder in _installed_folders())


@cache
def _installed_folders() -> frozenset[str]:
    """Return the folders of the standard library and of installed packages."""
    paths = get_paths()
    return frozenset(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def _imported(package: str, names: str, module: str) -> list[Path]:
    """Return the files that one import statement names, whether modules or what they define."""
    given = re.findall(r"\w+", re.sub(r" as \w+|#[^\n]*", "", names))
    candidates = [_file(f"{package}.{name}") for name in given] if package else []
    whole = package or module
    if whole not in CATALOGUES:
        candidates.append(_file(whole))
    return [file for file in candidates if file is not None]


def _file(module: str) -> Path | None:
    """Return the source of a module of handful; None for anything else."""
    if module != "handful" and not module.startswith("handful."):
        return None
    base = ROOT.joinpath(*module.split(".")[1:])
    for file in (base.with_suffix(".py"), base / "__init__.py"):
        if file.is_file():
            return file
    return None
