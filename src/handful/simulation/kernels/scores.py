"""The scores of a rule, in the form that the loops over monotone scores use."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from handful.compiling.arrays import Words
from handful.compiling.jit import named
from handful.rules import Rule
from handful.simulation.kernels.block import Memory
from handful.simulation.kernels.step import factors, timed

DOUBT = 1e-11
"""An upper bound on the rounding error of a score that is at most a few units large."""
DOUBT_BY_PULL = 4e-16
"""The same, for each of the n pulls, if a score is n times a divergence; added to `DOUBT`."""


class Scores(NamedTuple):
    """What the loops need of a rule.

    `grown(t, eta)` is worked out once for all arms at a time. `standing` is the score of slot i if
    the highest mean is `top`; `supposed` the least of a leader with n pulls of such a mean or a
    higher one; `pulled` brings up to date what `standing` reads. Stretches of less than `worth`
    cost more than single pulls; up to `few` arms are all watched, but where a score is `costly` not
    all of those are looked at.
    """

    grown: Callable[..., float]
    standing: Callable[..., float]
    supposed: Callable[..., float]
    pulled: Callable[..., None]
    looks_at_top: bool
    worth: int
    few: int
    costly: bool


def scores_of(rule: Rule, kin: str) -> Scores:
    """A rule's scores for this loop."""
    return _bonus_scores(rule, kin) if rule.is_bonus else _any_scores(rule, kin)


def _bonus_scores(rule: Rule, kin: str) -> Scores:
    growth, width = factors(rule)

    def standing(
        i: int, top: float, t: int, g: float, b: int, m: int, eta: float,
        memory: Memory, choices: Words,
    ) -> float:  # fmt: skip
        score: float = memory.hat[i] + g * memory.wide[i]
        return score

    def supposed(
        n: int, mean: float, t: int, g: float, b: int, m: int, eta: float, choices: Words
    ) -> float:
        return mean + g * width(n, b, m)

    def pulled(i: int, b: int, m: int, memory: Memory) -> None:
        memory.hat[i] = memory.s[i] / memory.n[i]
        memory.wide[i] = width(memory.n[i], b, m)

    return Scores(
        growth,
        named(standing, "standing", kin),
        named(supposed, "supposed", kin),
        named(pulled, "pulled", kin),
        looks_at_top=False,
        worth=16,
        few=128,
        costly=False,
    )


def _any_scores(rule: Rule, kin: str) -> Scores:
    assert rule.score is not None
    score_of = timed(rule.score, kin)
    least_of = score_of if rule.floor is None else timed(rule.floor, f"floor_{kin}")

    def no_growth(t: int, eta: float) -> float:
        return 0.0

    def standing(
        i: int, top: float, t: int, g: float, b: int, m: int, eta: float,
        memory: Memory, choices: Words,
    ) -> float:  # fmt: skip
        return score_of(memory.n[i], memory.s[i], top, t, b, m, eta, choices)

    def supposed(
        n: int, mean: float, t: int, g: float, b: int, m: int, eta: float, choices: Words
    ) -> float:
        s = mean * n
        return least_of(n, s, s / n, t, b, m, eta, choices)

    def pulled(i: int, b: int, m: int, memory: Memory) -> None:
        memory.hat[i] = memory.s[i] / memory.n[i]

    return Scores(
        named(no_growth, "no_growth", kin),
        named(standing, "standing", kin),
        named(supposed, "supposed", kin),
        named(pulled, "pulled", kin),
        looks_at_top=rule.looks_at_top,
        worth=4,
        few=16,
        costly=not rule.looks_at_top,
    )
