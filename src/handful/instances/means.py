"""Means of the arms as a function of the index, so that 10^12 arms cost what 10 do.

Index 0 is the paper's arm 1. The paper's finite instances (section 3.2), for K arms:

    linear    mu_i falls evenly from 0.99 to 0.01                              (B_L^K)
    power     mu_1 = 0.99,  mu_i = 1 - 0.98 ((i-1)/(K-1))^alpha for i > 1      (B_alpha^K)
    listed    the means as given

the first two also scaled to a best mean other than 0.99, such as that of an advertisement's clicks;
and a reservoir, whose arms are drawn anew in each run (section 4.2):

    beta      mu_i = mu* times a Beta(a, b) number that follows from the run's key and i

An error of the paper: for large K the second mean of `power` exceeds 0.99 (alpha = 0.3 from about
4.3 million arms on), so the best mean is the larger of the first two, not always mu_1.

The simulator compiles these functions as they stand. Adding an instance is described in
CONTRIBUTING.md.
"""

from __future__ import annotations

from typing import Protocol

from handful.core.rng import GOLDEN, Generator, beta, tape_word

LINEAR = 0
POWER = 1
LISTED = 2
RESERVOIR = 3

TOP = 0.99
BOTTOM = 0.01
MIN_TOP = 1e-4
"""With a smaller best mean, the worst means would be too small for truncnorm."""


def reservoir_mean(i: int, a: float, b: float, top: float, key: int, rng: Generator) -> float:
    """Return the mean of arm i of a reservoir. `rng` is overwritten: the arm's own generator."""
    rng[0] = tape_word(key, i, GOLDEN)
    rng[1] = GOLDEN
    return top * beta(a, b, rng)


class Listed(Protocol):
    """Means by index: a tuple, or an array in kernels."""

    def __getitem__(self, index: int, /) -> float: ...


def mean_of(kind: int, i: int, K: int, alpha: float, top: float, listed: Listed) -> float:
    """Return the mean of arm i of a finite set; `top` is that of arm 0 unless they are listed."""
    if kind == LISTED:
        return listed[i]
    if i == 0:
        return top
    scale = top / TOP
    # As doubles before the division: a kernel has no other way to divide integers.
    share = float(i) / float(K - 1)
    if kind == LINEAR:
        return scale * (TOP - (TOP - BOTTOM) * share)
    return float(scale * (BOTTOM + TOP - (TOP - BOTTOM) * share**alpha))
