"""Where numbers are largest or settings strangest: runs end, and the engines agree."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

import handful
from handful.simulation import compiled, engines, plan
from handful.simulation.kinds import kind_of
from tests.simulation.agree import assert_engines_agree

LARGEST = 2**62 - 1


def own_index(index: int) -> int:
    return index


# The largest set of arms.


@pytest.mark.parametrize(
    ("policy", "memory"),
    [("race", 2), ("race", 5), ("ucb-m", 3), ("ts-m", 3), ("imed-m", 3), ("single-pass", None),
     ("constant-space", None), ("random", None)],
)  # fmt: skip
@pytest.mark.parametrize("world", ["linear:{}", "power:{}:0.3+beta"])
def test_kernels_take_the_largest_set_of_arms(policy: str, memory: int | None, world: str) -> None:
    outcome = assert_engines_agree(
        plan.cell(policy, world.format(LARGEST), memory, 400, runs=3, seed=2)
    )
    assert outcome.pulls is None
    assert (outcome.regret[:, -1] > 0.0).all()


# alpha near 1: the pool and the rounds pass all bounds.


@pytest.mark.parametrize("alpha", [0.95, 0.999])
@pytest.mark.parametrize(
    "policy", ["qucb-m", pytest.param("qts-m", marks=pytest.mark.long), "qklucb-m", "qrm2"]
)
def test_a_pool_that_grows_past_all_bounds_is_run_alike(policy: str, alpha: float) -> None:
    memory = None if policy == "qrm2" else 2
    cell = plan.cell(f"{policy}:alpha={alpha}", "I1", memory, 2000, runs=3, record=True)
    assert_engines_agree(cell)


@pytest.mark.parametrize("alpha", [0.95, 0.999])
def test_a_simulation_with_alpha_near_1_ends(alpha: float) -> None:
    slow, fast = (
        handful.simulate("qucb-m", "I1", memory=2, horizon=2000, runs=4, alpha=alpha, engine=engine)
        for engine in ("python", "auto")
    )
    assert slow.curve.per_run.tolist() == fast.curve.per_run.tolist()


@pytest.mark.parametrize(("memory", "alpha"), [(100, 0.9), (2, 0.95), (2, 0.999), (100, 0.999)])
@pytest.mark.parametrize("policy", [handful.QUCBM, handful.QTSM, handful.QMOSSM])
def test_a_policy_with_alpha_near_1_is_saved_and_restored(
    policy: Any, memory: int, alpha: float
) -> None:
    online = policy(own_index, memory, seed=1, alpha=alpha)
    for t in range(300):
        if t == 150:
            online = policy.from_bytes(online.to_bytes(), own_index)
        arm = online.select()
        assert 0 <= arm <= 2**62
        online.update(arm, float(arm % 3 == 0))
    assert policy.from_bytes(online.to_bytes(), own_index).to_bytes() == online.to_bytes()


# A memory far larger than the set of arms.


@pytest.mark.parametrize("policy", ["race", "ucb-m", "ts-m", "imed-m"])
@pytest.mark.parametrize("skipping", [False, True])
def test_memory_for_more_arms_than_there_are_is_not_allocated(policy: str, skipping: bool) -> None:
    cell = plan.cell(policy, "bernoulli:0.9,0.1", 10**9, 1000, runs=2)
    run_as = engines.as_run(cell)
    assert kind_of(run_as.policy).slots(run_as) == 2
    compiled.warm_up(cell, skipping)
    tracemalloc.start()
    try:
        compiled.simulate_runs(cell, [1000], n_jobs=1, skipping=skipping)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Mostly the tables of growths and widths; 10^9 slots would be 10^11 bytes.
    assert most < 10**8


def test_a_race_with_memory_for_more_arms_than_there_are_is_small_online() -> None:
    policy = handful.Race(2, 10**9, seed=1)
    for _ in range(100):
        arm = policy.select()
        policy.update(arm, float(arm == 0))
    assert len(policy.to_bytes()) < 500


# More passes than the horizon has use for.


@pytest.mark.parametrize(("policy", "memory"), [("mpse", None), ("mbse", 3)])
@pytest.mark.parametrize("passes", [1, 62, 63, 64, 2000])
def test_any_number_of_passes_is_run_alike(policy: str, memory: int | None, passes: int) -> None:
    cell = plan.cell(f"{policy}:passes={passes}", "linear:6", memory, 3000, runs=2)
    assert_engines_agree(cell)


@pytest.mark.parametrize(("policy", "memory"), [("mpse", None), ("mbse", 3)])
def test_very_many_passes_are_saved_and_restored(policy: str, memory: int | None) -> None:
    online = handful.policy(policy, 6, memory, seed=1, horizon=1000, passes=2000)
    for _ in range(200):
        arm = online.select()
        online.update(arm, float(arm == 2))
    assert handful.from_bytes(online.to_bytes(), 6).to_bytes() == online.to_bytes()
