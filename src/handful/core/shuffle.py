"""A shuffle of [0, K) in a few words of memory, however large K is.

The paper shuffles the arm indices once and allows O(M log T + log K) bits, so the shuffled order
must not be stored. It is computed instead: a keyed Feistel network on the smallest grid of
`rows x columns` cells that covers K (Black and Rogaway, CT-RSA 2002, method of the generalised
Feistel cipher), which is a bijection of the grid for any round function; a result outside [0, K)
is encrypted again until it falls inside ("cycle walking"), which makes it a bijection of [0, K).
The grid has fewer than sqrt(K) + 1 spare cells, so walking is rare.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from handful.core.rng import GOLDEN, MASK, as_int, as_word, mix


class Shuffle(NamedTuple):
    """The shuffled order of K arms under a key."""

    n_arms: int
    rows: int
    columns: int
    rounds: int
    key: int

    @classmethod
    def of(cls, n_arms: int, key: int) -> Shuffle:
        """Return the order of `n_arms` arms that belongs to `key` (64 bits)."""
        return cls(n_arms, *grid(n_arms), key)

    def arm_at(self, position: int) -> int:
        """Return the arm at a position of the shuffled order."""
        return forward(position, *self)

    def position_of(self, arm: int) -> int:
        """Return the position of an arm in the shuffled order: the inverse of `arm_at`."""
        return backward(arm, *self)


def arm_at(position: int, n_arms: int, key: int) -> int:
    """Return the arm at a position of the shuffled order of `n_arms` arms under a key."""
    K, rows, columns, rounds = _words(n_arms)
    return as_int(forward(as_word(position), K, rows, columns, rounds, key))


def position_of(arm: int, n_arms: int, key: int) -> int:
    """Return where an arm stands in the shuffled order: the inverse of `arm_at`."""
    K, rows, columns, rounds = _words(n_arms)
    return as_int(backward(as_word(arm), K, rows, columns, rounds, key))


@lru_cache(maxsize=64)
def _words(n_arms: int) -> tuple[int, int, int, int]:
    """Return K and its grid as 64-bit words; cached online for a few K."""
    rows, columns, rounds = grid(n_arms)
    return as_word(n_arms), as_word(rows), as_word(columns), as_word(rounds)


def grid(n_arms: int) -> tuple[int, int, int]:
    """Return rows, columns and rounds for n arms: the smallest square or nearly square grid."""
    # The least rows with rows^2 >= K, by division: a square would overflow in a kernel.
    rows = int(math.sqrt(n_arms))
    while rows <= (n_arms - 1) // rows:
        rows += 1
    while rows > 1 and rows - 1 > (n_arms - 1) // (rows - 1):
        rows -= 1
    return rows, (n_arms - 1) // rows + 1, _rounds(n_arms)


def _rounds(n_arms: int) -> int:
    """Return how many rounds mix a grid well; an even number.

    Small grids mix slowly: with 16 rounds the 120 orders of 5 arms still differ in frequency
    visibly among 3 million keys, with 24 they do not among 20 million. With 6 rounds, the arms at
    neighbouring places of a grid of 1,024 depend on each other visibly among 10 million keys; with
    8 they do not, nor with 6 on a grid of 2,048. On large grids five rounds of independent
    functions cannot be distinguished from a random order by looking at fewer than about sqrt(K)
    places (J. Patarin, "Security of random Feistel schemes with 5 or more rounds", CRYPTO 2004).
    """
    if n_arms < 2**8:
        return 24
    return 10 if n_arms < 2**12 else 6


def _added(x: int, other: int, n: int, k: int) -> int:
    """Return x plus the round function of `other`, modulo n (n < 2^32; no division)."""
    x += ((mix(other ^ k) >> 32) * n) >> 32
    return x - n if x >= n else x


def _taken(x: int, other: int, n: int, k: int) -> int:
    """Undo `_added`: return its x."""
    y = ((mix(other ^ k) >> 32) * n) >> 32
    return x - y if x >= y else x + n - y


def stirred(left: int, right: int, rows: int, columns: int, k: int) -> tuple[int, int]:
    """Apply two rounds of the network."""
    left = _added(left, right, rows, k)
    return left, _added(right, left, columns, (k + GOLDEN) & MASK)


def forward(x: int, K: int, rows: int, columns: int, rounds: int, key: int) -> int:
    """Return the arm at a position."""
    while True:
        left = x // columns
        right = x % columns
        k = key
        for _ in range(rounds >> 1):
            # `stirred`, written out: online, calls would take most of the time.
            z = right ^ k
            z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & MASK
            left += (((z ^ (z >> 31)) >> 32) * rows) >> 32
            if left >= rows:
                left -= rows
            k = (k + GOLDEN) & MASK
            z = left ^ k
            z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & MASK
            right += (((z ^ (z >> 31)) >> 32) * columns) >> 32
            if right >= columns:
                right -= columns
            k = (k + GOLDEN) & MASK
        x = left * columns + right
        if x < K:
            return x


def backward(x: int, K: int, rows: int, columns: int, rounds: int, key: int) -> int:
    """Return the position of an arm."""
    while True:
        left = x // columns
        right = x % columns
        k = (key + rounds * GOLDEN) & MASK
        for _ in range(rounds >> 1):
            k = (k - GOLDEN) & MASK
            right = _taken(right, left, columns, k)
            k = (k - GOLDEN) & MASK
            left = _taken(left, right, rows, k)
        x = left * columns + right
        if x < K:
            return x
