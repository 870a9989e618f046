"""How a policy under test is made: the class, its arms, its memory and its settings."""

from __future__ import annotations

from typing import Any

from handful.policies.base import Policy

N_ARMS = 11
MEMORY = 3
HORIZON = 1000


def name_of(index: int) -> str:
    """Return a label for an arm of an endless set."""
    return f"arm {index}"


def number_of(index: int) -> int:
    """Return the index of an arm of an endless set as its label."""
    return index


def mean_of(index: int) -> float:
    """Return a true mean for each arm, for policies that a simulator gives them."""
    return (index * 7 % 11 + 1) / 12


class Make:
    """Makes new policies of one class, all alike unless changes are asked for.

    arms      arms that can be given to any number of policies, so no iterator; default: 11 labels,
              or a function for policies on endless arms
    memory    how many arms have statistics, where the class takes a number; default: 3
    settings  the policy's own; a horizon of 1000 is added where one is needed
    """

    def __init__(
        self, cls: type[Policy], arms: Any = None, memory: int | None = None, **settings: Any
    ) -> None:
        self.cls = cls
        self.arms = default_arms(cls) if arms is None else arms
        self.memory = (memory or MEMORY) if cls.takes_memory() else None
        planned = {"horizon": HORIZON} if cls.needs_horizon else {}
        self.settings = {**planned, **settings}

    def __call__(self, *, seed: int = 1, arms: Any = None, **rewards: Any) -> Policy:
        """Return a new policy; `rewards` are rescale, window and default."""
        given = self.arms if arms is None else arms
        policy = self.cls(given, self.memory, seed=seed, **rewards, **self.settings)
        policy.reveal(mean_of)
        return policy

    def restored(self, policy: Policy, *, arms: Any = None) -> Policy:
        """Return what `from_bytes` makes of the bytes of a policy."""
        twin = self.cls.from_bytes(policy.to_bytes(), self.arms if arms is None else arms)
        twin.reveal(mean_of)
        return twin

    def __str__(self) -> str:
        return getattr(self.cls, "name", self.cls.__name__)


def default_arms(cls: type[Policy]) -> Any:
    """Return arms of the kind that a class is for."""
    if cls.endless:
        return name_of
    return [name_of(index) for index in range(cls.own_arms or N_ARMS)]
