"""Posteriors of Thompson sampling, Beta laws with whole numbers for shapes: chances and quantiles.

That one of them exceeds another is a finite sum, as is the distribution function of one: a
Beta(1 + s, 1 + n - s) number is below x as often as n + 1 trials of chance x have more than s
successes. All terms have one sign and soon die out, so the sums keep their digits.
"""

from __future__ import annotations

import math

from handful.binomial import log_binomial
from handful.simulation.kernels.jit import use
from handful.simulation.kernels.world import Floats

use(log_binomial)

RELATIVE = 2.0**-60
"""A term below this part of its sum is below rounding, and so are those that follow."""
CLOSE, NARROW = 2.0**-34, 2.0**-52
"""A root is found when the square of a step was so small, or nothing is left between."""


@use
def chance(a: float, b: float, c: float, d: float, h: float) -> float:
    """P(Beta(a, b) > Beta(c, d)) for whole numbers, given h = B(a + c, b + d)/(B(a, b) B(c, d)).

    A sum over k = a-1, a-2, ..., 0 of the changes that brought a from 0; or, mirrored, of those
    that brought d. The terms' ratios fall as k does: the faster series is summed until the rest is
    below rounding.
    """
    if _ratio(d - 2.0, c, b, a) < _ratio(a - 2.0, b, c, d):
        a, b, c, d = d, c, b, a
    k = a - 1.0
    term = h * (k + b + c + d) / ((c + k) * (k + b))
    total = term
    while k > 0.0:
        k -= 1.0
        term *= _ratio(k, b, c, d)
        total += term
        if term < RELATIVE * total:
            break
    return total


@use
def _ratio(k: float, b: float, c: float, d: float) -> float:
    """Term k over term k + 1; there is none below 0."""
    if k < 0.0:
        return 0.0
    return (k + b + c + d) * (k + 1.0) / ((c + k) * (k + b))


@use
def height(a: float, b: float, c: float, d: float) -> float:
    """The h of `chance`, for shapes so small that their factorials are."""
    h = 1.0 / 6.0
    # From shapes of 1, one success or failure after another.
    for k in range(1, int(a)):
        h *= (k + 1.0) * (k + 1.0) / (k * (k + 3.0))
    for k in range(1, int(b)):
        h *= (k + 1.0) * (k + a) / (k * (k + a + 2.0))
    for k in range(1, int(c)):
        h *= (k + a) * (k + 1.0) / (k * (k + a + b + 1.0))
    for k in range(1, int(d)):
        h *= (k + b) * (k + c) / (k * (k + a + b + c))
    return h


@use
def below(n: int, s: float, x: float, log_ways: float) -> tuple[float, float]:
    """P(X < x) and the density at x of X ~ Beta(1 + s, 1 + n - s), for 0 < x < 1 and small n.

    `log_ways` is the logarithm of the number of ways to have s successes in n trials.
    """
    chance_of_s = math.exp(log_ways + s * math.log(x) + (n - s) * math.log1p(-x))
    density = (n + 1.0) * chance_of_s
    # Of more or of fewer successes than to be expected, whichever is the rarer.
    if x * (n + 2.0) < s + 1.0:
        return _tail(n, s, x, density), density
    return 1.0 - _tail(n, n - s, 1.0 - x, density), density


@use
def _tail(n: int, s: float, x: float, density: float) -> float:
    """The chance of more than s successes in n + 1 trials of chance x."""
    odds = x / (1.0 - x)
    k = s + 1.0
    term = density * x / k
    total = term
    while k <= n and term > RELATIVE * total:
        term *= odds * (n + 1.0 - k) / (k + 1.0)
        k += 1.0
        total += term
    return total


@use
def quantiles(n: int, s: float, cells: int, out: Floats) -> None:
    """Write to `out` where X ~ Beta(1 + s, 1 + n - s) has j/cells of its mass below, j <= cells.

    Each from the one before, by the first terms of a series and then by Halley's method, since the
    derivatives of the density are known; by halves where that leaves what is known.
    """
    log_ways = log_binomial(n, s, 0.5) + n * math.log(2.0)
    out[0] = 0.0
    mean = (1.0 + s) / (2.0 + n)
    x = max(mean / cells, mean - 2.0 * math.sqrt(mean * (1.0 - mean) / (3.0 + n)))
    for j in range(1, cells):
        low = out[j - 1]
        high = 1.0
        density = bend = curve = 0.0
        close = False
        while not close:
            if not low < x < high:
                x = 0.5 * (low + high)
            share, density = below(n, s, x, log_ways)
            if share < j / cells:
                low = x
            else:
                high = x
            # The logarithm of the density has the derivatives `bend` and -`curve`.
            bend = s / x - (n - s) / (1.0 - x)
            curve = s / (x * x) + (n - s) / ((1.0 - x) * (1.0 - x))
            step = (share - j / cells) / density
            step /= 1.0 - 0.5 * bend * step
            x -= step
            # A step cubes the error, in units of the posterior's width.
            close = step * step * curve < CLOSE or high - low < NARROW
        out[j] = x
        step = 1.0 / (cells * density)
        turn = bend * step
        x += step * (1.0 - turn * (0.5 - turn / 3.0) + step * step * curve / 6.0)
    out[cells] = 1.0
