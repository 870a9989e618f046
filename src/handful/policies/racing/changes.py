"""How a race continues when arms are added or removed, and when an arm comes up as a guest."""

from __future__ import annotations

from handful.core.change import vacate
from handful.core.slots import admit
from handful.policies.base import Policy
from handful.policies.racing.duels import begin_duel, break_off, look_again
from handful.policies.racing.record import (
    FRESH,
    NEW,
    NO_DUEL,
    RaceParameters,
    RaceState,
)

PATIENCE = 100
"""A new arm comes up at the latest so many decisions after the arm before it."""


def make_room(state: RaceState, target: int) -> int:
    """Return a slot for a new arm: `target` if there is one, else that of a duel, which ends."""
    if target >= 0:
        return target
    for j in range(state.held):
        if j != state.incumbent and (target < 0 or state.pulls[j] < state.pulls[target]):
            target = j
    break_off(state, target)
    return target


def best_of_memory(state: RaceState, but: int) -> int:
    """Return the slot with the highest mean, leaving out `but`; arms with rewards come first."""
    best = -1
    highest = -1.0
    for j in range(state.held):
        mean = state.sums[j] / state.pulls[j] if state.pulls[j] > 0 else -0.5
        if j != but and mean > highest:
            highest = mean
            best = j
    return best


class ComingAndGoing(Policy):
    """The part of Race that is about arms that come and go."""

    news_first = True

    @staticmethod
    def resized(state: RaceState, before: int, p: RaceParameters) -> bool:
        """Keep the number of the pass and the place in it; new arms are the next to come up."""
        passes, place = divmod(state.position, before)
        state.position = passes * p.K + min(place, p.K)
        look_again(state)
        return True

    @staticmethod
    def withdraw(state: RaceState, slot: int, p: RaceParameters) -> bool:
        """Let the arm leave; the best of the others follows an incumbent."""
        break_off(state, slot)
        if slot == state.incumbent:
            best = best_of_memory(state, slot)
            if best < 0:
                return False
            break_off(state, best)
            state.incumbent = best
            state.fallen = state.fallen_pulls = state.fallen_sum = 0.0
        look_again(state)
        vacate(state, slot)
        return True

    @staticmethod
    def adopt(state: RaceState, before: int, p: RaceParameters) -> bool:
        """Begin the first pass with the best of the arms in memory as the incumbent."""
        state.incumbent = best_of_memory(state, -1)
        state.tried = state.held
        state.excess = 1.0
        state.gained = sum(state.sums[: state.held])
        state.came = state.clock
        look_again(state)
        return True

    @staticmethod
    def admit_guest(state: RaceState, arm: int, p: RaceParameters) -> int:
        """Give the arm a free slot or that of the lowest loser, and let it challenge; else -1.

        Of endless arms, those in memory have come up in their order, so a guest does not join them.
        """
        if p.endless or state.pulls[state.incumbent] == 0:
            return -1
        slot = -1
        if state.held < p.M:
            slot = state.held
        else:
            for j in range(state.held):
                if j != state.incumbent and state.duel[j] == NO_DUEL:
                    if slot < 0 or state.sums[j] * state.pulls[slot] < (
                        state.sums[slot] * state.pulls[j]
                    ):
                        slot = j
        if slot >= 0:
            admit(state, slot, arm)
            t0 = float(max(1, state.clock + 1 - state.origin))
            begin_duel(state, slot, FRESH, t0, NEW, p)
            look_again(state)
        return slot

    @staticmethod
    def news_within(state: RaceState, p: RaceParameters) -> int | None:
        """Return `PATIENCE` decisions for each new arm."""
        return PATIENCE * state.news + 1 if state.news else 0
