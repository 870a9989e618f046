"""The common part of streaming policies: arms come up in passes, and few are stored.

They plan for T pulls on K arms, try every arm in one or more passes, then commit to one. With n
pulls of mean m for an arm, its confidence interval is m +- r, r = sqrt(c ln T / n); the constants
of the papers are those that their proofs need, and c = 0.5 is what is used in practice. Each of
`single_pass`, `mpse`, `mbse` and `game_of_coins` is a file.

**Arms that come and go.** New arms come up next, also when the passes are over; then the policy
commits again. If the stored best arm is removed, the policy starts again. If another arm in memory
is, the next one comes up in its place.

Where a description leaves a step open (an undecided duel, the arm that makes room), the arm with
the higher mean stays. More passes lower the worst case over all gaps, not the regret on each
instance: every pass pays again for arms that are plainly worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from handful.core.change import vacate
from handful.core.state import Small
from handful.policies.hand import (
    BestPolicy,
    BestState,
    HandState,
    PlannedPolicy,
    RetainingPolicy,
    check_best,
    refuse_unless_flag,
    renumber,
)
from handful.policies.schedule import FOREVER
from handful.policies.settings import PLANNED, Setting, whole_setting

PASSES = whole_setting(3.0, "passes over the arms", "B")
RADIUS = Setting(
    0.5, "confidence radius sqrt(c ln T / n)", lambda c: 0.0 < c <= 1e6, "a number c > 0"
)


class Stream(BestState):
    """The stored arm that is the best so far, and whether the passes are over."""

    over: Small


class Passes(NamedTuple):
    """Parameters: passes, confidence radius, horizon."""

    K: int
    M: int
    endless: bool
    passes: float
    c: float
    horizon: float


def fair_share(T: float, K: int) -> float:
    """Return (T/K)^(2/3): what a pass that decides all may spend on each arm."""
    return float(math.ceil(math.pow(max(1.0, T / K), 2.0 / 3.0)))


def mean_of(state: HandState, slot: int) -> float:
    """Return the mean of the arm in a slot."""
    return state.sums[slot] / state.pulls[slot]


def radius_of(state: HandState, slot: int, p: Passes) -> float:
    """Return half the width of the confidence interval of the arm in a slot."""
    return math.sqrt(p.c * math.log(p.horizon) / state.pulls[slot])


def pass_of(state: HandState, p: Passes) -> float:
    """Return the number of the pass, from 1."""
    return 1.0 + (state.tried - 1) // p.K


def pass_after_news(state: HandState, p: Passes) -> float:
    """Return the number of the pass in which the last new arm comes up."""
    return 1.0 + (state.tried + state.news - 1) // p.K


def go_on(state: Stream, arms: float) -> None:
    """Let the next arm in beside the best one; after so many arms, take the best in hand."""
    if state.tried < arms or state.news > 0:
        state.hand = 1 - state.best
        state.up_next = 1
    else:
        state.hand = state.best
        state.over = 1


def withdraw_other(state: Stream, slot: int) -> bool:
    """Let an arm other than the best leave, for the next arm to come up; False: it is the best."""
    if slot == state.best:
        return False
    # An arm that has no reward yet stays in hand.
    stays = state.hand != slot and not state.up_next and state.pulls[state.hand] == 0
    vacate(state, slot)
    if state.over:
        state.hand = state.best
    elif not stays:
        state.hand = state.held
        state.up_next = 1
    return True


def resize_stream(state: Stream, before: int, arms: float, p: Any) -> None:
    """Reopen passes that are over if there are new arms; close them if no arm is left to come."""
    renumber(state, before, p)
    if state.news > 0 and state.over:
        state.over = 0
        state.hand = state.held
        if state.held == p.M:
            state.hand = 1 if state.best == 0 else 0
            for j in range(state.held):
                if j != state.best and mean_of(state, j) < mean_of(state, state.hand):
                    state.hand = j
        state.up_next = 1
    elif state.up_next and state.news == 0 and state.tried >= arms:
        state.hand = state.best
        state.up_next = 0
        state.over = 1


def check_stream(state: Stream, p: Any) -> None:
    """Refuse a stored arm that is not in memory, and passes that are neither over nor not."""
    check_best(state, p)
    refuse_unless_flag(state.over)


class StreamPolicy(BestPolicy):
    """What these policies share: they plan for a horizon, and take any rewards."""

    needs_horizon = True
    trials = False

    @staticmethod
    def withdraw(state: Any, slot: int, p: Any) -> bool:
        """Continue without an arm that is not the best."""
        return withdraw_other(state, slot)

    @staticmethod
    def check(state: Any, p: Any) -> None:
        """Refuse a stored arm that is not in memory."""
        check_stream(state, p)


class OnePass(StreamPolicy, PlannedPolicy):
    """A policy that looks at every arm in a single pass, and stores two."""

    own_memory = 2

    @staticmethod
    def resized(state: Any, before: int, p: Any) -> bool:
        """Continue the pass, or reopen it for new arms."""
        resize_stream(state, before, p.K, p)
        return True


class SeveralPasses(StreamPolicy, RetainingPolicy):
    """A policy that eliminates arms by their confidence intervals, in B passes."""

    Parameters = Passes
    settings: ClassVar[Mapping[str, Setting]] = {
        "passes": PASSES, "c": RADIUS, "horizon": PLANNED,
    }  # fmt: skip

    @staticmethod
    def resized(state: Any, before: int, p: Any) -> bool:
        """Continue the passes, or reopen them for new arms."""
        resize_stream(state, before, p.passes * p.K, p)
        return True

    @staticmethod
    def calm(state: Stream, slot: int, p: Passes) -> tuple[int, int]:
        """Return for ever once the passes are over."""
        return (FOREVER, FOREVER) if state.over else (0, 0)
