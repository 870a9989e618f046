"""pymab 2: its experiment runner, whose loop is written in Rust, and a loop in Python of its calls.

Nearly all of the runner's time goes into checking its result, value by value, in Python. The loop
in Rust can be called without that only through a private module; its time is reported as well.
"""

from __future__ import annotations

import numpy as np
from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
from pymab._backend import run_native_experiment
from pymab.policies import UCBPolicy

from benchmarks.drivers.job import MEANS, K, report


def environment() -> BanditEnvironment:
    return BanditEnvironment(means=np.array(MEANS), reward_model=BernoulliReward())


def runner(pulls: int) -> float:
    result = Experiment(
        environment=environment(),
        policies={"ucb": UCBPolicy(n_arms=K)},
        config=ExperimentConfig(horizon=pulls, n_replicates=1, seed=1, backend="rust"),
    ).run()
    return float(result.rewards.sum())


def loop(pulls: int) -> float:
    rng = np.random.default_rng(1)
    uniform = rng.random(pulls).tolist()
    policy = UCBPolicy(n_arms=K)
    total = 0.0
    for u in uniform:
        arm = policy.select_action(rng=rng)
        reward = 1.0 if u < MEANS[arm] else 0.0
        policy.update(action=arm, reward=reward)
        total += reward
    return total


def loop_in_rust(pulls: int) -> float:
    output = run_native_experiment(
        environment=environment(),
        policies={"ucb": UCBPolicy(n_arms=K)},
        horizon=pulls,
        n_replicates=1,
        seed=1,
        reward_coupling="common",
        record_contexts=False,
    )
    return float(np.asarray(output.rewards).sum())


report("pymab", {"runner": runner, "loop": loop}, {"Rust loop alone, private": loop_in_rust})
