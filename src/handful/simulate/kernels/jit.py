"""How kernels are compiled: the flags, the cache, and how plain functions get in.

`use` makes a plain Python function callable from kernels without changing it, so that rules,
schedules, laws and the generator are written once. `kernel` compiles; fastmath stays off (the
engines agree bit for bit), and the interpreter lock is released, so runs spread over threads.

Numba's own cache looks only at the file of the compiled function, and would serve a stale kernel
after a change to a rule. Ours lives in a folder named after a hash of all sources that kernels are
made of.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import register_jitable

import handful

F = TypeVar("F", bound=Callable[..., Any])

_ROOT = Path(handful.__file__).parent
_SOURCES = ("rng.py", "shuffle.py", "rules", "policies", "instances", "simulate/kernels")
_used: set[Callable[..., Any]] = set()


def use(function: F) -> F:
    """Let kernels call this plain function; it stays a plain function."""
    if function not in _used:
        _used.add(function)
        register_jitable(function)
    return function


def kernel(function: F) -> F:
    """Compile a function at its first call, or take it from the cache."""
    compiled = numba.njit(nogil=True, error_model="numpy")(function)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        compiled.enable_caching()
    except (RuntimeError, OSError):
        pass  # No folder to write to: the kernels are compiled again in each process.
    finally:
        numba.config.CACHE_DIR = before
    result: F = compiled
    return result


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept."""
    digest = blake2b(digest_size=8)
    for source in _SOURCES:
        path = _ROOT / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    home = os.environ.get("HANDFUL_CACHE_DIR")
    if home is None:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        home = str(Path(base) / "handful")
    tag = f"{sys.implementation.cache_tag}-numba{numba.__version__}-{digest.hexdigest()}"
    return Path(home) / "kernels" / tag
