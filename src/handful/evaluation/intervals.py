"""Intervals of a mean reward: Wilson's and Student's for plain means, normal and Bernstein for IPS.

All are computed for rewards in [0, 1] and clipped to [0, 1], where every value lies.
`docs/replay.md` has the coverage that tests measured.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

Numbers = NDArray[np.float64]

LEVEL = 0.95
"""The confidence level of every interval."""
Z = float(ndtri(0.5 + LEVEL / 2))


class ValueEstimate(NamedTuple):
    """An estimate of a mean reward and its 95% interval; NaN where nothing can be said."""

    value: float
    low: float
    high: float

    def scaled(self, lo: float, hi: float) -> ValueEstimate:
        """Return the same for rewards in [lo, hi] instead of [0, 1]."""
        return ValueEstimate(*(lo + (hi - lo) * number for number in self))

    def to_dict(self) -> dict[str, float | None]:
        """Return plain data for JSON; NaN is None."""
        return {
            name: None if math.isnan(number) else number
            for name, number in zip(self._fields, self, strict=True)
        }

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "unknown"
        if math.isnan(self.low):
            return f"{self.value:.4g}, no interval"
        return f"{self.value:.4g}, 95% interval {self.low:.4g} to {self.high:.4g}"


UNKNOWN = ValueEstimate(math.nan, math.nan, math.nan)


def within(value: float, centre: float, half: float) -> ValueEstimate:
    """Return an estimate whose interval, centre +- half, is cut to [0, 1].

    Without a width, such as where no row of a target was rewarded, there is no interval.
    """
    if half == 0.0:
        return ValueEstimate(value, math.nan, math.nan)
    low, high = (min(1.0, max(0.0, end)) for end in (centre - half, centre + half))
    return ValueEstimate(value, low, high)


def plain_mean(rewards: Numbers) -> ValueEstimate:
    """Return the mean of rewards, each with the same weight.

    The interval is Wilson's (1927) score interval if all rewards are 0 or 1, or all are equal: it
    has a width even if there was no success. Otherwise it is Student's t.
    """
    n = len(rewards)
    if n == 0:
        return UNKNOWN
    mean = float(rewards.mean())
    coins = bool(((rewards == 0.0) | (rewards == 1.0)).all())
    if coins or n == 1 or bool((rewards == rewards[0]).all()):
        shrunk = 1.0 + Z * Z / n
        centre = (mean + Z * Z / (2 * n)) / shrunk
        half = Z / shrunk * math.sqrt(mean * (1.0 - mean) / n + Z * Z / (4.0 * n * n))
    else:
        centre = mean
        half = float(stdtrit(n - 1, 0.5 + LEVEL / 2)) * float(rewards.std(ddof=1)) / math.sqrt(n)
    found = within(mean, centre, half)
    return found._replace(low=min(found.low, mean), high=max(found.high, mean))


def normal_mean(terms: Numbers) -> ValueEstimate:
    """Return the mean of the terms w r of IPS, with the interval of the central limit theorem."""
    n = len(terms)
    if n < 2:
        return UNKNOWN
    mean = float(terms.mean())
    half = Z * float(terms.std(ddof=1)) / math.sqrt(n)
    return within(mean, mean, half)


def weighted_mean(weights: Numbers, rewards: Numbers) -> ValueEstimate:
    """Return the self-normalised mean v = sum w r / sum w, with the interval of the delta method.

    The variance of v is about sum w^2 (r - v)^2 / (sum w)^2 (Owen, Monte Carlo theory, methods and
    examples, 2013, section 9.2).
    """
    total = float(weights.sum())
    if len(weights) < 2 or total == 0.0:
        return UNKNOWN
    value = float(weights @ rewards) / total
    half = Z * math.sqrt(float((weights**2) @ (rewards - value) ** 2)) / total
    return within(value, value, half)


def bernstein_mean(terms: Numbers, largest: float) -> ValueEstimate:
    """Return the mean of terms in [0, largest] with the empirical Bernstein bound.

    Both sides of Maurer and Pontil (2009), theorem 4, each with half of the error. It holds for any
    number of terms, and is wide where `largest` is large.
    """
    n = len(terms)
    if n < 2:
        return UNKNOWN
    mean = float(terms.mean())
    log = math.log(4.0 / (1.0 - LEVEL))
    variance = float(terms.var(ddof=1))
    half = math.sqrt(2.0 * variance * log / n) + 7.0 * largest * log / (3.0 * (n - 1))
    return within(mean, mean, half)
