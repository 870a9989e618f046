"""Allocation rules: a score for each arm in memory; the arm with the highest score is pulled.

    score(n, s, now) -> float

n is the number of pulls of the arm since it entered memory, s the sum of its rewards, and `now`
what is common to all arms at the time (`Moment`). The simulator compiles the same function with
Numba: a score may use `math`, `handful.core.rng` and arithmetic, and nothing else.

A rule may state facts that faster engines use. None of them changes which arms it pulls:

    growth, width   the score is s/n + growth(t, eta) * width(n, b, m), and both can be tabulated
    monotone        the score rises with the mean, falls with n, and never falls with t alone
    floor           where a higher mean can have a lower score: the least of this and higher means
    posterior       the score is a draw from Beta(1 + s, 1 + n - s)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

from handful.core.rng import Generator, uniform
from handful.core.state import State
from handful.errors import SettingError


class Moment(NamedTuple):
    """What a score may depend on besides its arm, with the paper's symbols."""

    t: int
    """Pulls of all arms in memory."""
    b: int
    """The sub-phase's budget of pulls."""
    m: int
    """How many arms are in memory."""
    top: float
    """The highest mean in memory; 0 unless the rule says `looks_at_top`."""
    eta: float
    """The policy's setting of that name; 1 if it has none."""
    rng: Generator
    """The policy's generator, for rules that draw: `handful.core.rng.uniform(now.rng)`."""


F = TypeVar("F", bound=Callable[..., Any])
Score: TypeAlias = Callable[[int, float, Moment], float]
Growth: TypeAlias = Callable[[int, float], float]
Width: TypeAlias = Callable[[int, int, int], float]
Credit: TypeAlias = Callable[[float, Generator], float]
Choose: TypeAlias = Callable[[Any, int, int, float], int]


def as_given(reward: float, rng: Generator) -> float:
    """Return the reward itself."""
    return reward


def trial(reward: float, rng: Generator) -> float:
    """Return 1 with probability `reward`, else 0: any reward as a Bernoulli trial of its mean."""
    if reward == 0.0 or reward == 1.0:
        return reward
    return 1.0 if uniform(rng) < reward else 0.0


class _Fields(NamedTuple):
    name: str
    score: Score | None = None
    growth: Growth | None = None
    """growth(t, eta)"""
    width: Width | None = None
    """width(n, b, m)"""
    budget_in_width: bool = False
    """Whether `width` depends on b or m, so that one table cannot serve all sub-phases."""
    looks_at_top: bool = False
    """Whether the score depends on `now.top`, the highest mean in memory."""
    tries_each_first: bool = True
    """Whether each arm in memory is pulled once before any score is looked at."""
    credit: Credit = as_given
    """What of a reward is added to s."""
    monotone: bool = False
    """True if the score rises with the mean s/n, does not rise with n at the same mean, and does
    not fall when only t or b grows or when only `top` falls. For growth and width: if growth is
    non-decreasing in t and width non-increasing in n. `monotonicity.py` spot-checks it."""
    floor: Score | None = None
    """A lower bound on the scores of this mean and all higher ones, monotone in its place."""
    posterior: bool = False
    """Whether the score is an independent draw from Beta(1 + s, 1 + n - s)."""


class Rule(_Fields):
    """A score, or the two factors of one, and facts about it.

    >>> Rule("greedy", score=lambda n, s, now: s / n).name
    'greedy'
    """

    __slots__ = ()

    def __new__(
        cls,
        name: str,
        score: Score | None = None,
        growth: Growth | None = None,
        width: Width | None = None,
        budget_in_width: bool = False,
        looks_at_top: bool = False,
        tries_each_first: bool = True,
        credit: Credit = as_given,
        monotone: bool = False,
        floor: Score | None = None,
        posterior: bool = False,
    ) -> Self:
        """Refuse a rule that has neither a score nor both of its factors, or all three."""
        if (growth is None) != (width is None):
            raise SettingError(f"the rule {name!r} has one factor: give growth and width")
        if (score is None) == (growth is None):
            raise SettingError(
                f"the rule {name!r} needs a score, or both growth and width, and not all three"
            )
        return super().__new__(
            cls, name, score, growth, width, budget_in_width, looks_at_top, tries_each_first,
            credit, monotone, floor, posterior,
        )  # fmt: skip

    @property
    def is_bonus(self) -> bool:
        """Whether the score is the mean plus growth times width."""
        return self.growth is not None


