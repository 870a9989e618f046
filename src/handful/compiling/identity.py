"""The identity of a user's functions, as text; a digest of it is the key of cached kernels.

When a kernel is compiled, the values of all names that its functions read become constants. So the
identity of a function is its code, its defaults, and these values: numbers as such, other functions
by their identity, modules by what the function reads of them. The sources of the modules that
define the functions are part of it. So is the code itself, since a loaded module may be older than
its file. If a value is of another kind, or if there is no source, as for functions of a notebook,
there is no identity, and each process compiles the kernel again.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import _lru_cache_wrapper
from hashlib import blake2b
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from handful.compiling.sources import is_installed, own_sources


class _UnknownError(Exception):
    """A value whose identity is not known."""


def is_ours(function: Any) -> bool:
    """Return whether a function or a class is part of this package."""
    return bool(function.__module__.startswith("handful."))


def identity_of(parts: Iterable[Callable[..., Any]]) -> str | None:
    """Return a digest of functions and classes; None if other processes cannot know them."""
    text = _Text()
    try:
        for part in parts:
            text.add(part)
    except _UnknownError:
        return None
    digest = blake2b("\n".join(text.lines).encode(), digest_size=16)
    files = own_sources(sorted(text.modules))
    if files is None:
        return None
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


class _Text:
    """The lines of an identity, and the modules that they come from."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.modules: set[str] = set()
        self._met: dict[int, int] = {}

    def add(self, value: Any) -> None:
        """Add a value that a kernel freezes."""
        if isinstance(value, _lru_cache_wrapper):
            value = value.__wrapped__
        value = getattr(value, "py_func", value)  # compiled by the user
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, ModuleType | BuiltinFunctionType):
            self.lines.append(f"{type(value).__name__} {value.__name__}")
        elif isinstance(value, bool | int | float | complex | str | bytes | None | Enum):
            self.lines.append(f"{type(value).__name__} {value!r}")
        elif isinstance(value, tuple):
            self.lines.append(f"{type(value).__name__} of {len(value)}")
            for each in value:
                self.add(each)
        else:
            raise _UnknownError

    def _class(self, cls: type) -> None:
        found: Any = sys.modules.get(cls.__module__)
        for name in cls.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is not cls or cls.__module__ == "__main__":
            raise _UnknownError  # Numba would save a copy of it, which equals no other class
        self.lines.append(f"class {cls.__module__}.{cls.__qualname__}")
        self._from(cls.__module__)

    def _function(self, function: FunctionType) -> None:
        if id(function) in self._met:
            self.lines.append(f"function {self._met[id(function)]}")
            return
        self._met[id(function)] = len(self._met)
        self.lines.append(f"def {function.__module__}.{function.__qualname__}")
        if not is_ours(function):
            self._from(function.__module__)
            self._code(function.__code__)
            self.add(function.__defaults__ or ())
            self.add(tuple((function.__kwdefaults__ or {}).items()))
            for path, value in _read_by(function):
                self.lines.append(path)
                self.add(value)
        for cell in function.__closure__ or ():
            self.add(cell.cell_contents)

    def _code(self, code: CodeType) -> None:
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.lines.append(f"{code.co_code.hex()} {code.co_argcount} {code.co_flags} {names}")
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant)
            elif isinstance(constant, frozenset):
                self.lines.append(str(sorted(map(repr, constant))))
            else:
                self.lines.append(f"{type(constant).__name__} {constant!r}")

    def _from(self, module: str) -> None:
        if not module.startswith("handful."):
            self.modules.add(module)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Return the code of a function and of those that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _read_by(function: FunctionType) -> list[tuple[str, Any]]:
    """Return the globals that a function reads, and what it may read of modules, with names."""
    read: list[tuple[str, Any]] = []
    for code in _codes(function.__code__):
        names = [each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"]
        for name in dict.fromkeys(names):
            if name in function.__globals__:
                read += _with_attributes(name, function.__globals__[name], code.co_names, set())
    return read


def _with_attributes(
    path: str, value: Any, names: Iterable[str], met: set[ModuleType]
) -> Iterator[tuple[str, Any]]:
    """Return a value, and of a module that is not installed its attributes of these names."""
    yield path, value
    if isinstance(value, ModuleType) and not is_installed(value) and value not in met:
        met.add(value)
        if value.__name__ != "handful" and not value.__name__.startswith("handful."):
            for name in names:
                if name in vars(value):
                    yield from _with_attributes(f"{path}.{name}", vars(value)[name], names, met)
