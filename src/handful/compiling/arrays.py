"""Types of arrays in kernels: what Numba supports of NumPy, with element types.

By NumPy's types, an element is a NumPy scalar. In a kernel it is a plain machine number, which
functions of int and float accept. So elements are typed as int and float here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeAlias, TypeVar, overload

T = TypeVar("T", int, float)


class Array(Protocol[T]):
    """An array of one or more dimensions."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[T]: ...

    @overload
    def __getitem__(self, index: int | tuple[int, ...]) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Array[T]: ...

    def __setitem__(self, index: int | tuple[int, ...] | slice, value: T) -> None: ...


Floats: TypeAlias = Array[float]
Ints: TypeAlias = Array[int]
Words: TypeAlias = Array[int]
"""Of unsigned 64-bit integers."""
