"""The key and the generator of a member from its seed, in a kernel.

`handful.core.rng.words` hashes a text with BLAKE2b, of Python's standard library. A fleet of ten
million members hashes ten million seeds, so kernels implement the hash, for a single block (RFC
7693), since the texts are short. Tests compare it with `words`.
"""

from __future__ import annotations

import numpy as np

from handful.compiling.arrays import Words
from handful.compiling.jit import use
from handful.core.rng import as_int, as_word

MOST = 2**64 - 1
IV = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
)  # fmt: skip
SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    dtype=np.int64,
)
DIGEST_SIZE = 8
PARAMETERS = 0x01010000 ^ DIGEST_SIZE
POLICY = np.frombuffer(b"str:policy\x1fint:", dtype=np.uint8)
GENERATOR = np.frombuffer(b"str:step\x1fint:", dtype=np.uint8)
"""What `seed_word` and `generator_from` write before the number that they hash."""
BLOCK = 16
"""The words that `hashed` works in."""


@use
def put(byte: int, at: int, block: Words) -> None:
    """Write a byte of the block."""
    block[at >> 3] |= as_word(byte) << as_word(8 * (at & 7))


@use
def turn(x: int, bits: int) -> int:
    """Rotate a word to the right."""
    return (x >> as_word(bits)) | (x << as_word(64 - bits))


@use
def stir(a: int, b: int, c: int, d: int, x: int, y: int) -> tuple[int, int, int, int]:
    """Apply the mixing function G of BLAKE2b."""
    a = a + b + x
    d = turn(d ^ a, 32)
    c = c + d
    b = turn(b ^ c, 24)
    a = a + b + y
    d = turn(d ^ a, 16)
    c = c + d
    return a, turn(b ^ c, 63), c, d


@use
def hashed(start: Words, number: int, block: Words) -> int:
    """Return the first word of the BLAKE2b digest of 8 bytes of a text and a number in decimal."""
    for i in range(16):
        block[i] = as_word(0)
    length = len(start)
    for i in range(length):
        put(start[i], i, block)
    digits = 1
    rest = number // as_word(10)
    while rest > as_word(0):
        rest = rest // as_word(10)
        digits += 1
    length += digits
    rest = number
    for i in range(digits):
        put(48 + as_int(rest % as_word(10)), length - 1 - i, block)
        rest = rest // as_word(10)
    a0, a1, a2, a3 = IV[0] ^ as_word(PARAMETERS), IV[1], IV[2], IV[3]
    b0, b1, b2, b3 = IV[4], IV[5], IV[6], IV[7]
    c0, c1, c2, c3 = IV[0], IV[1], IV[2], IV[3]
    d0, d1, d2, d3 = IV[4] ^ as_word(length), IV[5], IV[6] ^ as_word(MOST), IV[7]
    for r in range(12):
        s = SIGMA[r]
        a0, b0, c0, d0 = stir(a0, b0, c0, d0, block[s[0]], block[s[1]])
        a1, b1, c1, d1 = stir(a1, b1, c1, d1, block[s[2]], block[s[3]])
        a2, b2, c2, d2 = stir(a2, b2, c2, d2, block[s[4]], block[s[5]])
        a3, b3, c3, d3 = stir(a3, b3, c3, d3, block[s[6]], block[s[7]])
        a0, b1, c2, d3 = stir(a0, b1, c2, d3, block[s[8]], block[s[9]])
        a1, b2, c3, d0 = stir(a1, b2, c3, d0, block[s[10]], block[s[11]])
        a2, b3, c0, d1 = stir(a2, b3, c0, d1, block[s[12]], block[s[13]])
        a3, b0, c1, d2 = stir(a3, b0, c1, d2, block[s[14]], block[s[15]])
    found: int = IV[0] ^ as_word(PARAMETERS) ^ a0 ^ c0
    return found


@use
def key_of(seed: int, block: Words) -> int:
    """Return the key of the policy with this seed, a word: `seed_word`."""
    return hashed(POLICY, seed, block)


@use
def step_of(key: int, block: Words) -> int:
    """Return the step of the generator of the policy with this key: `generator_from`."""
    return hashed(GENERATOR, key, block) | as_word(1)
