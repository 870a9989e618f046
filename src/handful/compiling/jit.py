"""How kernels are compiled: the flags, the cache, and the plain functions that they call.

`use` makes a plain Python function callable from kernels without changing it, so that rules,
schedules, distributions and the generator are written once. `kernel` compiles a kernel. Fastmath is
off, so that the engines agree bit for bit, and kernels release the interpreter lock, so that runs
can use several threads.

Numba's cache has three traps, each of which can silently load a wrong kernel:

- It checks only the file of the compiled function, not those of the functions that it calls. Our
  cache is in a folder named after a hash of all sources that kernels are made of.
- Functions made by one factory have the same name. If two of them are compiled in two processes and
  loaded into a third, they define the same symbols, and one replaces the other. `named` makes the
  names distinct.
- They also share one index file, which two processes overwrite. Our cache has a folder for each
  kernel.

`cache` guards against damaged files and full disks. Functions from outside this package are
identified by their code and all that it reads (`identity`), and are compiled under distinct names.
Functions without an identity, as in a notebook, are not cached.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import _lru_cache_wrapper, cache
from hashlib import blake2b
from itertools import count
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.errors import NumbaError as CompileError
from numba.extending import overload

from handful.compiling.cache import cache_in
from handful.compiling.identity import identity_of, is_ours
from handful.compiling.sources import is_installed, source_digest
from handful.core import change, rng, slots
from handful.errors import MemoryFullError

__all__ = [
    "CompileError",
    "cache_folder",
    "family",
    "inlined",
    "is_cached",
    "is_cold",
    "kernel",
    "named",
    "use",
    "without_memo",
]

F = TypeVar("F", bound=Callable[..., Any])

_OWN = "own"
_counter = count()
_frozen: dict[FunctionType, str | None] = {}
"""The identities of a user's functions when kernels first could call them."""
_used: set[Callable[..., Any]] = {rng.as_word, rng.as_int, slots.grow, slots.extend}
"""Plain functions that kernels can call. The first ones mean something else there, see below."""
_used |= {
    change.copy_slot,
    change.clear_slot,
    change.follow,
    change.forget_arms,
}  # so do these, see `handful.compiling.state`
_CHECKED = {slots.admit}
"""Functions of ours that policies give a slot to: seldom called, so that checks cost nothing."""


@overload(rng.as_word, jit_options={"no_cfunc_wrapper": True})
def _as_word(x: Any) -> Any:
    def word(x: Any) -> Any:
        return np.uint64(x)

    return word


@overload(rng.as_int, jit_options={"no_cfunc_wrapper": True})
def _as_int(x: Any) -> Any:
    def integer(x: Any) -> Any:
        return np.int64(x)

    return integer


@overload(slots.grow, jit_options={"no_cfunc_wrapper": True})
def _grow(state: Any, slots: Any) -> Any:
    # A kernel has room for all slots from the start. Messages of kernels are constant.
    def grown(state: Any, slots: Any) -> None:
        if slots > len(state.arm):
            raise MemoryFullError("the arm memory is full")

    return grown


@overload(slots.extend, jit_options={"no_cfunc_wrapper": True})
def _extend(state: Any, entries: Any) -> Any:
    def extended(state: Any, entries: Any) -> None:
        state.entries = entries

    return extended


def _options(function: Any, tabulated: bool) -> dict[str, Any]:
    """Return how a plain function is compiled.

    Functions of a user's may be wrong, and must not write beyond an array, nor divide by zero in
    silence, where the python engine would raise. Tables have values that are never used, such as
    the growth at the first pull: what is tabulated may divide by zero.
    """
    options: dict[str, Any] = {"no_cfunc_wrapper": True}
    own = not is_ours(function)
    if own or function in _CHECKED:
        options["boundscheck"] = True
    if own and not tabulated:
        options["error_model"] = "python"
    return options


def use(function: F, tabulated: bool = False) -> F:
    """Let kernels call this plain function, and those that it names; it stays plain."""
    if function not in _used:
        _register(function, _distinct(without_memo(function)), tabulated)
    return function


def _register(function: Any, plain: Any, tabulated: bool, inline: bool = False) -> None:
    """Let kernels call a function, which they compile from `plain`, and those that it names."""
    _used.add(function)
    options = _options(without_memo(function), tabulated)
    if inline:
        options["forceinline"] = True
    overload(function, strict=False, jit_options=options)(lambda *arguments: plain)
    if isinstance(plain, FunctionType):
        for called in _called_by(plain):
            use(called, tabulated)


