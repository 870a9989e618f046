"""river: its `evaluate` on an environment, and the loop of pulls and updates of its pages."""

from __future__ import annotations

import random
from typing import Any

import gymnasium as gym
from river import bandit

from benchmarks.drivers.job import MEANS, K, report


class Bernoulli:
    """Ten arms as a Gymnasium environment, bare: `gym.make` would wrap it and slow it down."""

    def __init__(self, pulls: int) -> None:
        self.action_space = gym.spaces.Discrete(K)
        self.observation_space = gym.spaces.Discrete(1)
        self.left = pulls

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        """Start over."""
        self.rng = random.Random(seed)
        return 0, {}

    def step(self, arm: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """A reward; the end when no pull is left."""
        self.left -= 1
        return 0, float(self.rng.random() < MEANS[arm]), False, self.left == 0, {}


def evaluate(pulls: int) -> float:
    policies: list[bandit.base.Policy] = [bandit.UCB(delta=1, seed=1)]
    env: Any = Bernoulli(pulls)
    trace = bandit.evaluate(policies=policies, env=env, n_episodes=1, seed=1)
    return float(sum(step["reward"] for step in trace))


def loop(pulls: int) -> float:
    draw = random.Random(1).random
    policy: Any = bandit.UCB(delta=1, seed=1)
    arms = range(K)
    total = 0.0
    for _ in range(pulls):
        arm = policy.pull(arms)
        reward = 1.0 if draw() < MEANS[arm] else 0.0
        policy.update(arm, reward)
        total += reward
    return total


report("river", {"evaluate": evaluate, "loop": loop})
