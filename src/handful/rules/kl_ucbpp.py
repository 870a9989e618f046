"""kl-UCB++: KL-UCB whose optimism fades once an arm has had its share of the budget.

    score = the largest u with n kl(mean, u) <= g(n)
    g(n)  = ln+( x (1 + ln+(x)^2) ),   x = b / (m n),   ln+ = max(ln, 0)

Menard and Garivier, "A minimax and asymptotically optimal algorithm for stochastic bandits", ALT
2017. The horizon in the formula is the sub-phase's budget b, the number of arms is m.
"""

from __future__ import annotations

import math

from handful.core.rng import State
from handful.rules.base import IndexRule
from handful.rules.kl import kl_upper


def score(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    """The upper end of the confidence interval."""
    share = b / (m * n)
    if share <= 1.0:
        return s / n
    log = math.log(share)
    return kl_upper(s / n, (log + math.log1p(log * log)) / n)


KL_UCBPP = IndexRule("kl-ucb++", score, steady=True)
