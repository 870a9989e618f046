"""Exact sums of pulls times gaps, in pairs of doubles.

Regret is a sum of (number of pulls) x (gap). Gaps are differences of doubles in [0, 1], multiples
of 2^-54 or so of the best mean; a pair (high, low) of doubles carries 106 bits, which holds sums of
up to 10^12 such gaps without any rounding. `high` is then the correctly rounded regret, whatever
the order of the additions. Products and sums as in T. J. Dekker, "A floating-point technique for
extending the available precision", Numerische Mathematik 18, 1971. The slow twin is
`handful.simulation.reference.ExactSum`.
"""

from __future__ import annotations

from handful.compiling.arrays import Floats, Ints
from handful.compiling.jit import use

SPLIT = 134217729.0
"""2^27 + 1, which splits a double into two halves."""


@use
def times(n: float, gap: float) -> tuple[float, float]:
    """N * gap as a pair."""
    product = n * gap
    c = SPLIT * n
    n1 = c - (c - n)
    n2 = n - n1
    c = SPLIT * gap
    g1 = c - (c - gap)
    g2 = gap - g1
    return product, ((n1 * g1 - product) + n1 * g2 + n2 * g1) + n2 * g2


@use
def plus(high: float, low: float, x: float, y: float) -> tuple[float, float]:
    """The pair (high, low) plus the pair (x, y)."""
    s = high + x
    v = s - high
    e = (high - (s - v)) + (x - v)
    t = low + y
    v = t - low
    f = (low - (t - v)) + (y - v)
    e += t
    u = s + e
    e = (e - (u - s)) + f
    high = u + e
    return high, e - (high - u)


@use
def plus_all(
    high: float, low: float, n: Ints, gaps: Floats, first: int, until: int, step: int
) -> tuple[float, float]:
    """The pair (high, low) plus pulls times gaps of the slots first, first + step, ... < until."""
    for i in range(first, until, step):
        x, y = times(float(n[i]), gaps[i])
        high, low = plus(high, low, x, y)
    return high, low


@use
def plus_lanes(high: Floats, low: Floats, n: Ints, gaps: Floats, m: int, L: int) -> None:
    """The same for the pair of each of L lanes; slot i of lane l stands at i * L + l."""
    for i in range(m):
        for lane in range(L):
            x, y = times(float(n[i * L + lane]), gaps[i * L + lane])
            high[lane], low[lane] = plus(high[lane], low[lane], x, y)
