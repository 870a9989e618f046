"""SMPyBandits: its `Evaluator`, with rewards drawn beforehand or not, and a loop of its calls."""

from __future__ import annotations

import os
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "agg"

with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
    from SMPyBandits.Arms import Bernoulli
    from SMPyBandits.Environment import MAB, Evaluator
    from SMPyBandits.Policies import UCB

    from benchmarks.drivers.job import MEANS, K, report


def evaluated(pulls: int, cache_rewards: bool) -> float:
    with Path(os.devnull).open("w") as quiet, redirect_stdout(quiet):
        configuration: dict[str, Any] = {
            "horizon": pulls,
            "repetitions": 1,
            "n_jobs": 1,
            "verbosity": 0,
            "environment": [{"arm_type": Bernoulli, "params": MEANS}],
            "policies": [{"archtype": UCB, "params": {}}],
            "cache_rewards": cache_rewards,
        }
        evaluator = Evaluator(configuration)
        evaluator.startAllEnv()
    return float(evaluator.lastCumRewards[0, 0, 0])


def runner(pulls: int) -> float:
    return evaluated(pulls, cache_rewards=False)


def cached(pulls: int) -> float:
    return evaluated(pulls, cache_rewards=True)


def loop(pulls: int) -> float:
    with Path(os.devnull).open("w") as quiet, redirect_stdout(quiet):
        world = MAB({"arm_type": Bernoulli, "params": MEANS})
    policy = UCB(K)
    policy.startGame()
    total = 0.0
    for t in range(pulls):
        arm = policy.choice()
        reward = world.draw(arm, t)
        policy.getReward(arm, reward)
        total += reward
    return total


report("SMPyBandits", {"Evaluator": runner, "Evaluator, cached rewards": cached, "loop": loop})
