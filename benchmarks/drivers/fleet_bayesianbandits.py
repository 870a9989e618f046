"""bayesianbandits' Thompson sampling, one agent for each member."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from bayesianbandits import Agent, Arm, DirichletClassifier, ThompsonSampling

from benchmarks.drivers.fleet_loop import K, report

REWARDS = np.array([0.0]), np.array([1.0])


def won(probabilities: Any) -> Any:
    """The reward of a draw: the probability of a 1."""
    return probabilities[..., 1]


def make(seed: int) -> Any:
    arms = [Arm(i, won, DirichletClassifier({0.0: 1.0, 1.0: 1.0})) for i in range(K)]
    return Agent(arms, ThompsonSampling(), random_seed=seed)


def pair(policy: Any, draw: Callable[[], float]) -> None:
    policy.pull()
    policy.update(REWARDS[draw() < 0.5])


report(
    f"bayesianbandits {version('bayesianbandits')}, Thompson", make, pair, members=100, pairs=1000
)
