"""The random generator of the package, and the draws made from it.

The generator is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Its state is two 64-bit words, a
position and an odd step; each stream has its own step. So a policy can be saved in a few bytes, and
two streams never overlap. Policies online, the reference simulation and the kernels, in which Numba
compiles them, share these functions. That is why they are plain arithmetic on 64-bit words, and why
every constant is at least 2^63 or used as a shift: Numba then keeps the arithmetic unsigned.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Protocol

MASK = 0xFFFF_FFFF_FFFF_FFFF
GOLDEN = 0x9E37_79B9_7F4A_7C15
ODD = 0xD6E8_FEB8_6659_FD93
ULP = 2.0**-53
LEADING = 2.0**-11
LOG_4 = math.log(4.0)
ONE_AND_LOG_5 = 1.0 + math.log(5.0)


class Generator(Protocol):
    """[position, step]: a list, or in kernels an array, of two 64-bit words."""

    def __getitem__(self, index: int, /) -> int: ...

    def __setitem__(self, index: int, word: int, /) -> None: ...


def as_word(x: int) -> int:
    """Return x as a 64-bit word. In Python it is one; in a kernel it becomes unsigned."""
    return x


def as_int(x: int) -> int:
    """Return a word below 2^63 as an integer that mixes with others: the inverse of `as_word`."""
    return x


def mix(z: int) -> int:
    """Map a 64-bit word to another one, by a bijection that looks random."""
    z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & MASK
    return z ^ (z >> 31)


def next_word(rng: Generator) -> int:
    """Return the next 64 random bits."""
    rng[0] = (rng[0] + rng[1]) & MASK
    return mix(rng[0])


def unit(word: int) -> float:
    """Convert 64 random bits to a uniform number in [0, 1), a multiple of 2^-53."""
    return (word >> 11) * ULP


def uniform(rng: Generator) -> float:
    """Draw a uniform number in [0, 1)."""
    rng[0] = position = (rng[0] + rng[1]) & MASK
    return (mix(position) >> 11) * ULP


def positive_uniform(rng: Generator) -> float:
    """Draw a uniform number in (0, 1], safe under a logarithm."""
    rng[0] = position = (rng[0] + rng[1]) & MASK
    return ((mix(position) >> 11) + 1.0) * ULP


def tape_word(key: int, t: int, a: int) -> int:
    """Return cell (t, a) of the reward tape `key`: a hash, so a tape takes no memory."""
    return mix((mix((key + (t * GOLDEN & MASK)) & MASK) + (a * ODD & MASK)) & MASK)


def normal(rng: Generator) -> float:
    """Draw a standard normal number (Marsaglia's polar method, one of the two is discarded)."""
    while True:
        u = 2.0 * uniform(rng) - 1.0
        v = 2.0 * uniform(rng) - 1.0
        q = u * u + v * v
        if 0.0 < q < 1.0:
            return u * math.sqrt(-2.0 * math.log(q) / q)


def beta(a: float, b: float, rng: Generator) -> float:
    """Draw a Beta(a, b) number; a and b are positive.

    By inversion where a shape is 1, else by R. C. H. Cheng's rejection (Communications of the
    ACM 21, 1978): algorithm BB where both shapes exceed 1, algorithm BC otherwise.
    """
    if a == 1.0 or b == 1.0 or (a > 1.0 and b > 1.0):
        return beta_from_one(a, b, rng)
    return _beta_bc(a, b, rng)


def beta_from_one(a: float, b: float, rng: Generator) -> float:
    """Draw a Beta(a, b) number where a shape is 1 or both exceed it.

    A word has 64 bits, and a uniform number takes 53. The 11 others are the leading bits of the
    second uniform number that algorithm BB needs: with the rest of its bits set, they are almost
    always enough to accept, so that a draw mostly takes one word. That is most of the time of
    Thompson sampling online, which is also why `positive_uniform` is written out here.
    """
    step = rng[1]
    rng[0] = position = (rng[0] + step) & MASK
    word = mix(position)
    u1 = ((word >> 11) + 1.0) * ULP
    if a == 1.0:
        return -math.expm1(math.log(u1) / b)
    if b == 1.0:
        return math.exp(math.log(u1) / a)
    low, high = (a, b) if a <= b else (b, a)
    total = low + high
    rate = math.sqrt((total - 2.0) / (2.0 * low * high - total))
    gamma = low + 1.0 / rate
    while True:
        if u1 < 1.0:
            v = rate * math.log(u1 / (1.0 - u1))  # below 40, since rate <= 1
            w = low * math.exp(v)
            r = gamma * v - LOG_4
            s = low + r - w
            square = u1 * u1
            leading = word - (word >> 11 << 11)
            z = square * ((leading + 1.0) * LEADING)
            if s + ONE_AND_LOG_5 >= 5.0 * z:
                break
            log_z = math.log(z)
            if s >= log_z:
                break
            bound = r + total * math.log(total / (high + w))
            if bound >= log_z:
                break
            position = (position + step) & MASK
            rest = ((mix(position) >> 11) + 1.0) * ULP
            if bound >= math.log(square * ((leading + rest) * LEADING)):
                break
        position = (position + step) & MASK
        word = mix(position)
        u1 = ((word >> 11) + 1.0) * ULP
    rng[0] = position
    return w / (high + w) if a == low else high / (high + w)


def _ratio(first: bool, shape: float, other: float, v: float) -> float:
    """Return W / (other + W) for W = shape e^v, or its complement, without overflow."""
    if v > 700.0:
        return 1.0 if first else 0.0
    w = shape * math.exp(v)
    return w / (other + w) if first else other / (other + w)


def _beta_bc(a: float, b: float, rng: Generator) -> float:
    high = max(a, b)
    low = min(a, b)
    total = low + high
    rate = 1.0 / low
    delta = 1.0 + high - low
    k1 = delta * (1.0 / 72.0 + low / 24.0) / (high * rate - 7.0 / 9.0)
    k2 = 0.25 + (0.5 + 0.25 / delta) * low
    while True:
        u1 = positive_uniform(rng)
        u2 = positive_uniform(rng)
        if u1 == 1.0:
            continue
        y = u1 * u2
        z = u1 * y
        if u1 < 0.5:
            if 0.25 * u2 + z - y >= k1:
                continue
        elif z > 0.25 and z >= k2:
            continue
        v = rate * math.log(u1 / (1.0 - u1))
        if u1 >= 0.5 and z <= 0.25:
            return _ratio(a == high, high, low, v)
        w = high * math.exp(min(v, 700.0))
        if total * (math.log(total / (low + w)) + v) - math.log(4.0) >= math.log(z):
            return _ratio(a == high, high, low, v)


def words(*parts: int | str, count: int) -> list[int]:
    """Return `count` 64-bit words that depend on all parts: how seeds become keys and streams."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    digest = blake2b(text.encode(), digest_size=8 * count).digest()
    return [int.from_bytes(digest[8 * i : 8 * i + 8], "little") for i in range(count)]


def stream(*parts: int | str) -> list[int]:
    """Return a generator that depends on all the parts."""
    position, step = words(*parts, count=2)
    return [position, step | 1]


def generator_from(key: int) -> list[int]:
    """Return the generator of a policy with this key, as it starts."""
    (step,) = words("step", key, count=1)
    return [key, step | 1]
