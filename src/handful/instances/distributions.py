"""Distributions of rewards on [0, 1] with a given mean mu.

    bernoulli          1 with probability mu, else 0
    beta:NU            Beta(NU mu, NU (1-mu)); NU = 4 unless given
    uniform            uniform on [mu-w, mu+w], w = min(mu, 1-mu)
    constant           mu itself
    truncnorm:SIGMA    a normal distribution with standard deviation SIGMA (0.1 unless given)
                       truncated to [0, 1], centred so that its mean *after* truncation is mu

Rewards of data (`data.py`) are drawn from rows, by `resampled`, and not from a mean.

`draw` draws from any of them by its code. The number in a name, NU or SIGMA, is the spread; the
centre is what must be solved for, once, when an arm enters memory. The simulator compiles these
functions as they stand. Adding a distribution is described in CONTRIBUTING.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from handful.core.rng import Generator, beta, normal, uniform

MIN_SPREAD = 1e-3


class Distribution(NamedTuple):
    """What a name of an instance may say of a distribution, and what the distribution needs."""

    name: str
    default_spread: float | None = None
    """None if the name takes no number."""
    max_spread: float = 0.0
    has_centre: bool = False
    margin: float = 0.0
    """How far from 0 and 1 a listed mean must be, unless it is one of them."""


DISTRIBUTIONS: list[Distribution] = []
"""All distributions; the code of one is its place in this list."""
CODES: dict[str, int] = {}


def _register(distribution: Distribution) -> int:
    CODES[distribution.name] = len(DISTRIBUTIONS)
    DISTRIBUTIONS.append(distribution)
    return CODES[distribution.name]


class Numbers(Protocol):
    """Numbers by index: an array, also in kernels."""

    def __getitem__(self, index: int, /) -> float: ...


BERNOULLI = _register(Distribution("bernoulli"))
BETA = _register(Distribution("beta", default_spread=4.0, max_spread=1e6))
UNIFORM = _register(Distribution("uniform"))
CONSTANT = _register(Distribution("constant"))
TRUNCNORM = _register(
    Distribution("truncnorm", default_spread=0.1, max_spread=10.0, has_centre=True, margin=1e-6)
)
ROWS = -1
"""The code of rewards that are drawn from rows. No name of a distribution means it."""


def draw(code: int, mean: float, centre: float, spread: float, rng: Generator) -> float:
    """Draw a reward from the distribution with this code: one branch each."""
    if code == BERNOULLI:
        return bernoulli(mean, rng)
    if code == CONSTANT or mean <= 0.0 or mean >= 1.0:
        return mean
    if code == UNIFORM:
        return _centred_uniform(mean, rng)
    if code == BETA:
        return beta(spread * mean, spread * (1.0 - mean), rng)
    return _mirrored_normal(mean, centre, spread, rng)


def centre_of(code: int, mean: float, spread: float) -> float:
    """Return the centre of a distribution with this mean; 0 for those that have none."""
    if code == TRUNCNORM and 0.0 < mean < 1.0:
        return _normal_centre(mean, spread)
    return 0.0


def resampled(rows: Numbers, start: int, stop: int, rng: Generator) -> float:
    """Draw one of the rows from `start` to before `stop`, each with the same probability."""
    return rows[start + int(uniform(rng) * (stop - start))]


def bernoulli(mean: float, rng: Generator) -> float:
    """Draw 1 with probability `mean`, else 0."""
    return 1.0 if uniform(rng) < mean else 0.0


def _centred_uniform(mean: float, rng: Generator) -> float:
    """Draw uniformly from the widest interval within [0, 1] that is centred at the mean."""
    half = min(mean, 1.0 - mean)
    return min(1.0, max(0.0, mean + half * (2.0 * uniform(rng) - 1.0)))


def _mirrored_normal(mean: float, centre: float, spread: float, rng: Generator) -> float:
    """Draw from a truncated normal distribution; means above 1/2 by symmetry."""
    if mean > 0.5:
        return 1.0 - _truncated_normal(1.0 - centre, spread, rng)
    return _truncated_normal(centre, spread, rng)


def _normal_centre(mean: float, spread: float) -> float:
    """Return the centre of the truncated normal distribution with this mean, by bisection."""
    low_mean = min(mean, 1.0 - mean)
    low = -2.0 * spread * spread / low_mean - 1.0
    high = 0.5
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if _truncated_mean(middle, spread) < low_mean:
            low = middle
        else:
            high = middle
    centre = 0.5 * (low + high)
    return 1.0 - centre if mean > 0.5 else centre


def _truncated_mean(centre: float, spread: float) -> float:
    """Return the mean of a normal distribution truncated to [0, 1], for a centre of at most 1/2.

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
    """Return Mills' ratio (1 - Phi(x)) / phi(x), x >= 0, far out by its continued fraction."""
    if x < 5.0:
        half = math.erfc(x / math.sqrt(2.0))
        return math.sqrt(math.pi / 2.0) * math.exp(0.5 * x * x) * half
    tail = 0.0
    for k in range(60, 0, -1):
        tail = k / (x + tail)
    return 1.0 / (x + tail)


def _truncated_normal(centre: float, spread: float, rng: Generator) -> float:
    """Draw a normal number truncated to [0, 1], for a centre of at most 1/2, by rejection.

    Proposals are normal where most of them are accepted, else exponential or uniform on [0, 1].
    """
    if spread <= 0.5 and centre > -0.5 * spread:
        while True:
            x = centre + spread * normal(rng)
            if 0.0 <= x <= 1.0:
                return x
    rate = -centre / (spread * spread)
    peak = max(centre, 0.0)
    while True:
        u = uniform(rng)
        if rate > 0.0:
            x = min(1.0, -math.log1p(-u * -math.expm1(-rate)) / rate)
            accept = math.exp(-0.5 * (x / spread) ** 2)
        else:
            x = u
            accept = math.exp(-0.5 * ((x - peak) / spread) ** 2)
        if uniform(rng) < accept:
            return x
