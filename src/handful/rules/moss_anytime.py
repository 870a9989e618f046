"""MOSS-anytime: MOSS with the time in place of the horizon.

    score = mean + sqrt((1 + a)/2 max(ln(t / (m n)), 0) / n),   a = 1.35

Degenne and Perchet, "Anytime optimal algorithms in stochastic multi-armed bandits", ICML 2016, with
the constant of their experiments.
"""

from __future__ import annotations

import math

from handful.rules.base import Moment, Rule

SCALE = 0.5 * (1.0 + 1.35)


def score(n: int, s: float, now: Moment) -> float:
    """Return the mean and a bonus, which is 0 for an arm with more than its share of the pulls."""
    share = now.t / (now.m * n)
    return s / n + math.sqrt(SCALE * math.log(share) / n) if share > 1.0 else s / n


MOSS_ANYTIME = Rule("moss-anytime", score, monotone=True)
