"""What an allocation rule is: a score for each arm in memory; the arm with the highest is pulled.

A score is a pure function of numbers, with the paper's symbols:

    n    pulls of the arm since it entered memory
    s    sum of its rewards
    t    pulls of all arms in memory
    b    the sub-phase's budget of pulls
    m    how many arms are in memory
    eta  the policy's setting of that name, 1 if it has none
    rng  the policy's generator, for rules that draw: `handful.core.rng.uniform(rng)`

`BonusRule` is for scores of the form mean + growth(t) * width(n), which the simulator tabulates;
`LeaderRule` for scores that compare with the best mean in memory; `IndexRule` for any other.
`DrawRule` is for the highest of random draws, not all of which are made. The simulator compiles the
same functions with Numba: they may use `math`, `handful.core.rng` and arithmetic, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

from handful.core.rng import State
from handful.errors import RuleError

Score: TypeAlias = Callable[[int, float, int, int, int, float, State], float]
LeaderScore: TypeAlias = Callable[[int, float, float, int, int, int, float, State], float]
Credit: TypeAlias = Callable[[float, State], float]
Prepare: TypeAlias = Callable[..., tuple[int, float, float]]
Pick: TypeAlias = Callable[..., int]


def as_given(reward: float, rng: State) -> float:
    """Credit the reward itself."""
    return reward


@dataclass(frozen=True, slots=True)
class IndexRule:
    """Any score of (n, s, t, b, m, eta, rng)."""

    name: str
    score: Score
    tries_each_first: bool = True
    """Pull each arm in memory once before any score is looked at."""
    credit: Credit = as_given
    """What of a reward is added to s."""
    steady: bool = False
    """Whether the score rises with the mean s/n, falls with n where the mean stays, and never falls
    with t alone: a simulation then may skip pulls that cannot change the leader."""
    floor: Score | None = None
    """Where a higher mean can have a lower score: the least score of this mean and all higher ones.
    Then this has to rise with the mean, and fall with n."""


@dataclass(frozen=True, slots=True)
class BonusRule:
    """The score s/n + growth(t, eta) * width(n, b, m)."""

    name: str
    growth: Callable[[int, float], float]
    width: Callable[[int, int, int], float]
    width_uses_budget: bool = False
    """Whether `width` looks at b and m, so that it cannot be tabulated once for all sub-phases."""
    steady: bool = False
    """Whether growth never falls with t, nor rises width with n: as for `IndexRule`."""

    @property
    def tries_each_first(self) -> bool:
        """Always: a mean needs a pull."""
        return True

    @property
    def credit(self) -> Credit:
        """The reward as it is."""
        return as_given

    def score(self, n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
        """The score; written so that tabulating growth and width changes no bit of it."""
        return s / n + self.growth(t, eta) * self.width(n, b, m)


@dataclass(frozen=True, slots=True)
class LeaderRule:
    """A score of (n, s, top, t, b, m, eta, rng): it also looks at the highest mean in memory."""

    name: str
    score: LeaderScore
    steady: bool = False
    """As for `IndexRule`; and the score never falls when `top` alone does, but for the top arm."""

    @property
    def tries_each_first(self) -> bool:
        """Always: a mean needs a pull."""
        return True

    @property
    def credit(self) -> Credit:
        """The reward as it is."""
        return as_given


@dataclass(frozen=True, slots=True)
class DrawRule:
    """Pulls the arm with the highest of random draws, of which it makes those that matter.

    `prepare` works out what `pick` needs from n and s, in lists that a simulation keeps from pull
    to pull; `rules/thompson.py` says what passes between them.
    """

    name: str
    prepare: Prepare
    pick: Pick
    credit: Credit = as_given
    from_beta: bool = False
    """Whether the draws are from Beta(1 + s, 1 + n - s) and s counts successes of trials."""

    @property
    def tries_each_first(self) -> bool:
        """Never: draws need no pull."""
        return False


Rule: TypeAlias = IndexRule | BonusRule | LeaderRule | DrawRule


def choose(
    rule: Rule, pulls: Sequence[int], sums: Sequence[float], b: int, eta: float, rng: State
) -> int:
    """The slot to pull: an untried one if the rule wants that, else the highest score or draw.

    Ties go to the first slot.
    """
    m = len(pulls)
    if rule.tries_each_first:
        for slot in range(m):
            if pulls[slot] == 0:
                return slot
    if isinstance(rule, DrawRule):
        means, tails = [0.0] * m, [0.0] * m
        known = rule.prepare(pulls, sums, m, means, tails, -1, 0, 0.0, 0.0)
        return rule.pick(pulls, sums, m, tails, *known, rng)
    t = sum(pulls)
    if isinstance(rule, LeaderRule):
        top = max(s / n for n, s in zip(pulls, sums, strict=True))
        scores = [
            rule.score(n, s, top, t, b, m, eta, rng) for n, s in zip(pulls, sums, strict=True)
        ]
    else:
        scores = [rule.score(n, s, t, b, m, eta, rng) for n, s in zip(pulls, sums, strict=True)]
    best = max(range(m), key=scores.__getitem__)
    if not scores[best] == scores[best] or not isinstance(scores[best], Real):
        raise RuleError(
            f"the rule {rule.name} gave the score {scores[best]!r} to an arm with n={pulls[best]}, "
            f"s={sums[best]:g} at t={t}: a score is a number"
        )
    return best
