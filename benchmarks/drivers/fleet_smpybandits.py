"""SMPyBandits' UCB, one object for each member."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "agg"

with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
    from SMPyBandits.Policies import UCB

from benchmarks.drivers.fleet_loop import K, report


def make(seed: int) -> Any:
    policy = UCB(K)
    policy.startGame()
    return policy


def pair(policy: Any, draw: Callable[[], float]) -> None:
    arm = policy.choice()
    policy.getReward(arm, float(draw() < 0.5))


report(f"SMPyBandits {version('SMPyBandits')}, UCB", make, pair)
