"""Vowpal Wabbit's contextual bandit with an empty context, one workspace for each member."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import vowpalwabbit

from benchmarks.drivers.fleet_loop import K, report, resident

ARMS = list(range(K))
DICE = random.Random(3)


def make(seed: int) -> Any:
    return vowpalwabbit.Workspace(f"--cb_explore {K} --epsilon 0.1 --quiet --random_seed {seed}")


def pair(policy: Any, draw: Callable[[], float]) -> None:
    probabilities = policy.predict("| c")
    (arm,) = DICE.choices(ARMS, probabilities)
    cost = -float(draw() < 0.5)
    policy.learn(f"{arm + 1}:{cost}:{probabilities[arm]} | c")


report(
    f"Vowpal Wabbit {version('vowpalwabbit')}, epsilon", make, pair, counted=resident, members=50
)
