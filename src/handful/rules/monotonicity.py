"""Whether a rule that calls itself steady is: tried on some numbers, since a lie would be silent.

A simulation skips pulls of a steady rule (`simulation/kernels/steady.py`). It needs that, up to
rounding,

    a leader's score    rises with its mean where n stays, falls with n where the mean stays; or
                        its floor does, and is not above the score (`IndexRule.floor`)
    any score           does not fall when only t or b grows; for a `LeaderRule`, nor when only
                        `top` falls, down to the arm's own mean

and that it draws no random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

from handful.core.rng import State, stream, uniform
from handful.errors import RuleError
from handful.rules.base import BonusRule, IndexRule, LeaderRule

_TRIES = 300


@cache
def check_steady(rule: BonusRule | IndexRule | LeaderRule) -> None:
    """Refuse a rule that says it is steady and is not."""
    state = stream("steadiness", rule.name)
    for n, mean, t, b, m, eta in _cases(state):
        before = list(state)
        here = _score(rule, n, mean, mean, t, b, m, eta, state)
        least = _floor(rule, n, mean, t, b, m, eta, state)
        higher = mean + (1.0 - mean) * 0.3
        more = 2 * n + 1
        later = 3 * t
        _expect(rule, "is below its floor", n, mean, t, here, least)
        _expect(
            rule, "is lower with a higher mean", n, mean, t,
            _floor(rule, n, higher, t, b, m, eta, state), least,
        )  # fmt: skip
        _expect(
            rule, "is higher after more pulls of the same mean", n, mean, t,
            least, _floor(rule, more, mean, t, b, m, eta, state),
        )  # fmt: skip
        for top in (mean, higher):
            now = _score(rule, n, mean, top, t, b, m, eta, state)
            then = _score(rule, n, mean, top, later, b, m, eta, state)
            _expect(rule, "falls as time passes", n, mean, t, then, now)
            longer = _score(rule, n, mean, top, t, 7 * b, m, eta, state)
            _expect(rule, "falls with the budget", n, mean, t, longer, now)
            _expect(rule, "falls as the highest mean falls", n, mean, t, here, now)
        if list(state) != before:
            raise RuleError(
                f"the rule {rule.name} says that it is steady, but its score draws random numbers: "
                "leave steady=True out"
            )


def _cases(state: State) -> Iterator[tuple[int, float, int, int, int, float]]:
    for _ in range(_TRIES):
        n = int(math.exp(uniform(state) * math.log(1e6))) + 1
        # A mean that n rewards of 0 and 1 have.
        mean = int(uniform(state) * (n + 1)) / n
        t = n + int(math.exp(uniform(state) * math.log(1e12))) + 1
        m = 2 + int(uniform(state) * 20)
        b = int(math.exp(uniform(state) * math.log(1e12))) + m
        yield n, min(mean, 1.0), t, b, m, 1.5 * uniform(state)


def _score(
    rule: BonusRule | IndexRule | LeaderRule, n: int, mean: float, top: float,
    t: int, b: int, m: int, eta: float, state: State,
) -> float:  # fmt: skip
    if isinstance(rule, LeaderRule):
        return rule.score(n, mean * n, top, t, b, m, eta, state)
    return rule.score(n, mean * n, t, b, m, eta, state)


def _floor(
    rule: BonusRule | IndexRule | LeaderRule, n: int, mean: float,
    t: int, b: int, m: int, eta: float, state: State,
) -> float:  # fmt: skip
    """What a leader's score is at least, with this mean or a higher one."""
    if isinstance(rule, IndexRule) and rule.floor is not None:
        return rule.floor(n, mean * n, t, b, m, eta, state)
    return _score(rule, n, mean, mean, t, b, m, eta, state)


def _expect(
    rule: BonusRule | IndexRule | LeaderRule, what: str, n: int, mean: float, t: int,
    high: float, low: float,
) -> None:  # fmt: skip
    """High >= low, but for rounding: that of n times a divergence, too."""
    if not high >= low - 1e-12 - 1e-15 * n:
        raise RuleError(
            f"the rule {rule.name} says that it is steady, but its score {what} (n={n}, "
            f"mean={mean:g}, t={t}): leave steady=True out"
        )
