"""Hyper-parameters of a real model: Race tunes kernel ridge regression on noisy validation scores.

An arm is a configuration: the length of the kernel and the ridge, both as logarithms. A pull splits
the data at random, trains on one part, and is rewarded with the accuracy on the other. One score is
noisy, so a good configuration must be trained many times to be known; Race trains bad ones seldom.
The proposer changes the recommended configuration a little, or once in five times draws a new one.

    python examples/hyperparameters.py

It prints the accuracy over all trainings, and that of the recommended configuration on 300 further
splits, with configurations that are drawn blindly beside it.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import handful
from handful import ArmStats

Config = tuple[float, float]
Numbers = NDArray[np.float64]

BOUNDS = ((-3.0, 3.0), (-6.0, 4.0))
"""Of the logarithms of the length and of the ridge."""
TRAINED_ON = 60


def moons(n: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return points of two interleaved half circles with noise, and their classes, -1 and 1."""
    angles = rng.uniform(0.0, np.pi, n)
    classes = rng.choice([-1.0, 1.0], n)
    x = np.where(classes > 0, np.cos(angles), 1.0 - np.cos(angles))
    y = np.where(classes > 0, np.sin(angles), 0.5 - np.sin(angles))
    return np.column_stack([x, y]) + rng.normal(0.0, 0.25, (n, 2)), classes


class Data:
    """Points and classes, whose distances are worked out once."""

    def __init__(self, seed: int, n: int = 120) -> None:
        points, self._classes = moons(n, np.random.default_rng(seed))
        self._squared = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)

    def score(self, config: Config, rng: np.random.Generator) -> float:
        """Train on a random part of the data; return the accuracy on the rest."""
        length, ridge = np.exp(config[0]), np.exp(config[1])
        order = rng.permutation(len(self._classes))
        train, test = order[:TRAINED_ON], order[TRAINED_ON:]
        kernel = np.exp(-self._squared / (2.0 * length**2))
        inner = kernel[np.ix_(train, train)] + ridge * np.eye(TRAINED_ON)
        weights = np.linalg.solve(inner, self._classes[train])
        predicted = np.sign(kernel[np.ix_(test, train)] @ weights)
        return float(np.mean(predicted == self._classes[test]))


def drawn(rng: random.Random) -> Config:
    """Return any configuration."""
    return rng.uniform(*BOUNDS[0]), rng.uniform(*BOUNDS[1])


def blind(rng: random.Random) -> Callable[[tuple[ArmStats, ...]], Config]:
    """Return the proposer that draws configurations blindly."""
    return lambda memory: drawn(rng)


def mutating(rng: random.Random) -> Callable[[tuple[ArmStats, ...]], Config]:
    """Return the proposer that changes the recommended configuration."""

    def propose(memory: tuple[ArmStats, ...]) -> Config:
        if rng.random() < 0.2:
            return drawn(rng)
        length, ridge = next(arm.arm for arm in memory if arm.recommended)
        return length + rng.gauss(0.0, 0.3), ridge + rng.gauss(0.0, 0.5)

    return propose


def main() -> None:
    """Tune with both proposers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trainings", type=int, default=3000)
    options = parser.parse_args()
    data = Data(seed=1)
    for name, make in (("drawn blindly", blind), ("mutated", mutating)):
        rng, splits = random.Random(1), np.random.default_rng(1)
        arms = handful.Proposed(make(rng), [drawn(rng)])
        policy = handful.Race(arms, memory=8, seed=1)
        total = 0.0
        for _ in range(options.trainings):
            config = policy.select()
            score = data.score(config, splits)
            policy.update(config, score)
            total += score
        best = policy.recommend()
        further = np.mean([data.score(best, splits) for _ in range(300)])
        print(
            f"{name}: {total / options.trainings:.3f} over all trainings, "
            f"{arms.proposed + 1} configurations; recommended: length {np.exp(best[0]):.3g}, "
            f"ridge {np.exp(best[1]):.3g}, accuracy {further:.3f}"
        )


if __name__ == "__main__":
    main()
