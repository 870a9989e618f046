from __future__ import annotations

import math
from copy import copy
from inspect import signature
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.core.rng import stream
from handful.errors import SettingError
from handful.rules import IMED, KL_UCB, MOSS, THOMPSON, UCB1, Moment, Rule, chooser
from handful.rules.base import as_given, first_untried
from tests.rules.scoring import chosen, memory_of, score

fixed = settings(derandomize=True, deadline=None)


def greedy_score(n: int, s: float, now: Moment) -> float:
    return s / n


GREEDY = Rule("greedy", greedy_score)


@pytest.mark.parametrize("rule", [UCB1, MOSS, GREEDY, IMED, KL_UCB], ids=lambda rule: rule.name)
def test_each_arm_is_pulled_once_first_in_the_order_of_the_slots(rule: Rule) -> None:
    pulls = [0, 0, 0, 0]
    for slot in range(4):
        assert chosen(rule, pulls, [0.0] * 4) == slot
        pulls[slot] = 1


@pytest.mark.parametrize("rule", [UCB1, MOSS, GREEDY, IMED, KL_UCB], ids=lambda rule: rule.name)
def test_an_untried_arm_goes_before_the_best_score(rule: Rule) -> None:
    assert chosen(rule, [1, 1, 0], [1.0, 1.0, 0.0]) == 2
    # Somebody else decided on ten pulls of the first two arms.
    assert chosen(rule, [5, 5, 0], [5.0, 5.0, 0.0]) == 2


def test_a_rule_may_do_without_trying_each_arm_first() -> None:
    picked = {chosen(THOMPSON, [0, 0, 0], [0.0] * 3, rng=stream("t", i)) for i in range(50)}
    assert picked == {0, 1, 2}


def test_the_highest_score_wins() -> None:
    assert chosen(GREEDY, [4, 4, 4], [1.0, 3.0, 2.0]) == 1


@pytest.mark.parametrize("rule", [UCB1, MOSS, GREEDY, IMED], ids=lambda rule: rule.name)
def test_ties_go_to_the_first_slot(rule: Rule) -> None:
    assert chosen(rule, [3, 3, 3], [2.0, 2.0, 2.0]) == 0
    assert chosen(rule, [3, 3, 3], [1.0, 2.0, 2.0]) == 1


def test_a_rule_is_given_the_time_the_budget_and_the_arms_in_memory() -> None:
    given: list[tuple[int, float, Moment]] = []

    def spy(n: int, s: float, now: Moment) -> float:
        given.append((n, s, now))
        return 0.0

    rng = [4, 9]
    for looks, top in ((False, 0.0), (True, 0.5)):
        given.clear()
        chosen(Rule("spy", spy, looks_at_top=looks), [2, 3], [1.0, 0.5], 40, 0.2, rng)
        now = Moment(t=5, b=40, m=2, top=top, eta=0.2, rng=rng)
        assert given == [(2, 1.0, now), (3, 0.5, now)]
        assert given[0][2].rng is rng


def test_one_arm_is_always_chosen() -> None:
    assert chosen(UCB1, [7], [0.0]) == 0
    assert chosen(UCB1, [0], [0.0]) == 0


memories = st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1)), min_size=1, max_size=12).map(
    lambda slots: ([n for n, _ in slots], [n * mean for n, mean in slots])
)


@fixed
@given(memories, st.integers(1, 10**7), st.floats(0, 2))
def test_two_factors_choose_what_their_score_chooses(
    memory: tuple[list[int], list[float]], b: int, eta: float
) -> None:
    pulls, sums = memory
    for rule in (UCB1, MOSS):

        def whole(n: int, s: float, now: Moment, rule: Rule = rule) -> float:
            return score(rule, n, s, now.t, now.b, now.m, now.eta)

        assert chosen(rule, pulls, sums, b, eta) == chosen(
            Rule("whole", whole), pulls, sums, b, eta
        )


def test_a_score_that_is_nan_leaves_no_choice() -> None:
    def odd(n: int, s: float, now: Moment) -> float:
        return s / n if n > 5 else math.nan

    assert chosen(Rule("odd", odd), [7, 8, 9], [3.0, 1.0, 5.0]) == 2
    for pulls in ([3, 8, 9], [8, 3, 9], [8, 9, 3], [3, 4, 5]):
        assert chosen(Rule("odd", odd), pulls, [3.0, 1.0, 2.0]) == -1


def test_infinite_scores_are_ordered_like_others() -> None:
    def odd(n: int, s: float, now: Moment) -> float:
        return {1: math.inf, 2: -math.inf}.get(n, s / n)

    rule = Rule("odd", odd)
    assert chosen(rule, [3, 1, 1, 2], [3.0, 0.0, 1.0, 2.0]) == 1
    assert chosen(rule, [2, 3, 2], [0.0, 0.0, 1.0]) == 1
    assert chosen(rule, [2, 2], [0.0, 1.0]) == -1


def test_a_first_pull_that_is_on_its_way_is_not_made_twice() -> None:
    state = memory_of([0, 0, 0], [0.0, 0.0, 0.0])
    for slot in (0, 1, 2, 0, 1):
        assert first_untried(state) == slot == chooser(UCB1)(state, 0, 100, 1.0)
        state.in_flight[slot] += 1
    state.in_flight[1] -= 1
    state.pulls[1], state.sums[1] = 1, 1.0
    assert first_untried(state) == -1
    # The only arm with a reward is the only one with a score.
    assert chooser(UCB1)(state, 1, 100, 1.0) == chooser(GREEDY)(state, 1, 100, 1.0) == 1


def test_rewards_are_credited_as_given_unless_a_rule_says_otherwise() -> None:
    rng = [5, 7]
    own = Rule("mine", growth=lambda t, eta: 0.0, width=lambda n, b, m: 0.0)
    for rule in (UCB1, MOSS, GREEDY, own):
        assert rule.credit is as_given
        assert rule.tries_each_first
    assert as_given(0.3, rng) == 0.3
    assert rng == [5, 7]


def test_one_may_write_a_rule_of_ones_own() -> None:
    rule = Rule("mine", growth=lambda t, eta: eta * t, width=lambda n, b, m: 1.0 / n)
    assert rule.is_bonus
    # Slot 0: 0.5 + 5/4; slot 1: 0.25 + 5/6 of the time 10 and eta 0.5.
    assert math.isclose(score(rule, 4, 2.0, t=10, eta=0.5), 0.5 + 5.0 / 4)
    assert chosen(rule, [4, 6], [2.0, 1.5], eta=0.5) == 0
    assert chosen(rule, [4, 6], [0.0, 5.9], eta=0.01) == 1


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, "needs a score, or both growth and width"),
        ({"growth": UCB1.growth}, "has one factor"),
        ({"width": UCB1.width, "score": greedy_score}, "has one factor"),
        ({"score": greedy_score, "growth": UCB1.growth, "width": UCB1.width}, "not all three"),
    ],
)
def test_a_rule_with_too_little_or_too_much_is_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        Rule("mine", **parts)


def test_the_signature_of_a_rule_is_that_of_its_fields() -> None:
    given = signature(Rule).parameters
    assert tuple(given) == Rule._fields
    defaults = {name: p.default for name, p in given.items() if p.default is not p.empty}
    assert defaults == Rule._field_defaults


def test_a_copy_of_a_rule_has_every_field_in_its_place() -> None:
    for rule in (UCB1, IMED, THOMPSON):
        assert copy(rule) == rule
        assert rule._replace(name="other")[1:] == rule[1:]
