# What handful uses of Numba, which ships no types.
from collections.abc import Callable
from typing import Any

from numba import types as types

__version__: str

class config:  # noqa: N801
    CACHE_DIR: str

def njit(
    *, nogil: bool = ..., error_model: str = ..., _nrt: bool = ..., no_cfunc_wrapper: bool = ...
) -> Callable[[Callable[..., Any]], Any]: ...
