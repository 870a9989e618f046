"""UCB1: optimism by Hoeffding's bound.

    score = mean + eta sqrt(2 ln t / n)

Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine
Learning 47, 2002, with eta = 1; the paper also uses eta = 0.2 (its section 3.2). The logarithm is
natural although the paper says that log is base 2: its own tables rule base 2 out.
"""

from __future__ import annotations

import math

from handful.rules.base import Rule


def growth(t: int, eta: float) -> float:
    """Return eta sqrt(2 ln t)."""
    return eta * math.sqrt(2.0 * math.log(t))


def width(n: int, b: int, m: int) -> float:
    """Return 1 / sqrt(n)."""
    return 1.0 / math.sqrt(n)


UCB1 = Rule("ucb1", growth=growth, width=width, monotone=True)
