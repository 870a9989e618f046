"""Thompson sampling: pull the arm that is best in a draw from the posterior.

    score ~ Beta(1 + s, 1 + n - s)

Thompson 1933; Agrawal and Goyal, "Further optimal regret bounds for Thompson sampling", AISTATS
2013, whose treatment of rewards r in (0, 1) is used: a Bernoulli(r) trial is credited in their
place, so s is a number of successes.
"""

from __future__ import annotations

from handful.rng import State, beta, uniform
from handful.rules.base import IndexRule


def score(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    """A draw from the posterior of the arm's mean."""
    return beta(1.0 + s, 1.0 + n - s, rng)


def trial(reward: float, rng: State) -> float:
    """A success with probability `reward`."""
    if reward == 0.0 or reward == 1.0:
        return reward
    return 1.0 if uniform(rng) < reward else 0.0


THOMPSON = IndexRule("thompson", score, tries_each_first=False, credit=trial)
