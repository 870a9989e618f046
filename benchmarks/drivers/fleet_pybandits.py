"""pybandits' Bernoulli Thompson sampling, one object for each member."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from pybandits.smab import SmabBernoulli

from benchmarks.drivers.fleet_loop import K, report

ARMS = {f"arm {i}" for i in range(K)}


def make(seed: int) -> Any:
    return SmabBernoulli.cold_start(action_ids=ARMS)


def pair(policy: Any, draw: Callable[[], float]) -> None:
    chosen = policy.predict(n_samples=1)[0]
    policy.update(actions=chosen, rewards=[int(draw() < 0.5)])


report(f"pybandits {version('pybandits')}, Thompson", make, pair, members=300, pairs=3000)
