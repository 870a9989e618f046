"""kl-UCB++: KL-UCB whose optimism fades once an arm has had its share of the budget.

    score = the largest u with n kl(mean, u) <= g(n)
    g(n)  = ln+( x (1 + ln+(x)^2) ),   x = b / (m n),   ln+ = max(ln, 0)

Menard and Garivier, "A minimax and asymptotically optimal algorithm for stochastic bandits", ALT
2017. The horizon in the formula is the sub-phase's budget b, the number of arms is m.
"""

from __future__ import annotations

import math

from handful.core.divergence import kl_upper
from handful.rules.base import Moment, Rule


def score(n: int, s: float, now: Moment) -> float:
    """Return the upper end of the confidence interval."""
    share = now.b / (now.m * n)
    if share <= 1.0:
        return s / n
    log = math.log(share)
    return kl_upper(s / n, (log + math.log1p(log * log)) / n)


KL_UCBPP = Rule("kl-ucb++", score, monotone=True)
