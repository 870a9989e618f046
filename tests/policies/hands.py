"""Ways to make and drive policies with one arm in hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import handful
from handful.policies import POLICIES, Policy
from handful.policies.hand import HandPolicy

Coin: TypeAlias = Callable[[int], float]
Twin: TypeAlias = Callable[[Coin], Iterator[int]]

HANDS = {name: cls for name, cls in POLICIES.items() if issubclass(cls, HandPolicy)}
NAMES = list(HANDS)
T = 400


def arms_of(name: str) -> Any:
    """Arms that the policy is for."""
    cls = HANDS[name]
    return (lambda i: i) if cls.endless else (cls.own_arms or 9)


def mean_of(arm: int) -> float:
    """A true mean, for policies that are given it."""
    return random.Random(arm).random()


def made(name: str, seed: int = 1, **given: Any) -> HandPolicy:
    """A policy by name, with a horizon and the means of arms where it needs them."""
    if "horizon" in HANDS[name].settings:
        given.setdefault("horizon", T)
    if HANDS[name].takes_memory():
        given.setdefault("memory", 3)
    policy = HANDS[name](arms_of(name), seed=seed, **given)
    policy.reveal(mean_of)
    return policy


def restored(policy: Policy) -> HandPolicy:
    """The policy saved and loaded."""
    twin = handful.from_bytes(policy.to_bytes(), arms=arms_of(policy.name))
    assert isinstance(twin, HandPolicy)
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