def chooser(rule: Rule) -> Choose:
    """Return `choose(state, t, b, eta)`, which gives the slot that the rule pulls next.

    The highest score wins, ties go to the first slot. An arm that has no reward yet has no score:
    it is pulled first if the rule tries each arm, unless its first reward is on the way. The result
    is -1 where a score is NaN or none is more than -inf; +inf counts as the highest.
    """
    choose = _bonus_chooser(rule) if rule.is_bonus else _score_chooser(rule)
    return with_name(choose, "choose", rule.name)


def with_name(function: F, role: str, name: str) -> F:
    """Give a function that a factory made a name that no other has: compilers link by name."""
    plain = "".join(letter if letter.isalnum() else f"_{ord(letter)}_" for letter in name)
    function.__name__ = function.__qualname__ = f"{role}_{plain}"
    return function


def _bonus_chooser(rule: Rule) -> Choose:
    # `_score_chooser` repeats the loop below: a decision of UCB1 takes 5% longer with a test of
    # the kind of rule for each arm, and 9% longer with a call between the two parts.
    growth, width = rule.growth, rule.width
    assert growth is not None
    assert width is not None

    def choose(state: State, t: int, b: int, eta: float) -> int:
        m = state.held
        if t < m:
            slot = first_untried(state)
            if slot >= 0:
                return slot
        g = growth(t, eta)
        pulls, sums = state.pulls, state.sums
        best = -1
        highest = -math.inf
        for slot in range(m):
            n = pulls[slot]
            if n > 0:
                x = sums[slot] / n + g * width(n, b, m)
                if not x <= highest:
                    if x != x:
                        return -1
                    highest = x
                    best = slot
            elif state.in_flight[slot] == 0:
                return slot
        return best

    return choose


def _score_chooser(rule: Rule) -> Choose:
    score, looks_at_top, tries_each_first = rule.score, rule.looks_at_top, rule.tries_each_first
    assert score is not None

    def choose(state: State, t: int, b: int, eta: float) -> int:
        m = state.held
        if tries_each_first and t < m:
            slot = first_untried(state)
            if slot >= 0:
                return slot
        top = highest_mean(state) if looks_at_top else 0.0
        now = Moment(t, b, m, top, eta, state.rng)
        pulls, sums = state.pulls, state.sums
        best = -1
        highest = -math.inf
        for slot in range(m):
            n = pulls[slot]
            if n > 0 or not tries_each_first:
                x = score(n, sums[slot], now)
                if not x <= highest:
                    if x != x:
                        return -1
                    highest = x
                    best = slot
            elif state.in_flight[slot] == 0:
                return slot
        return best

    return choose


def first_untried(state: State) -> int:
    """Return the first slot without a decision; if no reward has come, that with the fewest.

    -1 where every arm was tried and a reward has come.
    """
    fewest = 0
    rewarded = False
    for slot in range(state.held):
        if state.pulls[slot] + state.in_flight[slot] == 0:
            return slot
        if state.pulls[slot] > 0:
            rewarded = True
        if state.in_flight[slot] < state.in_flight[fewest]:
            fewest = slot
    return -1 if rewarded else fewest


def highest_mean(state: State) -> float:
    """Return the highest mean of the arms in memory that have a reward."""
    top = 0.0
    for slot in range(state.held):
        n = state.pulls[slot]
        if n > 0:
            top = max(top, state.sums[slot] / n)
    return top
