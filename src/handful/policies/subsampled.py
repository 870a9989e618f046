"""Subsampled greedy: the best mean among about sqrt(T) arms at random. No exploration beyond that.

Bayati, Hamidi, Johari and Khosravi, "Unreasonable effectiveness of greedy algorithms in multi-armed
bandit with many arms", NeurIPS 2020, for T planned pulls:

    m = min(K, ceil(sqrt(T)))   arms at random; of endless arms, the first m
    first                       each of them once
    then                        the one with the highest mean

sqrt(T) suits rewards of 0 and 1 and uniform means; for Gaussian rewards the authors take T^(2/3).
In a tie, the arm that was pulled last is pulled again. An arm whose first reward is on its way has
no mean yet, and is not pulled again before that reward has come or is written off. If arms are
added or removed, the policy starts again on other arms at random.

The best of the other means is stored, so that a decision takes a look at one arm only as long as
the arm with the highest mean is not overtaken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from handful.core.shuffle import arm_at
from handful.core.slots import admit, credit
from handful.core.state import Float, Slot, Small, State
from handful.errors import StateError
from handful.policies.base import Policy
from handful.policies.definition import UNBOUNDED
from handful.policies.hand import WithHorizon
from handful.policies.schedule import FOREVER
from handful.policies.settings import PLANNED, Setting

NOBODY = -1.0
"""The mean of the best rival, where there is none."""


class Leader(State):
    """Who has the highest mean, and the highest mean of the others."""

    leader: Slot
    rival: Float
    stale: Small
    """1 if both must be found anew."""


def sample_size(K: int, T: float) -> int:
    """Return m."""
    return int(min(K, math.ceil(math.sqrt(T)), UNBOUNDED))


def arm_in(slot: int, state: State, p: Any) -> int:
    """Return the arm that a slot is for."""
    return slot if p.endless else arm_at(slot, p.K, state.key)


def untried(state: State, slot: int) -> bool:
    """Return whether no reward of an arm has come, and none is on its way."""
    return state.pulls[slot] + state.in_flight[slot] == 0


def look(state: Leader) -> None:
    """Find the leader and its best rival; before the means, arms whose first reward was lost."""
    state.stale = 0
    state.rival = NOBODY
    best = -1
    top = NOBODY
    fewest = 0
    for slot in range(state.held):
        if state.pulls[slot] > 0:
            x = state.sums[slot] / state.pulls[slot]
            if x > top:
                state.rival = top
                top = x
                best = slot
            elif x > state.rival:
                state.rival = x
        elif state.in_flight[slot] == 0:
            state.leader = slot
            state.stale = 1
            return
        if state.in_flight[slot] < state.in_flight[fewest]:
            fewest = slot
    state.leader = best
    if best < 0:
        state.leader = fewest
        state.stale = 1


class SubsampledGreedy(Policy):
    """The best mean among about sqrt(T) arms at random."""

    name = "subsampled-greedy"
    title = "Subsampled greedy"
    summary = "the highest mean among sqrt(T) arms at random, each tried once"
    citation = "Bayati, Hamidi, Johari and Khosravi, NeurIPS 2020"
    any_arms = True
    unbounded = True
    needs_horizon = True
    State = Leader
    Parameters = WithHorizon
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": PLANNED}

    @classmethod
    def slots_for(cls, horizon: int, values: dict[str, float]) -> int:
        """Return m."""
        return sample_size(UNBOUNDED, values["horizon"])

    @staticmethod
    def start(state: Leader, p: WithHorizon) -> None:
        """Take the first arm."""
        admit(state, 0, arm_in(0, state, p))
        state.stale = 1

    @staticmethod
    def propose(state: Leader, p: WithHorizon) -> int:
        """Return the slot of the next arm of the sample, or of the highest mean."""
        last = state.held - 1
        if untried(state, last):
            return last
        if state.held < sample_size(p.K, p.horizon):
            state.stale = 1
            admit(state, last + 1, arm_in(last + 1, state, p))
            return last + 1
        if not state.stale:
            mean = state.sums[state.leader] / state.pulls[state.leader]
            state.stale = 1 if mean < state.rival else 0
        if state.stale:
            look(state)
        return state.leader

    @staticmethod
    def observe(state: Leader, slot: int, reward: float, p: WithHorizon) -> None:
        """Count the reward."""
        credit(state, slot, reward)
        if slot != state.leader:
            state.stale = 1

    @staticmethod
    def waited(state: Leader, p: WithHorizon) -> None:
        """Look at all arms again: the first reward of one may have been written off."""
        state.stale = 1

    @staticmethod
    def calm(state: Leader, slot: int, p: WithHorizon) -> tuple[int, int]:
        """Return how many failures leave the leader ahead; any number of successes does."""
        if state.stale or slot != state.leader:
            return 0, 0
        if state.rival <= 0.0:
            return FOREVER, FOREVER
        most = min(state.sums[slot] / state.rival, float(FOREVER)) - state.pulls[slot]
        return int(max(0.0, most - 1.0)), FOREVER

    @staticmethod
    def check(state: Leader, p: WithHorizon) -> None:
        """Refuse other arms than those of the sample, and a leader without rewards."""
        if state.held > sample_size(p.K, p.horizon):
            raise StateError(f"the saved policy has {state.held} arms, more than it takes")
        if any(state.arm[slot] != arm_in(slot, state, p) for slot in range(state.held)):
            raise StateError("the saved memory does not hold the arms of the saved sample")
        ready = state.leader < state.held and (state.stale == 1 or state.pulls[state.leader] > 0)
        if state.stale not in (0, 1) or not ready:
            raise StateError(f"the saved policy cannot have its leader in slot {state.leader}")

    @staticmethod
    def recommend_arm(state: Leader, p: WithHorizon) -> int:
        """Return the arm with the highest mean; ties go to the one with more rewards."""
        best = 0
        for slot in range(1, state.held):
            n, n0 = max(1, state.pulls[slot]), max(1, state.pulls[best])
            x, x0 = state.sums[slot] / n, state.sums[best] / n0
            if x > x0 or (x == x0 and state.pulls[slot] > state.pulls[best]):
                best = slot
        return int(state.arm[best])
