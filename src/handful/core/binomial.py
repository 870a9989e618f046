"""The binomial distribution: its probabilities, and a draw.

Both are accurate at any size, since simulations draw thousands of millions of trials at once. They
are plain arithmetic, which the simulator compiles unchanged.
"""

from __future__ import annotations

import math

from handful.core.rng import Generator, positive_uniform, uniform

_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
_STIRLING = (
    0.0,
    *(math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - _HALF_LOG_2_PI for k in range(1, 16)),
)


def log_binomial(n: int, s: float, q: float) -> float:
    """Return the log-probability of s successes in n trials at q in (0, 1), by Stirling's formula.

    In the form of Loader, "Fast and accurate computation of binomial probabilities", 2000: no large
    numbers that nearly cancel are subtracted from each other.
    """
    if s == 0.0:
        return n * math.log1p(-q)
    if s == n:
        return n * math.log(q)
    f = n - s
    spread = 0.5 * math.log(n / (s * f)) - _HALF_LOG_2_PI
    apart = _deviance(s, n * q) + _deviance(f, n * (1.0 - q))
    return _stirling(n) - _stirling(s) - _stirling(f) + spread - apart


def _deviance(x: float, expected: float) -> float:
    """Return x ln(x / expected) + expected - x, by a series where the two are close."""
    d = x - expected
    if abs(d) >= 0.1 * (x + expected):
        return x * math.log(x / expected) - d
    v = d / (x + expected)
    total = d * v
    term = 2.0 * x * v
    for j in range(3, 60, 2):
        term *= v * v
        before = total
        total += term / j
        if total == before:
            break
    return total


def _stirling(k: float) -> float:
    """Return the logarithm of k! less Stirling's formula for it."""
    if k < 16.0:
        return _STIRLING[int(k)]
    r = 1.0 / (k * k)
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - r / 1188) * r) * r) * r) / k


def binomial(n: int, p: float, rng: Generator) -> int:
    """Draw the number of successes in n trials of probability p.

    By adding up probabilities where few of the rarer kind are expected, else by rejection.
    """
    if p <= 0.5:
        return _few(n, p, rng) if n * p < 10.0 else _many(n, p, rng)
    return n - (_few(n, 1.0 - p, rng) if n * (1.0 - p) < 10.0 else _many(n, 1.0 - p, rng))


def _few(n: int, p: float, rng: Generator) -> int:
    """Draw by inversion, from 0 successes upwards."""
    if p <= 0.0:
        return 0
    odds = p / (1.0 - p)
    probability = math.exp(n * math.log1p(-p))
    u = uniform(rng)
    k = 0
    while u >= probability and k < n:
        u -= probability
        k += 1
        probability *= odds * (n - k + 1.0) / k
        if probability < 1e-20 and k > n * p:  # what is left of u is rounding
            break
    return k


def _many(n: int, p: float, rng: Generator) -> int:
    """Draw by the rejection BTRS of Hormann, "The generation of binomial random variates".

    Journal of Statistical Computation and Simulation 46, 1993. For n p >= 10, p <= 1/2.
    """
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    while True:
        u = uniform(rng) - 0.5
        v = positive_uniform(rng)
        edge = 0.5 - abs(u)
        if edge <= 0.0:
            continue
        k = math.floor((2.0 * a / edge + b) * u + n * p + 0.5)
        if edge >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if k < 0 or k > n:
            continue
        mode = math.floor((n + 1) * p)
        v *= (2.83 + 5.1 / b) * spread / (a / (edge * edge) + b)
        if math.log(v) <= log_binomial(n, float(k), p) - log_binomial(n, float(mode), p):
            return k
