"""A policy that picks a random arm at every decision, as a baseline; it stores the last only."""

from __future__ import annotations

from handful.core.rng import uniform
from handful.core.slots import admit
from handful.policies.definition import Parameters
from handful.policies.hand import HandPolicy, HandState, bring_up, check_hand


class RandomPolicy(HandPolicy):
    """An arm at random at every decision; of endless arms, a new one each time."""

    name = "random"
    title = "Random"
    summary = "an arm at random at every decision"
    citation = "no paper: a reference that learns nothing"
    any_arms = True
    own_memory = 1
    trials = False
    news_first = False

    @staticmethod
    def propose(state: HandState, p: Parameters) -> int:
        """Put an arm at random into the only slot."""
        if p.endless:
            if state.clock > 0:
                bring_up(state, 0, p, True)
        else:
            admit(state, 0, min(p.K - 1, int(uniform(state.rng) * p.K)))
        return 0

    @staticmethod
    def news_within(state: HandState, p: Parameters) -> int | None:
        """Return None: any arm may take any number of decisions to be drawn."""
        return None

    @staticmethod
    def check(state: HandState, p: Parameters) -> None:
        """Refuse endless arms that have not come up; of a finite set, any arm can be in hand."""
        if p.endless:
            check_hand(state, p)

    @staticmethod
    def observe(state: HandState, slot: int, reward: float, p: Parameters) -> None:
        """Count the reward."""
        state.pulls[slot] += 1
        state.sums[slot] += reward
