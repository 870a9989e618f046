"""Reward laws on [0, 1] with a given mean.

    bernoulli          1 with probability mu, else 0
    beta:NU            Beta(NU mu, NU (1-mu)); NU = 4 unless given
    uniform            uniform on [mu-w, mu+w], w = min(mu, 1-mu)
    constant           mu itself
    truncnorm:SIGMA    a normal law of spread SIGMA (0.1 unless given) cut to [0, 1], its centre
                       placed so that the mean *after* the cut is mu

An arm's law is (law, mean, centre, spread); `centre` is found once, when the arm enters memory, and
only the truncated normal has one. Compiled by the simulator as they stand.
"""

from __future__ import annotations

import math

from handful.core.rng import State, beta, normal, uniform

BERNOULLI = 0
BETA = 1
UNIFORM = 2
CONSTANT = 3
TRUNCNORM = 4

LAWS = {
    "bernoulli": BERNOULLI,
    "beta": BETA,
    "uniform": UNIFORM,
    "constant": CONSTANT,
    "truncnorm": TRUNCNORM,
}
DEFAULT_SPREAD = {BETA: 4.0, TRUNCNORM: 0.1}
MIN_SPREAD = 1e-3
MAX_SPREAD = {BETA: 1e6, TRUNCNORM: 10.0}


def bernoulli(mean: float, state: State) -> float:
    """1 with probability `mean`, else 0."""
    return 1.0 if uniform(state) < mean else 0.0


def draw(law: int, mean: float, centre: float, spread: float, state: State) -> float:
    """A reward."""
    if law == BERNOULLI:
        return bernoulli(mean, state)
    if law == CONSTANT or mean <= 0.0 or mean >= 1.0:
        return mean
    if law == UNIFORM:
        half = min(mean, 1.0 - mean)
        return min(1.0, max(0.0, mean + half * (2.0 * uniform(state) - 1.0)))
    if law == BETA:
        return beta(spread * mean, spread * (1.0 - mean), state)
    if mean > 0.5:
        return 1.0 - _truncated_normal(1.0 - centre, spread, state)
    return _truncated_normal(centre, spread, state)


def centre_of(law: int, mean: float, spread: float) -> float:
    """The centre of the truncated normal law with this mean after the cut; 0 for other laws."""
    if law != TRUNCNORM or mean <= 0.0 or mean >= 1.0:
        return 0.0
    low_mean = min(mean, 1.0 - mean)
    low = -2.0 * spread * spread / low_mean - 1.0
    high = 0.5
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if _mean_after_cut(middle, spread) < low_mean:
            low = middle
        else:
            high = middle
    centre = 0.5 * (low + high)
    return 1.0 - centre if mean > 0.5 else centre


def _mean_after_cut(centre: float, spread: float) -> float:
    """The mean of a normal law cut to [0, 1], for a centre of at most 1/2.

    centre + spread (phi(a) - phi(b)) / (Phi(b) - Phi(a)), divided through by phi(a) so that nothing
    underflows when the centre is far below 0.
    """
    a = -centre / spread
    b = (1.0 - centre) / spread
    drop = math.exp(-(1.0 - 2.0 * centre) / (2.0 * spread * spread))
    if a > 0.0:
        mass = _scaled_tail(a) - drop * _scaled_tail(b)
        return centre + spread * (1.0 - drop) / mass
    mass = math.sqrt(math.pi / 2.0) * (math.erf(b / math.sqrt(2.0)) - math.erf(a / math.sqrt(2.0)))
    return centre + spread * (math.exp(-0.5 * a * a) - math.exp(-0.5 * b * b)) / mass


def _scaled_tail(x: float) -> float:
    """Mills' ratio (1 - Phi(x)) / phi(x), x >= 0: directly, or by its continued fraction."""
    if x < 5.0:
        half = math.erfc(x / math.sqrt(2.0))
        return math.sqrt(math.pi / 2.0) * math.exp(0.5 * x * x) * half
    tail = 0.0
    for k in range(60, 0, -1):
        tail = k / (x + tail)
    return 1.0 / (x + tail)


def _truncated_normal(centre: float, spread: float, state: State) -> float:
    """A normal number cut to [0, 1], centre at most 1/2, by rejection from the law that fits."""
    if spread <= 0.5 and centre > -0.5 * spread:
        while True:
            x = centre + spread * normal(state)
            if 0.0 <= x <= 1.0:
                return x
    rate = -centre / (spread * spread)
    peak = max(centre, 0.0)
    while True:
        u = uniform(state)
        if rate > 0.0:
            x = min(1.0, -math.log1p(-u * -math.expm1(-rate)) / rate)
            keep = math.exp(-0.5 * (x / spread) ** 2)
        else:
            x = u
            keep = math.exp(-0.5 * ((x - peak) / spread) ** 2)
        if uniform(state) < keep:
            return x
