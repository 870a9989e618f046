"""river's Thompson sampling, one object for each member."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from river import bandit, proba

from benchmarks.drivers.fleet_loop import K, report

ARMS = list(range(K))


def make(seed: int) -> Any:
    return bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed)


def pair(policy: Any, draw: Callable[[], float]) -> None:
    arm = policy.pull(ARMS)
    policy.update(arm, draw() < 0.5)


report(f"river {version('river')}, Thompson", make, pair)
