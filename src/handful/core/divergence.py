"""The Kullback-Leibler divergence of Bernoulli distributions, and its confidence bounds."""

from __future__ import annotations

import math

NEAR, FAR = 0.03, 2.0
"""Up to NEAR the series is right to 1e-15, up to FAR it is a good start."""


def kl(p: float, q: float) -> float:
    """Return p ln(p/q) + (1-p) ln((1-p)/(1-q)), the divergence of Bernoulli distributions.

    Infinite where q rules out what p allows. It is a lower bound on the divergence of any two
    distributions on [0, 1] with these means.
    """
    if p <= 0.0:
        return -math.log1p(-q) if q < 1.0 else math.inf
    if p >= 1.0:
        return -math.log(q) if q > 0.0 else math.inf
    if q <= 0.0 or q >= 1.0:
        return math.inf
    return p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))


def kl_upper(p: float, level: float) -> float:
    """Return the largest q >= p with kl(p, q) <= level.

    Where the level is small it is a series, otherwise Newton's method for sqrt(kl), which is nearly
    a line in q, so that two or three steps are mostly enough. Far from p, the start is the smaller
    of two bounds: Pinsker's, and the one from kl(p, q) >= p ln p + (1-p) ln((1-p)/(1-q)).
    """
    if p >= 1.0 or level <= 0.0:
        return p
    if p <= 0.0:
        return -math.expm1(-level)
    v = p * (1.0 - p)
    w = math.sqrt(2.0 * level / v)
    if w < FAR:
        q = p + _above(p, v, w)
        if w < NEAR:
            return q
    else:
        ceiling = 1.0 - (1.0 - p) * math.exp((p * math.log(p) - level) / (1.0 - p))
        q = min(p + math.sqrt(0.5 * level), ceiling)
    for _ in range(50):
        if q <= p:
            return p
        if q >= 1.0:
            return 1.0
        here = max(kl(p, q), 0.0)
        step = 2.0 * (here - math.sqrt(here * level)) * q * (1.0 - q) / (q - p)
        # Newton's error is about the square of its step; doubles near 1 are 1e-16 apart.
        close = abs(step) <= 1e-7 * min(q - p, 1.0 - q) + 2e-15
        # Not below p, and no further towards 1 than half of what is left.
        q = max(q - step, 0.5 * (q + p)) if step > 0.0 else q + min(-step, 0.5 * (1.0 - q))
        if close:
            return q
    return q


def _above(p: float, v: float, w: float) -> float:
    """Return how far above p the divergence is v w^2 / 2, for small w.

    With a = 1 - 2p, v = p (1-p) and q = p + v z, the divergence is v times the integral of
    z / (1 + a z - v z^2); this is its series in z, turned round.
    """
    a = 1.0 - 2.0 * p
    aa = a * a
    c2 = (aa - 9.0 * v) / 36.0
    c3 = -a * (aa + 27.0 * v) / 270.0
    c4 = (aa * aa - 18.0 * aa * v + 225.0 * v * v) / 4320.0
    c5 = a * (aa * aa + 18.0 * aa * v + 297.0 * v * v) / 17010.0
    return v * w * (1.0 + w * (a / 3.0 + w * (c2 + w * (c3 + w * (c4 + w * c5)))))
