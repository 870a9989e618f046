# What handful uses of Numba, which ships no types.
from collections.abc import Callable
from typing import Any

__version__: str

class config:  # noqa: N801
    CACHE_DIR: str

def njit(*, nogil: bool = ..., error_model: str = ...) -> Callable[[Callable[..., Any]], Any]: ...
