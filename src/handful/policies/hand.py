"""Policies with one arm in hand: pull it until the rewards say which slot to pull instead.

Many bounded-memory rules of the literature use the arm in hand and a few counters to decide whether
to pull this arm again, to return to a stored arm, or to take the next one. `observe` sets `hand`,
the slot to pull, and `up_next` if a new arm should enter it first; `propose` brings it in.

Arms come up in the shuffled order, the first one again after the last; endless arms in the order of
their index. Arms that were added come up first. When arms are added or removed, the order changes
too: in that pass over the arms, some may come up twice and others not at all. A policy of which an
arm in memory is removed starts again, unless its file says otherwise.

Most of these rules are made for successes and failures, so a reward in (0, 1) counts as a Bernoulli
trial (`toss`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from handful.core.shuffle import arm_at
from handful.core.slots import admit, credit, slot_of
from handful.core.state import Int, Slot, Small, State
from handful.errors import StateError
from handful.policies.base import Policy
from handful.policies.definition import place_in_passes
from handful.policies.settings import PLANNED, Setting
from handful.rules.base import trial


class HandState(State):
    """The record of a policy with one arm in hand."""

    hand: Slot
    """The slot to pull."""
    tried: Int
    """How many arms have come up."""
    up_next: Small
    """1 if the next arm should enter the slot in hand before the next pull."""


class BestState(HandState):
    """A record that stores the best arm so far besides the one in hand."""

    best: Slot


class WithHorizon(NamedTuple):
    """Parameters of policies that are given the horizon."""

    K: int
    M: int
    endless: bool
    horizon: float


def bring_up(state: HandState, slot: int, p: Any, refresh: bool) -> int:
    """Put the next arm into a slot and return the slot that it has.

    An arm that is in memory already stays in its slot, with its statistics unless `refresh`.
    """
    arm = state.tried % p.K
    if state.news > 0:
        arm = p.K - state.news
        state.news -= 1
    elif not p.endless:
        arm = arm_at(arm, p.K, state.key)
    state.tried += 1
    at = slot_of(state, arm)
    if at >= 0:
        if not refresh:
            return at
        slot = at
    admit(state, slot, arm)
    return slot


def renumber(state: HandState, before: int, p: Any) -> None:
    """Keep the number of the pass and the place in it after arms were removed."""
    if before > p.K:
        passes, place = divmod(state.tried, before)
        state.tried = passes * p.K + min(place, p.K)


def toss(state: State, slot: int, reward: float) -> bool:
    """Credit a reward as a Bernoulli trial; return whether it was a success."""
    success = trial(reward, state.rng) > 0.0
    credit(state, slot, 1.0 if success else 0.0)
    return success


class HandPolicy(Policy):
    """A policy with one arm in hand. A subclass defines `observe`."""

    State = HandState
    trials = True
    news_first = True
    _state: HandState

    @staticmethod
    def start(state: Any, p: Any) -> None:
        """Take the first arm in hand."""
        bring_up(state, 0, p, True)

    @staticmethod
    def propose(state: HandState, p: Any) -> int:
        """Return the slot in hand, with the next arm in it if it is due."""
        if state.up_next:
            state.up_next = 0
            state.hand = bring_up(state, state.hand, p, True)
        return state.hand

    @staticmethod
    def resized(state: Any, before: int, p: Any) -> bool:
        """Continue with the arm in hand; new arms are the next to come up."""
        renumber(state, before, p)
        return True

    @staticmethod
    def news_within(state: Any, p: Any) -> int | None:
        """Return None if there are new arms: they come up when the rule drops the arm in hand."""
        return None if state.news else 0

    @staticmethod
    def recommend_arm(state: Any, p: Any) -> int:
        """Return the arm in hand, or the first in memory if its slot is still empty."""
        return int(state.arm[state.hand if state.hand < state.held else 0])

    @staticmethod
    def check(state: Any, p: Any) -> None:
        """Refuse a record whose arm in hand, or place in the order, cannot be."""
        check_hand(state, p)

    @staticmethod
    def place(state: Any, p: Any) -> str:
        """Return how many arms have come up, or where in which pass over them."""
        return place_in_passes(state.tried, p.K, p.endless)


class RetainingPolicy(HandPolicy):
    """A policy with one arm in hand in which an arm that comes up again keeps its statistics."""

    trials = False

    @staticmethod
    def propose(state: HandState, p: Any) -> int:
        """Return the slot in hand, with the next arm in it, or the slot that this arm has."""
        if state.up_next:
            state.up_next = 0
            state.hand = bring_up(state, state.hand, p, False)
        return state.hand


class PlannedPolicy(HandPolicy):
    """A policy with one arm in hand whose only setting is the horizon that it plans for."""

    needs_horizon = True
    Parameters = WithHorizon
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": PLANNED}


class BestPolicy(HandPolicy):
    """A policy with one arm in hand that recommends the best arm so far, which it stores."""

    State = BestState

    @staticmethod
    def recommend_arm(state: BestState, p: Any) -> int:
        """Return the stored arm."""
        return state.arm[state.best]

    @staticmethod
    def check(state: Any, p: Any) -> None:
        """Refuse a stored arm that is not in memory."""
        check_best(state, p)


def check_hand(state: HandState, p: Any) -> None:
    """Refuse a record whose place in the order or slot in hand cannot be."""
    refuse_unless_flag(state.up_next)
    if not state.held <= state.tried <= state.clock + state.held:
        raise StateError("the saved policy has tried an impossible number of arms")
    if p.endless and max(state.arm) >= state.tried:
        raise StateError("the saved policy has an arm in memory that has not come up")
    if state.hand >= (p.M if state.up_next else state.held):
        raise StateError("the saved policy has a slot in hand that its memory does not have")
    for slot in range(state.held):
        if state.pulls[slot] == 0 and (slot != state.hand or state.up_next):
            raise StateError(f"the saved policy has an arm without a reward in slot {slot}")


def check_filled(state: HandState, p: Any) -> None:
    """Refuse a record with free slots although enough arms have come up to fill them.

    Of a finite set, some of these arms may have been removed.
    """
    most = min(p.M, p.K, state.tried)
    if state.held > most or (p.endless and state.held < most):
        raise StateError("the saved memory does not hold the arms that have come up")


def check_best(state: BestState, p: Any) -> None:
    """Refuse a record with free slots, or with a stored arm that is not in memory."""
    check_hand(state, p)
    check_filled(state, p)
    if state.best >= state.held:
        raise StateError("the saved policy has stored an arm that its memory does not have")


def refuse_unless_flag(*flags: int) -> None:
    """Refuse a flag that is neither 0 nor 1."""
    if any(flag not in (0, 1) for flag in flags):
        raise StateError("the saved policy has a flag that is neither set nor unset")


def refuse_unless_counted(state: HandState, *counts: float) -> None:
    """Refuse a count of rewards that is negative or more than there were."""
    if any(not 0 <= count <= state.rewards for count in counts):
        raise StateError("the saved policy has counted rewards that did not come")
