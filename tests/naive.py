"""Slow, obvious twins, written from the textbooks and from ALGORITHMS.md, not from the package.

They take the arms as a list in the order in which they are looked at, and `reward(t, arm)`, the
reward that arm gives at pull t = 0, 1, ...
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

Reward = Callable[[int, int], float]
Score = Callable[[float, int, int, int, int], float]
"""An arm's score from its mean, its pulls n, the time t, the budget b, the arms in memory m."""


def ucb1_score(eta: float) -> Score:
    def score(mean: float, n: int, t: int, b: int, m: int) -> float:
        return mean + eta * math.sqrt(2 * math.log(t) / n)

    return score


def moss_score(mean: float, n: int, t: int, b: int, m: int) -> float:
    return mean + math.sqrt(max(math.log(b / (m * n)), 0) / n)


class Table:
    """Rewards of a few arms, as a list of all of them."""

    def __init__(self, arms: Sequence[int]) -> None:
        self.rewards: dict[int, list[float]] = {arm: [] for arm in arms}

    def pulls(self, arm: int) -> int:
        return len(self.rewards[arm])

    def mean(self, arm: int) -> float:
        total = 0.0
        for reward in self.rewards[arm]:
            total += reward
        return total / self.pulls(arm)

    def next_arm(self, score: Score, b: int) -> int:
        for arm, rewards in self.rewards.items():
            if not rewards:
                return arm
        t = sum(len(rewards) for rewards in self.rewards.values())
        m = len(self.rewards)
        scores = {arm: score(self.mean(arm), self.pulls(arm), t, b, m) for arm in self.rewards}
        highest = max(scores.values())
        return next(arm for arm in self.rewards if scores[arm] == highest)

    def most_played(self) -> int:
        most = max(len(rewards) for rewards in self.rewards.values())
        return next(arm for arm in self.rewards if self.pulls(arm) == most)


class Play(NamedTuple):
    choices: list[int]
    """The arm of each pull."""
    memories: list[list[int]]
    """The arms in memory in each sub-phase, the incumbent first."""


def ucb1(arms: Sequence[int], T: int, reward: Reward, eta: float = 1.0) -> list[int]:
    """Auer, Cesa-Bianchi and Fischer 2002: each arm once, then the highest upper bound."""
    table = Table(arms)
    choices = []
    for t in range(T):
        arm = table.next_arm(ucb1_score(eta), b=T)
        table.rewards[arm].append(reward(t, arm))
        choices.append(arm)
    return choices


def moss(arms: Sequence[int], T: int, reward: Reward, horizon: int | None = None) -> list[int]:
    """Audibert and Bubeck 2009 for a horizon; without one, the time so far stands in for it."""
    table = Table(arms)
    choices = []
    for t in range(T):
        arm = table.next_arm(moss_score, b=max(1, t) if horizon is None else horizon)
        table.rewards[arm].append(reward(t, arm))
        choices.append(arm)
    return choices


def algorithm_1(arms: Sequence[int], M: int, T: int, score: Score, reward: Reward) -> Play:
    """The paper's Algorithm 1 for M < K, as ALGORITHMS.md section 1 states it."""
    choices: list[int] = []
    memories: list[list[int]] = []
    incumbent = arms[0]
    b = M * (M + 2)
    while True:
        challengers = [arm for arm in arms if arm != incumbent]
        while challengers:
            memory = [incumbent, *challengers[: M - 1]]
            challengers = challengers[M - 1 :]
            memories.append(memory)
            table = Table(memory)
            for _ in range(b):
                arm = table.next_arm(score, b)
                table.rewards[arm].append(reward(len(choices), arm))
                choices.append(arm)
                if len(choices) == T:
                    return Play(choices, memories)
            incumbent = table.most_played()
        b *= 2
