"""The highest of many posterior draws without making them all: an exact rejection contest.

Thompson sampling pulls argmax X_i, X_i ~ Beta(1 + s_i, 1 + n_i - s_i). A draw for every arm at
every pull is most of the cost, and most draws cannot be the best. `contest` finds the argmax, with
exactly its distribution, without them. Let l be the arm with the highest posterior mean, and q a
number that X_l hardly ever falls below. The density f_i of another arm is log-concave, so beyond q,
if q is past its mode, it lies under the exponential

    g_i(x) = f_i(q) exp(-k (x - q)),   k = (n q - s) / (q (1 - q)),   of mass G_i = f_i(q) / k,

and rejection sampling has three outcomes: no proposal, with probability 1 - G_i, which says that
X_i <= q; a proposal x ~ g_i/G_i accepted with probability f_i(x)/g_i(x), which is X_i; one not
accepted, which says X_i <= q again. That no arm but l has a proposal is one uniform number against
prod (1 - G_i), and nearly always so; l is then the best if X_l >= q. If the best is below q too,
the same exponentials, followed down to it, say which of the others can be above it.
"""

from __future__ import annotations

import math

from handful.compiling.arrays import Floats, Ints
from handful.core.binomial import log_binomial
from handful.core.rng import Generator, beta_from_one, positive_uniform, uniform

_DEEPEST = 300.0
"""Less than the logarithm by which a double can be too small to differ from 0."""


def draw(n: int, s: float, rng: Generator) -> float:
    """Return a draw from the posterior of an arm's mean."""
    return beta_from_one(1.0 + s, 1.0 + n - s, rng)


def tail(n: int, s: float, q: float) -> float:
    """Return G, the mass of the exponential beyond q; 1 where it is of no use."""
    if q * n <= s or q <= 0.0:
        return 1.0
    density = (n + 1.0) * math.exp(log_binomial(n, s, q))
    return min(1.0, density * q * (1.0 - q) / (n * q - s))


def contest(
    n: Ints,
    s: Floats,
    m: int,
    tails: Floats,
    leader: int,
    q: float,
    none: float,
    highest: float,
    u: float,
    rng: Generator,
) -> int:
    """Return the slot whose draw is the highest, where `highest` is the leader's.

    u, uniform in (0, 1), decides which other arms have a proposal beyond q: none, if u < `none`. An
    arm whose proposal is refused is marked, for a moment, by the sign of its G.
    """
    best = leader
    refused = False
    if u >= none:
        quiet = 1.0
        for i in range(m):
            quiet *= 1.0 - tails[i]
            if u >= quiet:
                x = proposal(n[i], s[i], q, rng) if tails[i] < 1.0 else draw(n[i], s[i], rng)
                if x > highest:
                    highest = x
                    best = i
                if x < 0.0:
                    tails[i] = -tails[i]
                    refused = True
                u = uniform(rng)
                quiet = 1.0
    if highest < q:
        low = highest
        for i in range(m):
            if i != leader and tails[i] < 1.0:
                x = between(n[i], s[i], low, q, tails[i], rng)
                if x > highest:
                    highest = x
                    best = i
    if refused:
        for i in range(m):
            tails[i] = abs(tails[i])
    return best


def proposal(n: int, s: float, q: float, rng: Generator) -> float:
    """Return a draw from the exponential beyond q if the posterior accepts it, else -1."""
    k = (n * q - s) / (q * (1.0 - q))
    d = -math.log(positive_uniform(rng)) / k
    if q + d >= 1.0:
        return -1.0
    below = s * math.log1p(d / q) + (n - s) * math.log1p(-d / (1.0 - q)) + k * d
    return q + d if math.log(positive_uniform(rng)) <= below else -1.0


def between(n: int, s: float, low: float, q: float, tail: float, rng: Generator) -> float:
    """Return a draw known to be below q if it is above `low`, else -1; refused if `tail` < 0.

    One uniform number decides whether an arm has a proposal: beyond q, if it is less than the mass
    of the exponential there, `tail`; between `low` and q, if it is less than tail (1 + more), the
    mass of the same exponential beyond `low`; and an arm without an accepted proposal is below
    `low`. So an arm with a refused one is, and for others the number is known to exceed `tail`.
    Where the exponential is of no use so far down, or its mass beyond q was too small for a double,
    the draw is made.
    """
    k = (n * q - s) / (q * (1.0 - q))
    depth = k * (q - low)
    more = math.expm1(min(_DEEPEST, depth))
    mass = abs(tail)
    if depth > _DEEPEST or mass * (1.0 + more) > 1.0:
        x = draw(n, s, rng)
        while x > q:
            x = draw(n, s, rng)
        return x
    if tail < 0.0 or uniform(rng) * (1.0 - mass) >= mass * more:
        return -1.0
    d = math.log1p(more * uniform(rng)) / k
    if d >= q:
        return -1.0
    below = s * math.log1p(-d / q) + (n - s) * math.log1p(d / (1.0 - q)) - k * d
    return q - d if math.log(positive_uniform(rng)) <= below else -1.0
