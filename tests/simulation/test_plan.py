from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.errors import SettingError, UnknownNameError
from handful.instances import instance
from handful.policies import MOSSM, TSM, UCBM, Policy
from handful.simulation import plan, seeds


def test_a_cell_is_read_from_names() -> None:
    cell = plan.cell("ucb-m", "B_L:100", 2, 1e6, runs=7, seed=3)
    assert (cell.policy, cell.memory, cell.horizon, cell.runs, cell.seed) == (UCBM, 2, 10**6, 7, 3)
    assert cell.instance == instance("linear:100")
    assert not cell.settings
    assert not cell.tape
    assert not cell.record


def test_a_cell_is_made_from_a_class_and_an_instance() -> None:
    world = instance("linear:10")
    cell = plan.cell(TSM, world, 3, 10)
    assert cell.policy is TSM
    assert cell.instance is world


def test_a_horizon_that_is_a_float_becomes_an_integer() -> None:
    horizon = plan.cell("ucb-m", "linear:10", 2, 1e5).horizon
    assert horizon == 100_000
    assert isinstance(horizon, int)


def test_settings_come_from_the_name_or_beside_it() -> None:
    by_name = plan.cell("ucb-m:eta=0.2", "linear:10", 2, 10)
    beside = plan.cell("ucb-m", "linear:10", 2, 10, settings={"eta": 0.2})
    assert by_name == beside
    assert by_name.settings == {"eta": 0.2}


def test_a_setting_in_the_name_wins_and_none_counts_for_nothing() -> None:
    both = plan.cell("ucb-m:eta=0.2", "linear:10", 2, 10, settings={"eta": 0.5})
    none = plan.cell("ucb-m:eta=0.2", "linear:10", 2, 10, settings={"eta": None})
    assert both.settings == {"eta": 0.2}
    assert none.settings == {"eta": 0.2}


def test_a_policy_that_can_use_the_horizon_is_given_it() -> None:
    assert plan.cell("moss-m", "linear:10", 2, 500).policy_settings() == {"horizon": 500}
    assert plan.cell("ucb-m:eta=0.2", "linear:10", 2, 500).policy_settings() == {"eta": 0.2}
    given = plan.cell("moss-m:horizon=70", "linear:10", 2, 500)
    assert given.policy_settings() == {"horizon": 70}


def test_the_id_tells_policy_settings_memory_and_instance() -> None:
    base = plan.cell("ucb-m", "linear:10", 2, 100)
    others = [
        plan.cell("ts-m", "linear:10", 2, 100),
        plan.cell("ucb-m:eta=0.2", "linear:10", 2, 100),
        plan.cell("ucb-m", "linear:10", 3, 100),
        plan.cell("ucb-m", "linear:11", 2, 100),
        plan.cell("ucb-m", "linear:10+beta", 2, 100),
    ]
    assert len({base.id, *(cell.id for cell in others)}) == 6


def test_the_id_does_not_look_at_horizon_runs_seed_tape_or_spelling() -> None:
    one = plan.cell("ucb-m", "B_0.3:10", 2, 100, runs=5, seed=1)
    two = plan.cell(UCBM, "power:10:.3", 2, 10**6, runs=50, seed=2, tape=True, record=True)
    assert one.id == two.id


def test_the_label_is_what_people_write() -> None:
    assert plan.cell("ucb-m", "linear:10", 2, 100).label == "UCB-M"
    assert plan.cell("ucb-m:eta=0.2", "linear:10", 2, 100).label == "UCB-M (eta=0.2)"
    assert plan.cell(MOSSM, "linear:10", 2, 100).label == "MOSS-M"


@pytest.mark.parametrize("name", ["ucbm", "usb-m", "tsm", "mos-m"])
def test_an_unknown_policy_is_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"there is no policy .*did you mean .*-m"):
        plan.cell(name, "linear:10", 2, 100)


def test_a_policy_may_be_written_as_tables_do() -> None:
    assert plan.cell("UCB-M:eta=0.2", "linear:10", 2, 100) == plan.cell(
        "ucb-m:eta=0.2", "linear:10", 2, 100
    )


@pytest.mark.parametrize("policy", [int, dict, None, 3])
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    with pytest.raises(SettingError):
        plan.cell(policy, "linear:10", 2, 100)


