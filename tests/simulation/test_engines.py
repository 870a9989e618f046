"""The two engines make exactly the same choices: the slow one is the twin of every kernel."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful import MOSSM, UCBM
from handful.compiling import jit
from handful.simulation import compiled, plan
from handful.simulation.kernels import block, lookup, phased, segments, step
from handful.simulation.kernels.lanes import WIDTH
from handful.simulation.kernels.world import as_word
from handful.simulation.kinds import PHASES
from handful.simulation.outcome import joined
from handful.simulation.reference import simulate_run
from tests.simulation.agree import assert_engines_agree, assert_same, first

POLICIES = ("ucb-m", "ucb-m:eta=0.2", "moss-m", "ts-m")
DISTRIBUTIONS = ("bernoulli", "beta", "beta:0.5", "uniform", "constant", "truncnorm", "truncnorm:2")


@st.composite
def instances(draw: st.DrawFn) -> str:
    K = draw(st.one_of(st.integers(1, 40), st.sampled_from([4096, 4097, 10**12, 2**53])))
    alpha = draw(st.sampled_from(["0.3", "0.6", "3.0"]))
    few = draw(st.lists(st.floats(0.0, 1.0, allow_subnormal=False), min_size=1, max_size=8))
    world = draw(
        st.sampled_from(
            [f"linear:{K}", f"power:{K}:{alpha}", f"bernoulli:{','.join(map(repr, few))}"]
        )
    )
    if world.startswith("bernoulli"):
        return world
    return f"{world}+{draw(st.sampled_from(DISTRIBUTIONS))}"


@settings(derandomize=True, deadline=None, max_examples=400)
@given(
    st.sampled_from(POLICIES),
    instances(),
    st.integers(2, 12),
    st.integers(1, 800),
    st.integers(0, 2**64),
    st.booleans(),
)
def test_both_engines_make_exactly_the_same_choices(
    policy: str, instance: str, memory: int, horizon: int, seed: int, tape: bool
) -> None:
    assert_engines_agree(
        plan.cell(policy, instance, memory, horizon, runs=2, seed=seed, tape=tape, record=True)
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("memory", [2, 3, 20])
def test_they_still_do_after_twenty_thousand_pulls(policy: str, memory: int) -> None:
    assert_engines_agree(plan.cell(policy, "linear:20", memory, 20_000, runs=1, record=True))


@pytest.mark.parametrize("K", [10**17 + 7, 2**61 + 12345, 2**62 - 1])
@pytest.mark.parametrize("world", ["linear:{}", "power:{}:0.3"])
def test_they_do_where_an_index_no_longer_fits_a_double(world: str, K: int) -> None:
    assert_engines_agree(plan.cell("ucb-m", world.format(K), 3, 300, runs=10, record=True))


@pytest.mark.parametrize("memory", [5, 9])
def test_a_horizon_given_to_moss_holds_when_all_arms_fit(memory: int) -> None:
    cell = plan.cell("moss-m:horizon=50", "linear:5", memory, 400, runs=3)
    assert_engines_agree(cell)


@pytest.mark.parametrize("policy", POLICIES)
def test_results_do_not_depend_on_the_number_of_workers(policy: str) -> None:
    cell = plan.cell(policy, "linear:7+uniform", 3, 700, runs=13, seed=4, record=True)
    grid = plan.log_grid(700)
    alone = compiled.simulate_runs(cell, grid, n_jobs=1)
    for n_jobs in (2, 3, 16, None):
        assert_same(compiled.simulate_runs(cell, grid, n_jobs=n_jobs), alone)


@pytest.mark.parametrize("policy", POLICIES)
def test_results_do_not_depend_on_the_batch(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = plan.cell(policy, "linear:7", 2, 700, runs=13, seed=4, record=True)
    grid = plan.log_grid(700)
    together = compiled.simulate_runs(cell, grid, n_jobs=1)
    for size in (1, 3, 5, 13):
        monkeypatch.setattr(compiled, "_BATCH", size)
        assert_same(compiled.simulate_runs(cell, grid, n_jobs=2), together)


@pytest.mark.parametrize("policy", POLICIES)
def test_results_do_not_depend_on_how_many_runs_there_are(policy: str) -> None:
    few, many = (plan.cell(policy, "linear:7", 2, 500, runs=runs) for runs in (3, 20))
    alone = compiled.simulate_runs(few, [500], n_jobs=1).regret
    assert alone.tobytes() == compiled.simulate_runs(many, [500], n_jobs=1).regret[:3].tobytes()


@pytest.mark.parametrize("policy", POLICIES)
def test_results_do_not_depend_on_the_grid(policy: str) -> None:
    cell = plan.cell(policy, "linear:7", 2, 500, runs=5)
    every = compiled.simulate_runs(cell, list(range(1, 501)), n_jobs=1).regret
    grid = plan.log_grid(500)
    some = compiled.simulate_runs(cell, grid, n_jobs=1).regret
    assert some.tolist() == every[:, [t - 1 for t in grid]].tolist()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("tape", [False, True])
def test_a_shorter_horizon_is_a_prefix_of_a_longer_one(policy: str, tape: bool) -> None:
    curves = {
        horizon: compiled.simulate_runs(
            plan.cell(policy, "linear:10+beta", 3, horizon, runs=5, tape=tape),
            list(range(1, horizon + 1)),
            n_jobs=1,
        ).regret
        for horizon in (1, 14, 15, 16, 333, 1000)
    }
    for horizon, curve in curves.items():
        assert curve.tolist() == curves[1000][:, :horizon].tolist()


@pytest.mark.parametrize("policy", POLICIES)
def test_regret_never_falls_and_every_pull_is_counted(policy: str) -> None:
    cell = plan.cell(policy, "power:50:0.3", 4, 30_000, runs=8)
    outcome = compiled.simulate_runs(cell, plan.log_grid(30_000), n_jobs=1)
    assert (np.diff(outcome.regret) >= 0.0).all()
    assert outcome.pulls is not None
    assert outcome.pulls.sum(axis=1).tolist() == [30_000] * 8
    gaps = 0.99 - np.array([cell.instance.mean(arm) for arm in range(50)])
    np.testing.assert_allclose(outcome.regret[:, -1], outcome.pulls @ gaps, rtol=1e-12)


@pytest.mark.parametrize("memory", [10, 11, 64, 65])
def test_blocks_of_every_size_make_the_same_choices(memory: int) -> None:
    cell = plan.cell("ucb-m", "linear:100", memory, 1500, runs=5 * WIDTH + 1, seed=11)
    lanes = PHASES.most_lanes(cell, skipping=False)
    outcome = compiled.simulate_runs(cell, [1500], n_jobs=1)
    for run in (0, WIDTH, lanes - 1, lanes, cell.runs - 1):
        assert outcome.regret[run].tolist() == simulate_run(cell, run, [1500]).regret[0].tolist()


# Sub-phases of 8 pulls are looked up, unless a time of the grid lies inside.


@pytest.mark.parametrize("policy", ["ucb-m", "ucb-m:eta=0.2", "moss-m"])
@pytest.mark.parametrize(
    "world", ["linear:1000000000", "power:3000:0.3", "linear:13", "bernoulli:1,0,0,1,0"]
)
def test_sub_phases_that_are_looked_up_are_those_that_are_played(policy: str, world: str) -> None:
    runs = 4 * WIDTH + 3
    cell = plan.cell(policy, world, 2, 20_000, runs=runs, seed=7, record=True)
    looked_up = compiled.simulate_runs(cell, [20_000], n_jobs=1)
    slow = joined([simulate_run(cell, run, [20_000]) for run in range(3)])
    assert_same(first(looked_up, 3), slow)
    every_fifth = compiled.simulate_runs(cell, list(range(5, 20_001, 5)), n_jobs=1)
    assert looked_up.regret[:, -1].tolist() == every_fifth.regret[:, -1].tolist()


@pytest.mark.parametrize("world", ["linear:2", "bernoulli:1,0", "bernoulli:0.6,0.4"])
@pytest.mark.parametrize("policy", ["moss-m:horizon=8", "moss:horizon=8"])
def test_eight_pulls_of_a_sub_phase_that_goes_on_are_played(policy: str, world: str) -> None:
    memory = 2 if policy.startswith("moss-m") else None
    cell = plan.cell(policy, world, memory, 200, runs=WIDTH, seed=3)
    slow = joined([simulate_run(cell, run, [8, 200]) for run in range(WIDTH)])
    assert_same(compiled.simulate_runs(cell, [8, 200], n_jobs=1), slow)


@pytest.mark.parametrize("policy", ["qucb-m", "qmoss-m", "qrm2:alpha=0.3"])
@pytest.mark.parametrize("world", ["I1", "beta:1:1:1"])
def test_they_are_with_endless_arms_too(policy: str, world: str) -> None:
    memory = None if policy.startswith("qrm2") else 2
    cell = plan.cell(policy, world, memory, 5000, runs=WIDTH, seed=5, record=True)
    slow = joined([simulate_run(cell, run, [5000]) for run in range(2)])
    assert_same(first(compiled.simulate_runs(cell, [5000], n_jobs=1), 2), slow)


@pytest.mark.parametrize("policy", [UCBM, MOSSM])
def test_a_looked_up_sub_phase_is_what_the_policy_does(policy: type[UCBM | MOSSM]) -> None:
    rule = policy.rule
    assert rule.growth is not None
    assert rule.width is not None
    growths = [0.0] + [rule.growth(t, 1.0) for t in range(1, 9)]
    widths = [0.0] + [rule.width(n, 8, 2) for n in range(1, 9)]
    for sequence in range(0, block.WHOLES, 11):
        online = policy(arms=3, memory=2, seed=1)
        pulled = []
        for t in range(block.PULLS):
            pulled.append(online.select())
            second = pulled[t] != pulled[0]
            online.update(pulled[t], sequence >> 2 * (block.PULLS - 1 - t) + (not second) & 1)
        count = block.PULLS - pulled.count(pulled[0])
        tables: Any = (growths, widths)
        found = lookup.pulls_of_second(as_word(sequence), *tables)
        assert found == count, bin(sequence)


# The kernels tabulate the two factors of a bonus up to a length that no quick test reaches.


@pytest.fixture
def small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels compiled afresh with tables of 64 entries, under names of their own."""
    family = jit.family
    monkeypatch.setattr(block, "TABLE", 64)
    monkeypatch.setattr(step, "TABLE", 64)
    monkeypatch.setattr(segments, "family", lambda *parts: f"table64_{family(*parts)}")
    monkeypatch.setattr(phased, "phased_kernel", cache(phased.phased_kernel.__wrapped__))


