"""SMPyBandits' Thompson sampling."""

from __future__ import annotations

import os
import random
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

os.environ["MPLBACKEND"] = "agg"

with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
    from SMPyBandits.Policies import Thompson

from benchmarks.drivers.real_loop import Decide, Reward, report


def make(n_arms: int, seed: int) -> tuple[Decide, Reward]:
    random.seed(seed)  # it draws from the generators that all share
    np.random.seed(seed)
    policy = Thompson(n_arms)
    policy.startGame()

    def decide() -> tuple[int, int]:
        arm = int(policy.choice())
        return arm, arm

    return decide, policy.getReward


report("SMPyBandits", "Thompson sampling", make)
