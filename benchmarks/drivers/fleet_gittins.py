"""gittins, one state for each member: its model is contextual, and here the context is empty."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import gittins

from benchmarks.drivers.fleet_loop import K, report, resident

CANDIDATES = [(f"arm-{i}", {"arm": f"arm-{i}"}) for i in range(K)]


def make(seed: int) -> Any:
    return gittins.create(8, 3600.0)


def pair(state: Any, draw: Callable[[], float]) -> None:
    now = time.time()
    record = gittins.decide(state, {}, CANDIDATES, now, "bench")
    gittins.learn(state, record.decision_id, float(draw() < 0.5), now)


report(f"gittins {version('gittins')}", make, pair, counted=resident, members=10_000)
