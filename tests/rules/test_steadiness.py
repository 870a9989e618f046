"""A rule that says it is steady is tried; a lie is refused before a simulation starts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

import handful
from handful.core import rng as generator
from handful.core.rng import State
from handful.errors import RuleError
from handful.rules import IMED, KL_UCB, MOSS, UCB1, UCB_V, BonusRule, IndexRule, LeaderRule
from handful.rules.steadiness import check_steady


@pytest.mark.parametrize("rule", [UCB1, MOSS, KL_UCB, IMED, UCB_V], ids=lambda rule: rule.name)
def test_the_houses_rules_are_steady(rule: BonusRule | IndexRule | LeaderRule) -> None:
    assert rule.steady
    check_steady(rule)


def steady_one(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    return s / n + 0.5 * math.sqrt(math.log(t) / n)


def shy(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    return s / n - 1.0 / n


def tired(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    return s / n + 1.0 / math.sqrt(n * t)


def contrary(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    return -s / n


def nervous(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    return s / n + 0.0 * generator.uniform(rng)


def envious(n: int, s: float, top: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    return top - math.log(n)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (IndexRule("shy", shy, steady=True), "higher after more pulls"),
        (IndexRule("tired", tired, steady=True), "falls as time passes"),
        (IndexRule("contrary", contrary, steady=True), "lower with a higher mean"),
        (IndexRule("nervous", nervous, steady=True), "draws random numbers"),
        (LeaderRule("envious", envious, steady=True), "falls as the highest mean falls"),
        (BonusRule("tired", lambda t, eta: 1.0 / t, UCB1.width, steady=True), "as time passes"),
        (IndexRule("ucb-v", UCB_V.score, steady=True), "lower with a higher mean"),
        (IndexRule("lofty", steady_one, steady=True, floor=KL_UCB.score), "below its floor"),
    ],
    ids=[
        "shy",
        "tired",
        "contrary",
        "nervous",
        "envious",
        "tired bonus",
        "no floor",
        "lofty",
    ],
)
def test_a_rule_that_is_not_steady_is_refused(
    rule: BonusRule | IndexRule | LeaderRule, said: str
) -> None:
    class Liar(handful.PhasedPolicy):
        name, title = "liar-m", "Liar-M"

    Liar.rule = rule
    for engine in ("auto", "skip", "compiled"):
        with pytest.raises(RuleError, match=said):
            handful.simulate(Liar, "linear:9", memory=2, horizon=100, runs=1, engine=engine)
    slow = handful.simulate(Liar, "linear:9", memory=2, horizon=100, runs=1, engine="python")
    assert slow.regret.mean > 0


def means(engine: str, settings: Sequence[tuple[str, int]]) -> list[tuple[float, float]]:
    class Own(handful.PhasedPolicy):
        name, title = "own-steady-m", "Own"
        rule = IndexRule("own-steady", steady_one, steady=True)

    results = [
        handful.simulate(Own, world, memory=memory, horizon=3000, runs=400, seed=3, engine=engine)
        for world, memory in settings
    ]
    return [(result.regret.mean, result.regret.sem) for result in results]


def test_a_steady_rule_of_ones_own_is_skipped_with_the_same_law() -> None:
    settings = [("linear:9", 3), ("bernoulli:0.9,0.5", 2), ("linear:30", 30)]
    both = zip(means("compiled", settings), means("skip", settings), strict=True)
    for (one, sem), (other, other_sem) in both:
        # Each a false alarm in 10^5, were seeds not fixed.
        assert abs(one - other) < 4.5 * math.hypot(sem, other_sem)
