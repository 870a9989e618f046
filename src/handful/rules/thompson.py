"""Thompson sampling: pull the arm that is best in a draw from the posterior.

    score = X ~ Beta(1 + s, 1 + n - s), independent for each arm

Thompson 1933; Agrawal and Goyal, "Further optimal regret bounds for Thompson sampling", AISTATS
2013, whose treatment of rewards r in (0, 1) is used: a Bernoulli(r) trial is credited in their
place, so s is a number of successes.
"""

from __future__ import annotations

from handful.core.rng import beta_from_one
from handful.rules.base import Moment, Rule, trial


def score(n: int, s: float, now: Moment) -> float:
    """Return a draw from the posterior of the arm's mean."""
    return beta_from_one(1.0 + s, 1.0 + n - s, now.rng)


THOMPSON = Rule("thompson", score, tries_each_first=False, credit=trial, posterior=True)
