"""KL-UCB: optimism by the divergence of Bernoulli distributions.

    score = the largest u with n kl(mean, u) <= ln t

Garivier and Cappe, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011,
with the constant c = 0 that they recommend in practice.
"""

from __future__ import annotations

import math

from handful.core.divergence import kl_upper
from handful.rules.base import Moment, Rule


def score(n: int, s: float, now: Moment) -> float:
    """Return the upper end of the confidence interval."""
    return kl_upper(s / n, math.log(now.t) / n)


KL_UCB = Rule("kl-ucb", score, monotone=True)
