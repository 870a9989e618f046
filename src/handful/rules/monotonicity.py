"""The definition of a monotone score, and spot-checks of `monotone=True`.

A score is monotone if it draws no random numbers and, up to rounding,

    the score of a leader, whose mean is `top`, does not fall if its mean rises;
    the score of a leader does not rise with its pulls n, at the same mean;
    no score falls if only t or b grows;
    no score falls if only `top` falls, down to the arm's own mean.

A rule whose score fails the first or the second condition can give a floor (`Rule.floor`): a lower
bound on the score that satisfies these two. UCB-V does.

Simulations skip pulls of a rule with a monotone score (`simulation/kernels/monotone.py`). A false
claim would corrupt results silently, so some hundred values of the score are checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

from handful.core.rng import Generator, stream, uniform
from handful.errors import RuleError
from handful.rules.base import Moment, Rule

_TRIES = 300


@cache
def check_monotone(rule: Rule) -> None:
    """Refuse a rule that claims to be monotone and is not."""
    rng = stream("monotonicity", rule.name)
    for n, mean, t, b, m, eta in _cases(rng):
        now = Moment(t, b, m, mean, eta, rng)
        before = list(rng)
        here = _score(rule, n, mean, now)
        least = _floor(rule, n, mean, now)
        higher = mean + (1.0 - mean) * 0.3
        _expect(rule, "is below its floor", n, mean, t, here, least)
        raised = _floor(rule, n, higher, now._replace(top=higher))
        _expect(rule, "is lower with a higher mean", n, mean, t, raised, least)
        more = _floor(rule, 2 * n + 1, mean, now)
        _expect(rule, "is higher after more pulls of the same mean", n, mean, t, least, more)
        for top in (mean, higher):
            seen = now._replace(top=top)
            score = _score(rule, n, mean, seen)
            later = _score(rule, n, mean, seen._replace(t=3 * t))
            _expect(rule, "falls as time passes", n, mean, t, later, score)
            longer = _score(rule, n, mean, seen._replace(b=7 * b))
            _expect(rule, "falls with the budget", n, mean, t, longer, score)
            _expect(rule, "falls as the highest mean falls", n, mean, t, here, score)
        if list(rng) != before:
            raise RuleError(
                f"the rule {rule.name} claims to be monotone, but its score draws random numbers: "
                "leave monotone=True out"
            )


def _cases(rng: Generator) -> Iterator[tuple[int, float, int, int, int, float]]:
    for _ in range(_TRIES):
        n = int(math.exp(uniform(rng) * math.log(1e6))) + 1
        # A mean that n rewards of 0 and 1 have.
        mean = int(uniform(rng) * (n + 1)) / n
        t = n + int(math.exp(uniform(rng) * math.log(1e12))) + 1
        m = 2 + int(uniform(rng) * 20)
        b = int(math.exp(uniform(rng) * math.log(1e12))) + m
        yield n, min(mean, 1.0), t, b, m, 1.5 * uniform(rng)


def _score(rule: Rule, n: int, mean: float, now: Moment) -> float:
    if rule.score is not None:
        return rule.score(n, mean * n, now)
    assert rule.growth is not None
    assert rule.width is not None
    return mean + rule.growth(now.t, now.eta) * rule.width(n, now.b, now.m)


def _floor(rule: Rule, n: int, mean: float, now: Moment) -> float:
    """Return a lower bound on a leader's score with this mean or a higher one."""
    return _score(rule, n, mean, now) if rule.floor is None else rule.floor(n, mean * n, now)


def _expect(rule: Rule, what: str, n: int, mean: float, t: int, high: float, low: float) -> None:
    """Refuse unless high >= low, but for rounding: that of n times a divergence, too."""
    if not high >= low - 1e-12 - 1e-15 * n:
        raise RuleError(
            f"the rule {rule.name} claims to be monotone, but its score {what} (n={n}, "
            f"mean={mean:g}, t={t}): leave monotone=True out"
        )
