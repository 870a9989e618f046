"""IMED: pull the arm with the least evidence against its being the best.

    score = -(n kl(mean, top) + ln n),   top the highest mean

Honda and Takemura, "Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards",
Journal of Machine Learning Research 16, 2015, in its form for Bernoulli rewards; for other rewards
in [0, 1] Bernoulli's divergence is a lower bound of theirs.
"""

from __future__ import annotations

import math

from handful.core.divergence import kl
from handful.rules.base import Moment, Rule


def index(n: int, s: float, top: float) -> float:
    """Return the index of Honda and Takemura: the arm with the lowest is pulled."""
    mean = s / n
    surprise = n * kl(mean, top) if mean < top else 0.0
    return surprise + math.log(n)


def score(n: int, s: float, now: Moment) -> float:
    """Return the index negated, since the highest score is pulled."""
    return -index(n, s, now.top)


IMED = Rule("imed", score, looks_at_top=True, monotone=True)
