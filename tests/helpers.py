"""What several test files use: refusals, rewards, and ways to drive a policy."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple

import pytest

import handful
from handful.core.shuffle import Shuffle
from handful.errors import HandfulError
from handful.policies import Policy


@contextmanager
def refused(error: type[HandfulError], builtin: type[Exception], *mentions: str) -> Iterator[None]:
    """The body raises this error, which is also that builtin and says all of that."""
    with pytest.raises(error) as caught:
        yield
    assert isinstance(caught.value, HandfulError)
    assert isinstance(caught.value, builtin)
    for mention in mentions:
        assert mention in str(caught.value)


@contextmanager
def untouched(policy: Policy) -> Iterator[None]:
    """The body leaves the policy's state bit for bit as it was."""
    before = policy.to_bytes()
    yield
    assert policy.to_bytes() == before


def drive(policy: Policy, pulls: int, rewards: random.Random) -> list[Any]:
    """The arms that the policy selects, given random rewards."""
    choices = []
    for _ in range(pulls):
        arm = policy.select()
        policy.update(arm, random_reward(rewards))
        choices.append(arm)
    return choices


def random_reward(rewards: random.Random) -> float:
    """Often 0 or 1, else anything between."""
    return rewards.choice((0.0, 1.0, rewards.random()))


class Stay(NamedTuple):
    """What was seen while the memory held the same slots."""

    arms: list[Any]
    choices: list[Any]

    @property
    def most_played(self) -> Any:
        return max(self.arms, key=self.choices.count)


def stays(policy: Policy, pulls: int, rewards: random.Random) -> list[Stay]:
    """Drive a policy and cut its choices where the memory was filled anew."""
    seen = []
    for _ in range(pulls):
        choice = policy.select()
        born = tuple(policy._state.born[: policy._state.held])
        arms = policy.arms_in_memory
        assert drive(policy, 1, rewards) == [choice]
        seen.append((born, arms, choice))
    return [
        Stay(steps[0][1], [choice for _, _, choice in steps])
        for steps in (list(group) for _, group in groupby(seen, key=lambda step: step[0]))
    ]


def tape(K: int, seed: int, coins: bool = True) -> Callable[[int, int], float]:
    """`reward(t, arm)`, a function of the two alone: coins of all means, or any numbers."""

    def reward(t: int, arm: int) -> float:
        u = random.Random(seed * 1_000_003 + t * 10_007 + arm).random()
        return float(u < (arm + 1) / (K + 1)) if coins else u

    return reward


def choices_on(policy: Policy, pulls: int, reward: Callable[[int, int], float]) -> list[int]:
    """The arms, numbered, that a policy selects on a tape."""
    choices = []
    for t in range(pulls):
        arm = policy.select()
        policy.update(arm, reward(t, arm))
        choices.append(arm)
    return choices


def order_of(policy: Policy) -> list[int]:
    """The arms of a finite set in the order in which a policy meets them."""
    shuffle = Shuffle.of(policy.n_arms, policy._state.key)
    return [shuffle.arm_at(position) for position in range(policy.n_arms)]


def plan(name: Any) -> dict[str, Any]:
    """The horizon, for a policy that needs one."""
    known = handful.POLICIES.get(name) if isinstance(name, str) else None
    return {"horizon": 1000} if getattr(known, "needs_horizon", False) else {}


def new(name: str, arms: Any, memory: int, **settings: Any) -> Policy:
    """A policy by name, with a seed and a plan of its own unless they are given."""
    return handful.policy(name, arms=arms, memory=memory, **{"seed": 1, **plan(name), **settings})
