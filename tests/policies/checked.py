"""The policies that `test_checks` and its kin try, and the kinds of arms that they are tried on.

Policies on finite sets that take a memory bound; test_endless.py has the others.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable
from struct import calcsize
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import handful
from handful import FiniteArms
from handful.core.state import fields
from handful.policies import Policy
from tests.helpers import drive, new

CHECKED = [
    name
    for name, cls in handful.POLICIES.items()
    if not (cls.endless or cls.unbounded or cls.own_memory)
]
every_policy = pytest.mark.parametrize("name", sorted(CHECKED))


def saved_size(policy: Policy) -> int:
    """The bytes that `to_bytes` must take while no decision is in flight."""
    envelope = 4 + 1 + 1 + len(policy.name) + 4  # magic, version, length and text of the name, sum
    frame = 8 + 8 + 4 + 1  # fingerprint, number of arms, memory, whether rewards are rescaled
    settings = 8 * len(policy.settings) + (16 if policy._rescale else 0)
    flight = sum(
        calcsize(f"<{kind.code}") * (policy._state.held if kind.per_slot else 1)
        for kind in fields(type(policy._state)).values()
        if kind.of_flight
    )
    record = 1 + np.dtype(policy._state.layout(policy._state.held)).itemsize - flight
    return envelope + frame + settings + record


steady = settings(derandomize=True, deadline=None, max_examples=40)
arm_counts = st.integers(1, 40) | st.sampled_from([10**12, 2**62 - 2, 2**62 - 1])
memories = st.integers(2, 10)
seeds = st.integers(-(2**70), 2**70)


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3
    GOLD = 4


def prompt(index: int) -> str:
    return f"prompt-{index}"


KINDS: dict[str, Callable[[], Any]] = {
    "a number": lambda: 12,
    "one arm": lambda: 1,
    "two arms": lambda: 2,
    "texts": lambda: ["red", "green", "blue", "gold"],
    "a tuple of texts": lambda: ("red", "green", "blue", "gold"),
    "a dict": lambda: {"red": 1, "green": 2, "blue": 3, "gold": 4},
    "an iterator": lambda: iter(["red", "green", "blue", "gold"]),
    "a range": lambda: range(5, 29, 2),
    "integers": lambda: [10, 20, 30, 40],
    "negative numbers": lambda: [-1, -2, -3],
    "other numbers": lambda: [0.5, 2.5, 1e300],
    "tuples": lambda: [(i, "x") for i in range(6)],
    "bytes": lambda: [b"a", b"b", b"c"],
    "members of an enum": lambda: list(Colour),
    "labels of mixed kinds": lambda: [None, 0, "0", (0,), Colour.RED],
    "long texts": lambda: ["x" * 1000 + str(i) for i in range(4)],
    "an array of numbers": lambda: np.arange(7),
    "a function": lambda: FiniteArms(prompt, n=10**12),
    "arms made before": lambda: FiniteArms(["red", "green", "blue"]),
}


def finite(name: str, kind: str) -> bool:
    """An iterator is a finite set to most policies; to those for any arms it is endless."""
    return not (handful.POLICIES[name].any_arms and kind == "an iterator")


every_policy_and_kind = pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in sorted(CHECKED) for kind in KINDS if finite(name, kind)],
)


def mid_way(name: str, arms: Any, selected: bool, memory: int = 3, **settings: Any) -> Policy:
    policy = new(name, arms, memory, **settings)
    drive(policy, 47, random.Random(0))
    if selected:
        policy.select()
    return policy


selected_or_not = pytest.mark.parametrize("selected", [True, False], ids=["selected", "before"])
