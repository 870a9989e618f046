"""Synthetic logs whose truth is known, and how often intervals have the truth inside."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from handful.evaluation import Log, ValueEstimate, read_log

FALSE_ALARM = 1e-4
"""How often a count of misses is out of bounds although an interval misses with probability 5%."""


class World(NamedTuple):
    """The means of arms and the probabilities with which they are logged."""

    means: list[float]
    probabilities: list[float]
    written: list[float] | None = None
    """The probabilities that the log claims, if they are wrong."""

    @property
    def labels(self) -> list[str]:
        return [f"arm {index:02}" for index in range(len(self.means))]

    def value(self, *places: int) -> float:
        """The value of a uniform choice among arms; of all arms if none are named."""
        return float(np.mean([self.means[place] for place in places or range(len(self.means))]))

    def columns(self, rows: int, seed: int) -> dict[str, Any]:
        """A log: an arm drawn with its probability, and a reward of 0 or 1 with the arm's mean."""
        draws = np.random.default_rng(seed)
        arm = draws.choice(len(self.means), size=rows, p=self.probabilities)
        reward = draws.random(rows) < np.array(self.means)[arm]
        written = np.array(self.written or self.probabilities)
        return {
            "arm": np.array(self.labels)[arm],
            "reward": reward.astype(float),
            "probability": written[arm],
        }

    def log(self, rows: int, seed: int) -> Log:
        return read_log(self.columns(rows, seed))


def uniform(*means: float) -> World:
    return World(list(means), [1 / len(means)] * len(means))


SKEWED = World([0.2, 0.3, 0.4, 0.5, 0.6], [0.4, 0.25, 0.15, 0.12, 0.08])
"""The best arm is logged least."""
MISREPORTED = SKEWED._replace(written=[0.3, 0.25, 0.2, 0.15, 0.1])
"""The same with probabilities that are wrong by at most a third."""


def missed(found: Iterable[tuple[ValueEstimate, float]]) -> int:
    """How many intervals do not have the truth inside."""
    return sum(not estimate.low <= truth <= estimate.high for estimate, truth in found)


def bounds(logs: int) -> tuple[int, int]:
    """The counts of misses between which 95% intervals stay but for the false-alarm rate."""
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], logs, 0.05)
    return int(low), int(high)
