"""Posteriors of Thompson sampling, Beta distributions with integer shapes.

The probability that one draw exceeds another is a finite sum. So is the distribution function of a
draw X from Beta(1 + s, 1 + n - s): P(X < x) is the probability of more than s successes in n + 1
trials that succeed with probability x. All terms have one sign and soon become negligible, so the
sums lose no digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from handful.compiling.jit import use

Column = NDArray[np.float64]

RELATIVE = 2.0**-60
"""A term below this part of its sum is below rounding, and so are those that follow."""
CLOSE, NARROW = 2.0**-34, 2.0**-52
"""A root is found when the square of a step was so small, or nothing is left between."""


@use
def probability_above(a: float, b: float, c: float, d: float, h: float) -> float:
    """Return P(Beta(a, b) > Beta(c, d)) for integers, with h = B(a + c, b + d)/(B(a, b) B(c, d)).

    This is a sum over k = a-1, a-2, ..., 0, of the changes as the first shape grows from 0 to a;
    or, mirrored, as the last one grows from 0 to d. The ratios of successive terms fall with k. The
    faster of the two series is summed until the rest is below rounding.
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


def height(a: float, b: float, c: float, d: float) -> float:
    """The h of `probability_above`."""

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return math.exp(log_beta(a + c, b + d) - log_beta(a, b) - log_beta(c, d))


def quantiles(n: Column, s: Column, cells: int) -> Column:
    """Where X ~ Beta(1 + s, 1 + n - s) has j/cells of its mass below, j <= cells: a row for each X.

    Each from the one before, by the first terms of a series and then by Halley's method, since the
    derivatives of the density are known; by halves where that leaves what is known. SciPy has these
    numbers too, but takes half a second to be loaded and to give them, three times as long.
    """
    log_ways = np.array([math.log(math.comb(int(i), int(k))) for i, k in zip(n, s, strict=True)])
    mean = (1.0 + s) / (2.0 + n)
    x = np.maximum(mean / cells, mean - 2.0 * np.sqrt(mean * (1.0 - mean) / (3.0 + n)))
    found = np.zeros((len(n), cells + 1))
    found[:, cells] = 1.0
    for j in range(1, cells):
        low = found[:, j - 1]
        high = np.ones(len(n))
        close = False
        while not close:
            x = np.where((low < x) & (x < high), x, 0.5 * (low + high))
            share, density = _below(n, s, x, log_ways)
            low = np.where(share < j / cells, x, low)
            high = np.where(share < j / cells, high, x)
            # The logarithm of the density has the derivatives `bend` and -`curve`.
            bend = s / x - (n - s) / (1.0 - x)
            curve = s / (x * x) + (n - s) / ((1.0 - x) * (1.0 - x))
            step = (share - j / cells) / density
            step /= 1.0 - 0.5 * bend * step
            x = x - step
            # A step cubes the error, in units of the posterior's width.
            close = bool(((step * step * curve < CLOSE) | (high - low < NARROW)).all())
        found[:, j] = x
        step = 1.0 / (cells * density)
        turn = bend * step
        x = x + step * (1.0 - turn * (0.5 - turn / 3.0) + step * step * curve / 6.0)
    return found


def _below(n: Column, s: Column, x: Column, log_ways: Column) -> tuple[Column, Column]:
    """P(X < x) and the density at x, given the logarithm of the ways to choose s of n."""
    density = (n + 1.0) * np.exp(log_ways + s * np.log(x) + (n - s) * np.log1p(-x))
    # More or fewer successes than to be expected, whichever is the rarer; others mirrored.
    mirrored = x * (n + 2.0) >= s + 1.0
    k = np.where(mirrored, n - s, s) + 1.0
    x = np.where(mirrored, 1.0 - x, x)
    odds = x / (1.0 - x)
    term = density * x / k
    total = term
    while (term > RELATIVE * total).any():
        term = term * odds * (n + 1.0 - k) / (k + 1.0)
        k = k + 1.0
        total = total + term
    return np.where(mirrored, 1.0 - total, total), density
