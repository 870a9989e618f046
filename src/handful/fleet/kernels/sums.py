"""Checksums of blocks of bytes: 64 bits each, 0 for a block of zeros, such as a hole in a file."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.compiling.arrays import Ints, Words
from handful.compiling.jit import family, kernel, use
from handful.core.rng import as_word

ODD = 0x9FB2_1C65_1E98_DF25
"""At least 2^63, so that Numba takes it for unsigned."""


@use
def checksum(words: Words) -> int:
    """Return a checksum of words."""
    found = as_word(0)
    for i in range(len(words)):
        found = (found ^ words[i]) * ODD
        found ^= found >> as_word(29)
    return found


@cache
def _kernel() -> Any:
    def run(words: Any, blocks: Ints, found: Words) -> None:
        for i in range(len(blocks)):
            found[i] = checksum(words[blocks[i]])

    return kernel(run, family("fleet_sums", "", checksum, _kernel))


def sums_of(words: NDArray[np.uint64], blocks: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the checksums of some rows of an array of words."""
    found = np.zeros(len(blocks), np.uint64)
    _kernel()(words, blocks, found)
    return found
