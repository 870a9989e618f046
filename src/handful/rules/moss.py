"""MOSS: optimism that fades once an arm has had its share of the budget.

    score = mean + sqrt(max(ln(b / (m n)), 0) / n)

Audibert and Bubeck, "Minimax policies for adversarial and stochastic bandits", COLT 2009. The
horizon in the formula is the sub-phase's budget b, the number of arms is m, the arms in memory.
"""

from __future__ import annotations

import math
from functools import lru_cache

from handful.rules.base import Rule


def growth(t: int, eta: float) -> float:
    """Return 1: MOSS does not depend on the time."""
    return 1.0


# Online: from one pull to the next, the widths of all arms but one are the same.
@lru_cache(maxsize=2048)
def width(n: int, b: int, m: int) -> float:
    """Return sqrt(max(ln(b / (m n)), 0) / n)."""
    share = b / (m * n)
    return math.sqrt(math.log(share) / n) if share > 1.0 else 0.0


MOSS = Rule("moss", growth=growth, width=width, budget_in_width=True, monotone=True)