@pytest.mark.parametrize(
    "policy", ["ucb-m:eta", "ucb-m:eta=x", "ucb-m:eta=-1", "ucb-m:eta=nan", "ucb-m:eta=inf"]
)
def test_a_bad_value_of_a_setting_is_refused(policy: str) -> None:
    with pytest.raises(SettingError, match="eta"):
        plan.cell(policy, "linear:10", 2, 100)


def test_a_setting_that_the_policy_does_not_have_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="ts-m setting"):
        plan.cell("ts-m:eta=0.2", "linear:10", 2, 100)
    with pytest.raises(UnknownNameError, match="did you mean eta"):
        plan.cell("ucb-m", "linear:10", 2, 100, settings={"etta": 1.0})


@pytest.mark.parametrize("horizon", [0, -1, 1.5, 2**53 + 1, math.nan, math.inf, True, "100", None])
def test_a_bad_horizon_is_refused(horizon: Any) -> None:
    with pytest.raises(SettingError, match="horizon="):
        plan.cell("ucb-m", "linear:10", 2, horizon)


@pytest.mark.parametrize("runs", [0, -1, 0.5, math.nan, True, "7"])
def test_a_bad_number_of_runs_is_refused(runs: Any) -> None:
    with pytest.raises(SettingError, match="runs="):
        plan.cell("ucb-m", "linear:10", 2, 100, runs=runs)


@pytest.mark.parametrize("memory", [1, 0, -2, 2.0, True, "2", 2**32])
def test_a_bad_memory_is_refused(memory: Any) -> None:
    with pytest.raises(SettingError, match="memory="):
        plan.cell("ucb-m", "linear:10", memory, 100)


@pytest.mark.parametrize("seed", [1.0, "1", None, True])
def test_a_bad_seed_is_refused(seed: Any) -> None:
    with pytest.raises(SettingError, match="seed="):
        plan.cell("ucb-m", "linear:10", 2, 100, seed=seed)


@pytest.mark.parametrize("seed", [0, -5, 10**30])
def test_any_integer_is_a_seed(seed: int) -> None:
    assert plan.cell("ucb-m", "linear:10", 2, 100, seed=seed).seed == seed


def test_an_unknown_engine_is_refused_with_the_nearest() -> None:
    assert plan.check_engine("auto") == "auto"
    with pytest.raises(UnknownNameError, match="did you mean compiled"):
        plan.check_engine("compild")


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(1, 2**53), st.integers(1, 30))
def test_the_grid_rises_from_1_to_the_horizon(horizon: int, per_decade: int) -> None:
    grid = plan.log_grid(horizon, per_decade)
    assert grid == sorted(set(grid))
    assert (grid[0], grid[-1]) == (1, horizon)
    assert len(grid) <= per_decade * math.log10(horizon) + 2


def test_the_grid_is_evenly_spaced_in_the_logarithm() -> None:
    late = [t for t in plan.log_grid(10**9) if t >= 1000]
    ratios = [b / a for a, b in pairwise(late)]
    assert ratios == pytest.approx([10**0.1] * 60, rel=1e-3)


def test_the_grid_of_a_shorter_horizon_is_a_prefix_but_for_its_end() -> None:
    assert plan.log_grid(777)[:-1] == [t for t in plan.log_grid(10**6) if t < 777]


def test_seeds_differ_by_seed_cell_and_run() -> None:
    places = [(seed, cell, run) for seed in (0, 1, -1) for cell in ("a", "b") for run in range(50)]
    assert len({seeds.policy_seed(*place) for place in places}) == 300
    assert len({tuple(seeds.reward_stream(*place)) for place in places}) == 300


def test_a_tape_follows_from_seed_and_run_alone() -> None:
    keys = {seeds.tape_key(seed, run) for seed in (0, 1, 11) for run in range(50)}
    assert len(keys) == 150
    assert seeds.tape_key(1, 7) == seeds.tape_key(1, 7)


def test_a_class_that_is_no_policy_is_distinguished_from_one_that_is() -> None:
    assert issubclass(plan.parse_policy("ucb-m")[0], Policy)
    with pytest.raises(SettingError, match="neither a name nor a subclass of Policy"):
        plan.parse_policy(dict)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [list, tuple, np.array, pl.Series, pd.Series])
def test_means_may_be_a_column_or_an_array(kind: Any) -> None:
    assert plan.cell("race", kind([0.5, 0.25]), 2, 10).instance.name == "bernoulli:0.5,0.25"
