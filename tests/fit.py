"""Tests of fit, each at one level, the probability of a false alarm, were seeds not fixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scipy import stats

LEVEL = 1e-5
"""The false-alarm rate of one test of fit."""


def follows(sample: Sequence[float], cdf: Callable[[Any], Any]) -> bool:
    """Whether a sample passes for one of a continuous distribution (Kolmogorov and Smirnov)."""
    return float(stats.kstest(sample, cdf).pvalue) > LEVEL


def even(counts: Sequence[int]) -> bool:
    """Whether counts pass for those of equally likely cells (chi-square)."""
    return float(stats.chisquare(counts).pvalue) > LEVEL


def share(successes: int, trials: int, p: float) -> bool:
    """Whether successes pass for those of trials with probability p (exact binomial test)."""
    return float(stats.binomtest(successes, trials, p).pvalue) > LEVEL
