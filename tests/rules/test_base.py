from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.core.rng import State, stream
from handful.rules import MOSS, THOMPSON, UCB1, BonusRule, IndexRule, Rule, choose
from handful.rules.base import as_given

steady = settings(derandomize=True, deadline=None)


def greedy_score(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    return s / n


GREEDY = IndexRule("greedy", greedy_score)


@pytest.mark.parametrize("rule", [UCB1, MOSS, GREEDY])
def test_each_arm_is_pulled_once_first_in_the_order_of_the_slots(rule: Rule) -> None:
    pulls = [0, 0, 0, 0]
    for slot in range(4):
        assert choose(rule, pulls, [0.0] * 4, 100, 1.0, [0, 1]) == slot
        pulls[slot] = 1


def test_an_untried_arm_goes_before_the_best_score() -> None:
    assert choose(UCB1, [5, 5, 0], [5.0, 5.0, 0.0], 100, 1.0, [0, 1]) == 2


def test_a_rule_may_do_without_trying_each_arm_first() -> None:
    chosen = {choose(THOMPSON, [0, 0, 0], [0.0] * 3, 100, 1.0, stream("t", i)) for i in range(50)}
    assert chosen == {0, 1, 2}


def test_the_highest_score_wins() -> None:
    assert choose(GREEDY, [4, 4, 4], [1.0, 3.0, 2.0], 100, 1.0, [0, 1]) == 1


@pytest.mark.parametrize("rule", [UCB1, MOSS, GREEDY])
def test_ties_go_to_the_first_slot(rule: Rule) -> None:
    assert choose(rule, [3, 3, 3], [2.0, 2.0, 2.0], 100, 1.0, [0, 1]) == 0
    assert choose(rule, [3, 3, 3], [1.0, 2.0, 2.0], 100, 1.0, [0, 1]) == 1


def test_a_rule_is_told_the_time_the_budget_and_the_arms_in_memory() -> None:
    told: list[tuple[int, float, int, int, int, float]] = []

    def score(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
        told.append((n, s, t, b, m, eta))
        return 0.0

    choose(IndexRule("spy", score), [2, 3], [1.0, 0.5], 40, 0.2, [0, 1])
    assert told == [(2, 1.0, 5, 40, 2, 0.2), (3, 0.5, 5, 40, 2, 0.2)]


def test_one_arm_is_always_chosen() -> None:
    assert choose(UCB1, [7], [0.0], 100, 1.0, [0, 1]) == 0
    assert choose(UCB1, [0], [0.0], 100, 1.0, [0, 1]) == 0


@steady
@given(
    st.integers(1, 10**6),
    st.floats(0, 1),
    st.integers(1, 10**6),
    st.integers(2, 50),
    st.floats(0, 2),
)
def test_a_bonus_score_may_be_tabulated_without_a_bit_of_difference(
    n: int, mean: float, more: int, m: int, eta: float
) -> None:
    for rule in (UCB1, MOSS):
        t, b, s = n + more, 2 * (n + more), mean * n
        growth, width = rule.growth(t, eta), rule.width(n, b, m)
        assert rule.score(n, s, t, b, m, eta, [0, 1]) == s / n + growth * width


def test_rewards_are_credited_as_given_unless_a_rule_says_otherwise() -> None:
    state = [5, 7]
    for rule in (UCB1, MOSS, GREEDY, BonusRule("mine", lambda t, eta: 0.0, lambda n, b, m: 0.0)):
        assert rule.credit is as_given
        assert rule.tries_each_first
    assert as_given(0.3, state) == 0.3
    assert state == [5, 7]


def test_one_may_write_a_rule_of_ones_own() -> None:
    rule = BonusRule("mine", lambda t, eta: eta * t, lambda n, b, m: 1.0 / n)
    assert math.isclose(rule.score(4, 2.0, 10, 100, 2, 0.5, [0, 1]), 0.5 + 5.0 / 4)