def _distinct(function: Any) -> Any:
    """Return a function of a user's under a name that tells it from all others, for the linker."""
    if all(is_ours(part) for part in _made_of(function)):
        return function
    identity = identity_of([function])
    _frozen[function] = identity
    code, closure = function.__code__, function.__closure__
    name = f"{function.__name__}_{identity or f'own{next(_counter)}'}"
    twin = FunctionType(code, function.__globals__, name, function.__defaults__, closure)
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__module__ = function.__module__
    twin.__qualname__ = name
    return twin


def without_memo(function: Any) -> Any:
    """Return the function that a memo calls, which kernels compile; any other as it is."""
    return function.__wrapped__ if isinstance(function, _lru_cache_wrapper) else function


def _called_by(function: FunctionType) -> Iterator[Callable[..., Any]]:
    """Yield the plain functions that a function names: globals, of modules, of its closure."""
    names = function.__code__.co_names
    spaces = [function.__globals__]
    modules: set[ModuleType] = set()
    for space in spaces:
        # Names of attributes stand among the names, without their owner.
        for value in [space[name] for name in names if name in space]:
            if isinstance(without_memo(value), FunctionType):
                yield value
            elif isinstance(value, ModuleType) and not is_installed(value):
                if value not in modules:
                    modules.add(value)
                    spaces.append(vars(value))
    for cell in function.__closure__ or ():
        if isinstance(without_memo(cell.cell_contents), FunctionType):
            yield cell.cell_contents


def _made_of(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Yield a function, and those in its closure."""
    function = without_memo(function)
    yield function
    for cell in getattr(function, "__closure__", None) or ():
        if isinstance(without_memo(cell.cell_contents), FunctionType):
            yield from _made_of(cell.cell_contents)


def family(kind: str, name: str, *parts: Callable[..., Any] | bool) -> str:
    """Return a name for all functions of a kernel made from `parts`, unlike any other kernel's."""
    functions = [inner for part in parts if callable(part) for inner in _made_of(part)]
    names = [f"{function.__module__}.{function.__qualname__}" for function in functions]
    sources = source_digest(*sorted({function.__module__ for function in functions}))
    own = [function for function in functions if not is_ours(function)]
    if own:
        identity = identity_of(functions)
        if identity is None or _has_changed(own):
            return f"{_OWN}{next(_counter)}_{kind}"
        names.append(identity)
    made_of = " ".join([sources, *names, *(str(part) for part in parts if not callable(part))])
    plain = re.sub(r"\W", "_", name)
    return f"{kind}_{plain}_{blake2b(made_of.encode(), digest_size=8).hexdigest()}"


def _has_changed(functions: list[Any]) -> bool:
    """Return whether a function is no longer what it was when kernels first could call it.

    Numba may have compiled it then: a kernel made now would be of old parts.
    """
    waiting = [function for function in functions if isinstance(function, FunctionType)]
    met = set(waiting)
    for function in waiting:
        if function in _frozen and _frozen[function] != identity_of([function]):
            return True
        called = {without_memo(each) for each in _called_by(function)} - met
        met |= called
        waiting += [each for each in called if not is_ours(each)]
    return False


def is_cached(compiled: Callable[..., Any]) -> bool:
    """Return whether other processes can load a kernel once it is compiled."""
    dispatcher: Any = compiled
    return not dispatcher.py_func.__name__.startswith(f"kernel_{_OWN}")


def named(function: F, role: str, kin: str, inline: bool = False) -> F:
    """Give a function that a factory made a name of its own, for the linker."""
    function.__name__ = function.__qualname__ = f"{role}_{kin}"
    _register(function, function, tabulated=False, inline=inline)
    return function


def inlined(function: F) -> F:
    """Let kernels call this plain function of ours, as a part of the function that calls it.

    For functions with many arrays as arguments, which take longer to pass than to use.
    """
    _register(function, function, tabulated=False, inline=True)
    return function


def kernel(function: F, kin: str) -> F:
    """Compile a function at its first call, or take it from the cache. `kin` as from `family`."""
    function.__name__ = function.__qualname__ = f"kernel_{kin}"
    compiled = numba.njit(nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True)(
        function
    )
    if not kin.startswith(_OWN) and (cache := cache_in(cache_folder() / kin, function)):
        compiled._cache = cache
    result: F = compiled
    return result


def is_cold(compiled: Callable[..., Any]) -> bool:
    """Return whether a kernel is neither in this process nor in the cache yet."""
    dispatcher: Any = compiled
    folder = cache_folder() / dispatcher.py_func.__name__.removeprefix("kernel_")
    return not dispatcher.signatures and not any(folder.rglob("*.nbc"))


@cache
def cache_folder() -> Path:
    """Return the folder of cached kernels."""
    home = os.environ.get("HANDFUL_CACHE_DIR")
    if home is None:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        home = str(Path(base) / "handful")
    tag = f"{sys.implementation.cache_tag}-numba{numba.__version__}-{source_digest()}"
    return Path(home) / "kernels" / tag
