"""A loop over single policies of handful, one for each member: what a fleet replaces."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import handful
from benchmarks.drivers.fleet_loop import K, report

NAME = sys.argv[1]
ARMS = handful.FiniteArms(range(K))


def make(seed: int) -> Any:
    return handful.policy(NAME, ARMS, 2, seed=seed)


def pair(policy: Any, draw: Callable[[], float]) -> None:
    decision = policy.decide()
    policy.reward(decision.ticket, float(draw() < 0.5))


report(f"handful {NAME}, M = 2, single policies", make, pair)