@pytest.mark.usefixtures("small_tables")
@pytest.mark.parametrize("policy", ["ucb-m", "moss-m"])
@pytest.mark.parametrize("world", ["linear:9", "linear:9+uniform"])
@pytest.mark.parametrize("memory", [2, 4, 9])
def test_beyond_the_tables_no_bit_changes(policy: str, world: str, memory: int) -> None:
    assert len(block.space(2, 1).tables.growths) == 65
    assert_engines_agree(plan.cell(policy, world, memory, 9000, runs=1, record=True))


@pytest.mark.parametrize("policy", ["ucb-m", "moss-m"])
def test_small_tables_and_large_ones_agree_past_both(
    policy: str, request: pytest.FixtureRequest
) -> None:
    horizon = block.TABLE + 200_000
    cell = plan.cell(policy, "bernoulli:0.6,0.55", 2, horizon, runs=1)
    grid = plan.log_grid(horizon)
    large = compiled.simulate_runs(cell, grid, n_jobs=1)
    request.getfixturevalue("small_tables")
    assert_same(compiled.simulate_runs(cell, grid, n_jobs=1), large)


# Stopping.


def test_a_kernel_that_is_asked_to_stop_ends_early() -> None:
    cell = plan.cell("ucb-m", "linear:10", 2, 10_000, runs=1)
    batch = compiled._batch(cell, plan.log_grid(10_000), range(1))
    batch.stop[0] = 1
    compiled._run_batch(cell, batch, 1, 1, None, 0, False)
    assert batch.regret[0, -1] == 0.0
    batch.stop[0] = 0
    compiled._run_batch(cell, batch, 1, 1, None, 0, False)
    assert batch.regret[0, -1] > 0.0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_stops_all_workers(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = []
    make = compiled._batch

    def noted(*given: Any) -> Any:
        batches.append(make(*given))
        return batches[-1]

    def interrupt(pulls: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(compiled, "_batch", noted)
    # Minutes of work, were it not stopped.
    cell = plan.cell("ucb-m", "linear:1000", 2, 10**9, runs=64)
    with pytest.raises(KeyboardInterrupt):
        compiled.simulate_runs(cell, plan.log_grid(10**9), n_jobs, interrupt)
    assert len(batches) == 1
    assert (batches[0].regret[:, -1] == 0.0).all()


def test_progress_ends_at_all_pulls() -> None:
    seen: list[int] = []
    cell = plan.cell("ucb-m", "linear:10", 2, 50_000, runs=600)
    compiled.simulate_runs(cell, [50_000], 2, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 600 * 50_000


def test_an_error_in_a_worker_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> None:
        raise NotImplementedError("in a worker")

    monkeypatch.setattr(phased, "phased_kernel", lambda *made_of: broken)
    with pytest.raises(NotImplementedError, match="in a worker"):
        compiled.simulate_runs(plan.cell("ucb-m", "linear:10", 2, 100, runs=4), [100], 2)
