"""river's Thompson sampling."""

from __future__ import annotations

from typing import Any

from river import bandit, proba

from benchmarks.drivers.real_loop import Decide, Reward, report


def make(n_arms: int, seed: int) -> tuple[Decide, Reward]:
    policy: Any = bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed)
    arms = list(range(n_arms))

    def decide() -> tuple[int, int]:
        arm = policy.pull(arms)
        return arm, arm

    return decide, policy.update


report("river", "Thompson sampling", make)
