"""MABWiser's UCB1, one object for each member."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from benchmarks.drivers.fleet_loop import K, report

ARMS = list(range(K))


def make(seed: int) -> Any:
    policy = MAB(ARMS, LearningPolicy.UCB1(alpha=1.0), seed=seed)
    policy.fit(decisions=np.array(ARMS), rewards=np.zeros(K))
    return policy


def pair(policy: Any, draw: Callable[[], float]) -> None:
    arm = policy.predict()
    policy.partial_fit(np.array([arm]), np.array([float(draw() < 0.5)]))


report(f"MABWiser {version('mabwiser')}, UCB1", make, pair)
