"""MOSS: optimism that fades once an arm has had its share of the budget.

    score = mean + sqrt(max(ln(b / (m n)), 0) / n)

Audibert and Bubeck, "Minimax policies for adversarial and stochastic bandits", COLT 2009. The
horizon in the formula is the sub-phase's budget b, the number of arms is m, the arms in memory.
"""

from __future__ import annotations

import math

from handful.rules.base import BonusRule


def growth(t: int, eta: float) -> float:
    """MOSS does not look at the time."""
    return 1.0


def width(n: int, b: int, m: int) -> float:
    """sqrt(max(ln(b / (m n)), 0) / n)."""
    share = b / (m * n)
    return math.sqrt(math.log(share) / n) if share > 1.0 else 0.0


MOSS = BonusRule("moss", growth, width, width_uses_budget=True, steady=True)
