"""Ways to drive a policy in checks: random rewards, plain play, mixed load, with fixed seeds."""

from __future__ import annotations

import random
from typing import Any

from handful.policies.base import Policy
from handful.testing.make import Make

STEPS = 200
"""How many decisions a check makes, unless it says otherwise."""


def reward_from(rng: random.Random) -> float:
    """Return a reward: often 0 or 1, else any number between."""
    return rng.choice((0.0, 1.0, rng.random()))


def play(policy: Policy, steps: int, seed: int = 0) -> list[Any]:
    """Return the arms that a policy selects, given random rewards."""
    rng = random.Random(seed)
    chosen = []
    for _ in range(steps):
        arm = policy.select()
        policy.update(arm, reward_from(rng))
        chosen.append(arm)
    return chosen


class MixedLoad:
    """A mixed load: decisions by ticket and by `select`, rewards late, lost, doubled, unknown.

    What is done depends on the seed alone, so two policies that are alike see the same.
    """

    def __init__(self, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.tickets: list[int] = []

    def step(self, policy: Policy) -> Any:
        """Do one thing to a policy, and return what it answered."""
        rng = self.rng
        action, value = rng.random(), reward_from(rng)
        place = rng.randrange(len(self.tickets)) if self.tickets else 0
        if action < 0.3:
            decision = policy.decide()
            self.tickets.append(decision.ticket)
            return decision
        if action < 0.6 and self.tickets:
            return policy.reward(self.tickets.pop(place), value)
        if action < 0.65 and self.tickets:
            return policy.reward(self.tickets[place], value)
        if action < 0.67 and self.tickets:
            return self.tickets.pop(place)
        if action < 0.7:
            return policy.reward(rng.getrandbits(40), value)
        if action < 0.8:
            return policy.select()
        arm = policy.select()
        policy.update(arm, value)
        return arm


def busy(make: Make, steps: int = STEPS, seed: int = 0) -> Policy:
    """Return a policy in the middle of its work, with open decisions and a pending one."""
    policy = make()
    load = MixedLoad(seed)
    for _ in range(steps):
        load.step(policy)
    policy.decide()
    policy.select()
    return policy
