"""A digest of the sources that decide a number: what kept kernels and results belong to."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path

import handful

ROOT = Path(handful.__file__).parent
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
def source_digest() -> str:
    """64 bits of the sources' contents."""
    digest = blake2b(digest_size=8)
    for source in SOURCES:
        path = ROOT / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
