"""Ways to make and drive policies that are automata."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import handful
from handful.policies import POLICIES, Policy
from handful.policies.automaton import AutomatonPolicy

Coin: TypeAlias = Callable[[int], float]
Twin: TypeAlias = Callable[[Coin], Iterator[int]]

AUTOMATA = {name: cls for name, cls in POLICIES.items() if issubclass(cls, AutomatonPolicy)}
NAMES = list(AUTOMATA)
T = 400


def arms_of(name: str) -> Any:
    """Arms that the policy is for."""
    cls = AUTOMATA[name]
    return (lambda i: i) if cls.endless else (cls.own_arms or 9)


def mean_of(arm: int) -> float:
    """A true mean, as far as a clairvoyant policy is told."""
    return random.Random(arm).random()


def made(name: str, seed: int = 1, **given: Any) -> AutomatonPolicy:
    """A policy by name, told a horizon and the means of arms if it asks for them."""
    if "horizon" in AUTOMATA[name].settings:
        given.setdefault("horizon", T)
    if AUTOMATA[name].takes_memory():
        given.setdefault("memory", 3)
    policy = AUTOMATA[name](arms_of(name), seed=seed, **given)
    policy.reveal(mean_of)
    return policy


def restored(policy: Policy) -> AutomatonPolicy:
    """The policy saved and loaded."""
    twin = handful.from_bytes(policy.to_bytes(), arms=arms_of(policy.name))
    assert isinstance(twin, AutomatonPolicy)
    twin.reveal(mean_of)
    return twin


def coins(seed: int) -> Coin:
    """Coins of an endless row of arms, each with a mean of its own."""
    flips = random.Random(seed)
    means: dict[int, float] = {}

    def flip(arm: int) -> float:
        if arm not in means:
            means[arm] = random.Random(1000 * seed + arm).choice([0.5, 0.9, 0.97])
        return float(flips.random() < means[arm])

    return flip


def assert_follows(policy: Policy, twin: Twin, rewards: Callable[[], Coin], pulls: int) -> None:
    """The policy makes the choices of a plain program, which asks for rewards as it goes."""
    ours = rewards()
    expected = twin(rewards())
    for t in range(pulls):
        arm = policy.select()
        assert arm == next(expected), t
        policy.update(arm, ours(arm))
