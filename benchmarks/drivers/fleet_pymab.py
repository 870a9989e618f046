"""pymab's UCB, one object for each member."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from pymab.policies import UCBPolicy

from benchmarks.drivers.fleet_loop import K, report, resident

RNG = np.random.default_rng(1)


def make(seed: int) -> Any:
    return UCBPolicy(n_arms=K)


def pair(policy: Any, draw: Callable[[], float]) -> None:
    arm = policy.select_action(rng=RNG)
    policy.update(action=arm, reward=float(draw() < 0.5))


report(f"pymab {version('pymab')}, UCB", make, pair, counted=resident, members=10_000)
