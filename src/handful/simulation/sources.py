"""A digest of the sources that decide a number: what kept kernels and results belong to."""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b
from pathlib import Path

import handful

ROOT = Path(handful.__file__).parent
POLICIES = "handful.policies"
IMPORT = re.compile(
    rf"^ *(?:from|import) {re.escape(POLICIES)}(?:\.(\w+)| import \(?([\w\s,]+))", re.MULTILINE
)
"""Of a module by its own name, or of several by name from the package."""
SOURCES = (
    "binomial.py",
    "memory.py",
    "reservoir.py",
    "rng.py",
    "shuffle.py",
    "rules",
    "policies",
    "instances",
    "simulation/compiled.py",
    "simulation/engines.py",
    "simulation/families.py",
    "simulation/kernels",
    "simulation/oracle.py",
    "simulation/seeds.py",
)


@cache
def source_digest(module: str | None = None) -> str:
    """64 bits of the sources' contents; with a policy's module, of those that it is made of.

    A change to one policy then leaves what is kept of the others as it is.
    """
    digest = blake2b(digest_size=8)
    files = [file for source in SOURCES for file in _files(ROOT / source)]
    if module is not None and module.startswith(f"{POLICIES}."):
        files = _without_other_policies(files, module.removeprefix(f"{POLICIES}."))
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _files(source: Path) -> list[Path]:
    return sorted(source.rglob("*.py")) if source.is_dir() else [source]


def _without_other_policies(files: list[Path], policy: str) -> list[Path]:
    """The files but those of `policies` that neither this one nor any other file imports.

    The package's own `__init__`, which imports all, only gives them names.
    """
    folder = ROOT / "policies"
    waiting = [file for file in files if file.parent != folder] + [folder / f"{policy}.py"]
    needed, here = set(waiting), set(files)
    while waiting:
        for one, several in IMPORT.findall(waiting.pop().read_text(encoding="utf-8")):
            for name in re.findall(r"\w+", f"{one} {several}"):
                file = folder / f"{name}.py"
                if file in here and file not in needed:
                    needed.add(file)
                    waiting.append(file)
    return [file for file in files if file in needed]
