"""Thompson sampling that forgets old rewards: references for means that drift.

    score = X ~ Beta(1 + S, 1 + F), independent for each arm

S and F are the arm's successes and failures, and old ones count less or not at all:

    discounted      when a reward comes, S and F of every arm are first multiplied by the discount;
                    Raj and Kalyani, "Taming non-stationary bandits: a Bayesian approach",
                    arXiv 1707.09727, 2017
    sliding window  only the last `recent` rewards of all arms count; Trovo, Paladino, Restelli and
                    Gatti, "Sliding-window Thompson sampling for non-stationary settings",
                    Journal of Artificial Intelligence Research 68, 2020

A reward in (0, 1) is credited as a Bernoulli trial (`rules/thompson.py`). The papers count pulls.
Where rewards come late or never, these policies count the rewards that have come, so nothing is
forgotten while nothing is learnt. The recommended arm is the one with the most rewards, old ones
counted as above. The defaults are ours: the papers derive the discount and the window from how
often means change, which the user may know and the library does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from handful.core.rng import beta_from_one
from handful.core.slots import credit, extend
from handful.core.state import (
    Count,
    Counts,
    Floats,
    HistoryCounts,
    HistorySmalls,
    State,
    WithHistory,
)
from handful.errors import StateError
from handful.policies.every_arm import EveryArm
from handful.policies.settings import Setting
from handful.rules.base import trial

MOST_RECENT = 2**24
"""The longest sliding window."""


class Discounted(State):
    """Discounted successes and failures of every arm."""

    wins: Floats
    """S."""
    losses: Floats
    """F."""


class SlidingWindow(WithHistory):
    """The last rewards, a ring, and how many each arm has of them."""

    oldest: Count
    """The entry of the oldest reward, which the next one replaces once the ring is full."""
    wins: Counts
    """S."""
    losses: Counts
    """F."""
    slot_then: HistoryCounts
    """The slot of the arm that a reward is of."""
    won: HistorySmalls
    """1 if it was a success."""


class Discount(NamedTuple):
    """Parameters: the discount."""

    K: int
    M: int
    endless: bool
    discount: float


class Window(NamedTuple):
    """Parameters: how many rewards count."""

    K: int
    M: int
    endless: bool
    recent: float


def best_draw(state: Any) -> int:
    """Return the slot with the highest draw from its posterior; ties go to the first."""
    best = 0
    highest = -math.inf
    for slot in range(state.held):
        x = beta_from_one(1.0 + state.wins[slot], 1.0 + state.losses[slot], state.rng)
        if x > highest:
            highest = x
            best = slot
    return best


def most_rewards(state: Any) -> int:
    """Return the slot with the largest S + F; ties go to the first."""
    best = 0
    for slot in range(1, state.held):
        if state.wins[slot] + state.losses[slot] > state.wins[best] + state.losses[best]:
            best = slot
    return best


class ForgettingPolicy(EveryArm):
    """Thompson sampling by S and F."""

    @staticmethod
    def propose(state: Any, p: Any) -> int:
        """Return the slot with the highest draw."""
        return best_draw(state)

    @staticmethod
    def recommend_arm(state: Any, p: Any) -> int:
        """Return the arm with the largest S + F."""
        return int(state.arm[most_rewards(state)])


class DiscountedThompson(ForgettingPolicy):
    """Thompson sampling in which every reward makes the earlier ones count less."""

    name = "discounted-ts"
    title = "Discounted Thompson"
    summary = "Thompson sampling on all arms; each reward counts less with every later one"
    citation = "Raj and Kalyani, arXiv 1707.09727, 2017"
    State = Discounted
    Parameters = Discount
    settings: ClassVar[Mapping[str, Setting]] = {
        "discount": Setting(
            0.9999, "the factor by which every new reward multiplies earlier ones",
            lambda x: 0.0 < x <= 1.0, "a number above 0 and up to 1",
        )
    }  # fmt: skip

    @staticmethod
    def observe(state: Discounted, slot: int, reward: float, p: Discount) -> None:
        """Discount all earlier rewards, and count this one."""
        x = trial(reward, state.rng)
        credit(state, slot, x)
        for j in range(state.held):
            state.wins[j] *= p.discount
            state.losses[j] *= p.discount
        state.wins[slot] += x
        state.losses[slot] += 1.0 - x

    @staticmethod
    def check(state: Discounted, p: Discount) -> None:
        """Refuse more successes or failures than there were."""
        EveryArm.check(state, p)
        for slot in range(state.held):
            won, lost = state.wins[slot], state.losses[slot]
            most = state.sums[slot]
            if not (0.0 <= won <= most and 0.0 <= lost <= state.pulls[slot] - most):
                raise StateError(f"the saved arm in slot {slot} cannot have S={won} and F={lost}")


class SlidingWindowThompson(ForgettingPolicy):
    """Thompson sampling by the last rewards of all arms together.

    If arms are added or removed, it starts again.
    """

    name = "sliding-window-ts"
    title = "Sliding-window Thompson"
    summary = "Thompson sampling on all arms, by the last rewards only"
    citation = "Trovo, Paladino, Restelli and Gatti, JAIR 68, 2020"
    State = SlidingWindow
    Parameters = Window
    settings: ClassVar[Mapping[str, Setting]] = {
        "recent": Setting(
            5000, "the number of latest rewards, of all arms together, that count",
            lambda x: 1 <= x <= MOST_RECENT and x == int(x),
            f"an integer from 1 to {MOST_RECENT}",
        )
    }  # fmt: skip

    @classmethod
    def entries_for(cls, slots: int, horizon: int, values: dict[str, float]) -> int:
        """Return the length of the ring."""
        return int(min(horizon, values["recent"]))

    @staticmethod
    def observe(state: SlidingWindow, slot: int, reward: float, p: Window) -> None:
        """Count the reward, and the oldest in the ring no more if it is full."""
        x = trial(reward, state.rng)
        credit(state, slot, x)
        won = 1 if x > 0.0 else 0
        entry = state.entries
        if entry < p.recent:
            extend(state, entry + 1)
        else:
            entry = state.oldest
            state.oldest = entry + 1 if entry + 1 < state.entries else 0
            then = state.slot_then[entry]
            state.wins[then] -= state.won[entry]
            state.losses[then] -= 1 - state.won[entry]
        state.slot_then[entry] = slot
        state.won[entry] = won
        state.wins[slot] += won
        state.losses[slot] += 1 - won

    @staticmethod
    def withdraw(state: SlidingWindow, slot: int, p: Window) -> bool:
        """Start again: rewards of the arm are among the last ones."""
        return False

    @staticmethod
    def resized(state: SlidingWindow, before: int, p: Window) -> bool:
        """Start again."""
        return False

    @staticmethod
    def check(state: SlidingWindow, p: Window) -> None:
        """Refuse a ring that contradicts itself or the counts."""
        EveryArm.check(state, p)
        n = state.entries
        if not (n == min(sum(state.pulls), p.recent) and 0 <= state.oldest < max(1, n)):
            raise StateError(f"the saved policy cannot have a ring of {n} rewards")
        if n < p.recent and state.oldest != 0:
            raise StateError("the saved ring has an oldest reward before it is full")
        wins, losses = [0] * state.held, [0] * state.held
        for slot, won in zip(state.slot_then[:n], state.won, strict=False):
            if not (0 <= slot < state.held and won in (0, 1)):
                raise StateError(f"the saved ring cannot have the reward {won} of slot {slot}")
            wins[slot] += won
            losses[slot] += 1 - won
        if [wins, losses] != [state.wins[: state.held], state.losses[: state.held]]:
            raise StateError("the saved ring has other rewards than its arms")
