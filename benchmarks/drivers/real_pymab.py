"""pymab's Thompson sampling, which is written in Rust."""

from __future__ import annotations

import numpy as np
from pymab.policies import BernoulliThompsonSamplingPolicy

from benchmarks.drivers.real_loop import Decide, Reward, report


def make(n_arms: int, seed: int) -> tuple[Decide, Reward]:
    rng = np.random.default_rng(seed)
    policy = BernoulliThompsonSamplingPolicy(n_arms=n_arms)

    def decide() -> tuple[int, int]:
        arm = int(policy.select_action(rng=rng))
        return arm, arm

    def reward(arm: int, value: float) -> None:
        policy.update(action=arm, reward=value)

    return decide, reward


report("pymab", "Thompson sampling", make)
