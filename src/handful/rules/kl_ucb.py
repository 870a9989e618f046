"""KL-UCB: optimism by the divergence of Bernoulli laws.

    score = the largest u with n kl(mean, u) <= ln t

Garivier and Cappe, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011,
with the constant c = 0 that they recommend in practice.
"""

from __future__ import annotations

import math

from handful.core.rng import State
from handful.rules.base import IndexRule
from handful.rules.kl import kl_upper


def score(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    """The upper end of the confidence interval."""
    return kl_upper(s / n, math.log(t) / n)


KL_UCB = IndexRule("kl-ucb", score, steady=True)
