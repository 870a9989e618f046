"""Numba's cache with checksums: damaged kernels are compiled again, full disks tolerated.

Numba loads cached machine code into the process unchecked, and a single flipped bit can crash the
process. Here each cached file has a marker beside it, an empty file named after a checksum of the
contents. Files without their marker are deleted and the kernel is compiled again. Two processes
that save the same kernel at once leave one marker each, so the file that remains has a marker.

Numba distinguishes kernels of the same name by a pickle of their closures, and the pickle of a
function differs between processes. Here functions in closures are identified by their names, which
`jit.named` made distinct.

A kernel that cannot be saved runs uncached, with one warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache

CACHED = (".nbi", ".nbc")
"""How the names of Numba's files end: the index of a kernel, and its machine code."""
_warned = False


class CheckedCache(FunctionCache):
    """The cache of one kernel, in a folder of its own."""

    @property
    def folder(self) -> Path:
        """Where the files of the kernel are."""
        return Path(self.cache_path)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Return what a kernel is found by: its signature, the machine, its code and closure."""
        function = self._py_func
        held = [_described(cell.cell_contents) for cell in function.__closure__ or ()]
        digest = blake2b(repr((function.__code__.co_code, held)).encode(), digest_size=16)
        return sig, codegen.magic_tuple(), digest.hexdigest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature; None if there is none or it is damaged."""
        try:
            self.delete_damaged()
            return super().load_overload(sig, target_context)
        except OSError:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save machine code and checksums, if there is room."""
        try:
            super().save_overload(sig, data)
            for file in self.files():
                with suppress(FileNotFoundError):  # another process took it for damaged
                    _marker(file).touch()
        except OSError as error:
            with suppress(OSError):
                self.delete_damaged()
            _warn(self.folder, error)

    def delete_damaged(self) -> None:
        """Delete the files that are not what was saved, or whose saving did not come to its end."""
        for file in self.files():
            with suppress(FileNotFoundError):
                if not _marker(file).exists():
                    file.unlink()

    def files(self) -> list[Path]:
        """Return Numba's files of the kernel."""
        return [file for file in self.folder.glob("*") if file.suffix in CACHED]


def cache_in(folder: Path, function: Callable[..., Any]) -> CheckedCache | None:
    """Return the cache of a function in a folder; None if it cannot be there."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        cache = CheckedCache(function)
    except (OSError, RuntimeError) as error:
        _warn(folder, error)
        return None
    finally:
        numba.config.CACHE_DIR = before
    if not cache.folder.is_relative_to(folder):
        # Numba would cache beside the source, where kernels of changed sources are not noticed.
        _warn(folder, "the folder cannot be written to")
        return None
    return cache


def _described(value: Any) -> str:
    """Return what a closure holds as text that is the same in every process."""
    value = getattr(value, "__wrapped__", value)  # a function under its memo
    if isinstance(value, FunctionType | type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{blake2b(value.tobytes(), digest_size=16).hexdigest()}"
    if isinstance(value, tuple):
        return f"({', '.join(_described(each) for each in value)})"
    return repr(value)


def _marker(file: Path) -> Path:
    """Return the file that says that the contents are what was saved."""
    checksum = blake2b(file.read_bytes(), digest_size=16).hexdigest()
    return file.with_name(f"{file.name}.{checksum}")


def _warn(folder: Path, why: object) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled kernels cannot be cached in {folder} ({why}), so every process compiles "
            "them again: make room there, or set HANDFUL_CACHE_DIR to another folder",
            RuntimeWarning,
            stacklevel=2,
        )
