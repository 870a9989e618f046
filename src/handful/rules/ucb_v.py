"""UCB-V: optimism by Bernstein's bound, which is tighter for arms that vary little.

    score = mean + sqrt(2 V ln t / n) + 3 ln t / n,   V = mean (1 - mean)

Audibert, Munos and Szepesvari, "Exploration-exploitation tradeoff using variance estimates in
multi-armed bandits", Theoretical Computer Science 410, 2009, with zeta = c = 1. Memory has no room
for squares of rewards: V is the variance of Bernoulli rewards, the largest that rewards in [0, 1]
with this mean can have, so the bound holds for those too.

Near 1, a higher mean has so much less variance that its score is lower. In the mean the score is
concave: the least of a mean and all higher ones is at one of the two ends (`floor`).
"""

from __future__ import annotations

import math

from handful.rules.base import Moment, Rule


def score(n: int, s: float, now: Moment) -> float:
    """Return the mean, its deviation and a correction for few pulls."""
    mean = s / n
    log = math.log(now.t) / n
    return mean + math.sqrt(2.0 * max(mean * (1.0 - mean), 0.0) * log) + 3.0 * log


def floor(n: int, s: float, now: Moment) -> float:
    """Return the least score of this mean and all higher ones."""
    return min(score(n, s, now), 1.0 + 3.0 * math.log(now.t) / n)


UCB_V = Rule("ucb-v", score, monotone=True, floor=floor)
