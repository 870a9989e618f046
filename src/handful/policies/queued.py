"""QPM-D around IMED: late rewards queue until the policy inside asks for them.

Joulani, Gyorgy and Szepesvari, "Online learning under delayed feedback", ICML 2013. QPM-D runs a
base policy that knows nothing about delays; ours is IMED on all arms (`rules/imed.py`).

    a reward comes   it joins the queue of its arm
    a decision       the base asks for an arm; while the queue of that arm is not empty, the base is
                     given a reward from it, and asks again; the arm asked for last is pulled

So the base sees the rewards that it would see without delay, and an arm that it waits for is pulled
until a reward of it comes. Where rewards come at once this is IMED.

**Departure.** The paper's queues are first in, first out. Ours are counts of successes and of
failures, which take a fixed number of bytes: the base is given one of them at random. This has the
same distribution if the rewards of an arm are independent, of one distribution, and independent of
their delays; where means drift, the paper's queue hands over the oldest reward first. Of rewards in
(0, 1) the queue stores the number and the sum, and the base is given their mean. A queue has room
for 65,536 rewards; one that comes when the queue of its arm is full is given to the base at once.
"""

from __future__ import annotations

import math

from handful.core.rng import uniform
from handful.core.slots import credit
from handful.core.state import Counts, Floats, Ints, State
from handful.errors import StateError
from handful.policies.definition import Parameters
from handful.policies.every_arm import EveryArm
from handful.rules.imed import index

ROOM = 2**16
"""The most rewards in a queue."""


class Queues(State):
    """What the base has been given of every arm, and what waits in the arm's queue."""

    given: Ints
    """Rewards of the arm that the base has seen."""
    given_sum: Floats
    """Their sum."""
    ones: Counts
    """Rewards of 1 in the queue."""
    zeros: Counts
    """Rewards of 0 in the queue."""
    others: Counts
    """Other rewards in the queue."""
    others_sum: Floats
    """Their sum."""


def queued(state: Queues, slot: int) -> int:
    """Return the length of a queue."""
    return state.ones[slot] + state.zeros[slot] + state.others[slot]


def take(state: Queues, slot: int) -> float:
    """Take a reward out of a queue that has one, and return it."""
    n = queued(state, slot)
    place = int(uniform(state.rng) * n) if n > 1 else 0
    if place < state.ones[slot]:
        state.ones[slot] -= 1
        return 1.0
    if place < state.ones[slot] + state.zeros[slot]:
        state.zeros[slot] -= 1
        return 0.0
    left = state.others[slot] - 1
    x = state.others_sum[slot] / state.others[slot]
    state.others[slot] = left
    # Rounding must not leave a sum that no rewards have.
    state.others_sum[slot] = min(max(0.0, state.others_sum[slot] - x), float(left))
    return x


def give(state: Queues, slot: int, reward: float) -> None:
    """Give the base a reward of the arm that it has asked for."""
    state.given[slot] += 1
    state.given_sum[slot] += reward


def asked_for(state: Queues) -> int:
    """Return the slot that IMED pulls next by what it has seen."""
    top = 0.0
    for slot in range(state.held):
        if state.given[slot] == 0:
            return slot
        top = max(top, state.given_sum[slot] / state.given[slot])
    best = 0
    lowest = math.inf
    for slot in range(state.held):
        x = index(state.given[slot], state.given_sum[slot], top)
        if x < lowest:
            lowest = x
            best = slot
    return best


class QPMD(EveryArm):
    """IMED on all arms, given late rewards from queues."""

    name = "qpm-d"
    title = "QPM-D"
    summary = "IMED on all arms, which is given late rewards when it asks for their arm"
    citation = "Joulani, Gyorgy and Szepesvari, ICML 2013; Honda and Takemura, JMLR 16, 2015"
    State = Queues

    @staticmethod
    def propose(state: Queues, p: Parameters) -> int:
        """Give the base what it asks for, and return the slot that it waits for."""
        slot = asked_for(state)
        while queued(state, slot) > 0:
            give(state, slot, take(state, slot))
            slot = asked_for(state)
        return slot

    @staticmethod
    def observe(state: Queues, slot: int, reward: float, p: Parameters) -> None:
        """Put the reward in the queue of its arm."""
        credit(state, slot, reward)
        if queued(state, slot) >= ROOM:
            give(state, slot, reward)
        elif reward == 1.0:
            state.ones[slot] += 1
        elif reward == 0.0:
            state.zeros[slot] += 1
        else:
            state.others[slot] += 1
            state.others_sum[slot] += reward

    @staticmethod
    def check(state: Queues, p: Parameters) -> None:
        """Refuse queues that do not have the rewards which the base has not seen."""
        EveryArm.check(state, p)
        for slot in range(state.held):
            n, waiting = state.given[slot], queued(state, slot)
            counts = (state.ones[slot], state.zeros[slot], state.others[slot], n)
            possible = (
                min(counts) >= 0
                and waiting <= ROOM
                and n + waiting == state.pulls[slot]
                and 0.0 <= state.given_sum[slot] <= n
                and 0.0 <= state.others_sum[slot] <= state.others[slot]
            )
            if not possible:
                raise StateError(f"the saved queue of slot {slot} is not possible")

    @staticmethod
    def place(state: Queues, p: Parameters) -> str:
        """Return how many rewards are in the queues."""
        return f"{sum(queued(state, slot) for slot in range(state.held))} rewards in queues"
