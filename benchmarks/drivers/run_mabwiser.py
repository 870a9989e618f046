"""MABWiser: `predict` and `partial_fit`, one pull at a time.

Its `Simulator` replays decisions that were logged; it does not draw rewards for those that a policy
makes, so that it cannot do the job.
"""

from __future__ import annotations

import random

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from benchmarks.drivers.job import MEANS, K, report


def loop(pulls: int) -> float:
    draw = random.Random(1).random
    arms = list(range(K))
    first = [float(draw() < mean) for mean in MEANS]
    policy = MAB(arms, LearningPolicy.UCB1(alpha=1.0), seed=1)
    policy.fit(decisions=arms, rewards=first)
    total = sum(first)
    for _ in range(pulls - K):
        arm = policy.predict()
        reward = 1.0 if draw() < MEANS[arm] else 0.0
        # Arrays, as lists would be turned into them.
        policy.partial_fit(np.array([arm]), np.array([reward]))
        total += reward
    return total


report("mabwiser", {"loop": loop})
