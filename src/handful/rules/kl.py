"""Upper confidence bounds by the divergence of two Bernoulli laws."""

from __future__ import annotations

import math

from handful.binomial import kl


def kl_upper(p: float, level: float) -> float:
    """The largest q >= p with kl(p, q) <= level.

    Newton's method from the right of the root, where kl is convex and rising in q, so that every
    step stays to the right of it. The start is the smaller of two bounds from above: Pinsker's, and
    the one from kl(p, q) >= p ln p + (1-p) ln((1-p)/(1-q)).
    """
    if p >= 1.0 or level <= 0.0:
        return p
    if p <= 0.0:
        return -math.expm1(-level)
    ceiling = 1.0 - (1.0 - p) * math.exp((p * math.log(p) - level) / (1.0 - p))
    q = min(p + math.sqrt(0.5 * level), ceiling)
    if q >= 1.0:
        return 1.0
    for _ in range(50):
        slope = (q - p) / (q * (1.0 - q))
        step = (kl(p, q) - level) / slope
        if not step > 1e-15:
            return q
        q -= step
        if q <= p:
            return p
    return q
