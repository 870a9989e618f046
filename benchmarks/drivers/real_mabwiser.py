"""MABWiser's Thompson sampling."""

from __future__ import annotations

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from benchmarks.drivers.real_loop import Decide, Reward, report


def make(n_arms: int, seed: int) -> tuple[Decide, Reward]:
    policy = MAB(list(range(n_arms)), LearningPolicy.ThompsonSampling(), seed=seed)
    policy.fit(decisions=np.array([], dtype=int), rewards=np.array([]))

    def decide() -> tuple[int, int]:
        arm = policy.predict()
        return arm, arm

    def reward(arm: int, value: float) -> None:
        policy.partial_fit(np.array([arm]), np.array([value]))

    return decide, reward


report("mabwiser", "Thompson sampling", make)
