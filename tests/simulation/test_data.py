"""Instances from data: the two engines to the same bits, and no result of other data."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from handful.core.rng import GOLDEN, tape_word, uniform
from handful.core.slots import admit, credit
from handful.core.state import Int, State
from handful.errors import SettingError
from handful.instances import Instance, from_data
from handful.instances.catalogue import instance_of
from handful.policies import Policy
from handful.simulation import compare, engines, plan, read_parquet, simulate
from handful.simulation.seeds import tape_key
from tests.helpers import refused
from tests.simulation.agree import assert_engines_agree


def table(K: int = 7, rows: int = 400, seed: int = 1) -> pl.DataFrame:
    """A log of K arms: clicks, and what they bring in, both better the later the arm."""
    rng = random.Random(seed)
    arms = [rng.randrange(K) for _ in range(rows)]
    return pl.DataFrame(
        {
            "item": arms,
            "click": [int(rng.random() < (arm + 1) / (K + 2)) for arm in arms],
            "share": [round(rng.random() ** (K / (arm + 1)), 3) for arm in arms],
        }
    )


def world(reward: str, K: int = 7) -> Instance:
    return from_data(table(K), arm="item", reward=reward)


@pytest.mark.parametrize(
    ("policy", "memory", "more"),
    [
        ("race", 3, {}),
        ("race", 2, {"delay": "geometric:9", "lost": 0.1}),
        ("ucb-m", 2, {}),
        ("ucb-m", 3, {"tape": True}),
        ("imed-m", 3, {}),
        ("ts", None, {}),
        ("single-pass", None, {"tape": True}),
    ],
)
@pytest.mark.parametrize("reward", ["share", "click"])
def test_the_engines_make_the_same_choices(
    policy: str, memory: int | None, more: dict[str, Any], reward: str
) -> None:
    outcome = assert_engines_agree(plan.cell(policy, world(reward), memory, 600, 5, seed=2, **more))
    assert outcome.regret[:, -1].min() > 0.0


def test_policies_that_make_trials_of_rewards_skip() -> None:
    """Over 2 x 400 runs; with a false-alarm rate of 1e-5, the means differ by less than 4.4 SEM."""
    cell = plan.cell("ts-m", world("share"), 2, 2000, 400)
    assert engines.supports_skipping(cell)
    one, other = (
        simulate("ts-m", world("share"), memory=2, horizon=2000, runs=400, seed=3, engine=engine)
        for engine in ("skip", "compiled")
    )
    apart = abs(one.regret.mean - other.regret.mean)
    assert apart < 4.42 * (one.regret.sem**2 + other.regret.sem**2) ** 0.5
    assert one.regret.per_run.tolist() != other.regret.per_run.tolist()


def test_bernoulli_data_are_skipped_like_listed_means() -> None:
    clicks = world("click")
    assert engines.choose(plan.cell("race", clicks, 2, 1000), "auto") == "skip"
    assert "not Bernoulli" in engines.cannot_skip(plan.cell("race", world("share"), 2, 1000))


def test_a_result_says_what_it_was_simulated_on(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    table().write_csv(file)
    spec = f"data:{file}?arm=item&reward=share"
    result = simulate("race", spec, memory=2, horizon=50, runs=2, engine="python")
    found = from_data(file, arm="item", reward="share")
    assert found.origin is not None
    name = "data:log.csv?arm=item&reward=share"
    assert result.settings["instance"] == result.world == name
    assert result.settings["digest"] == found.origin.digest
    assert result.settings["data"] == found.origin.said
    assert result.settings["id"] == f"race watch=1.0 every=0.0 M=2 data:{found.origin.digest}"
    assert str(result).startswith(f"Race, M = 2 on {name}: regret")
    result.to_parquet(tmp_path / "result.parquet")
    (again,) = read_parquet(tmp_path / "result.parquet")
    assert instance_of(again.settings) == found
    shortfall = 50 * (found.best_mean - found.quantile(0.3))
    assert again.quantile_regret(0.3).mean == pytest.approx(again.regret.mean - shortfall)
    table(seed=2).write_csv(file)
    with refused(SettingError, ValueError, "is not what it was when data:log.csv?arm=item"):
        again.quantile_regret(0.3)
    file.unlink()
    with refused(SettingError, ValueError, "there is no file"):
        again.quantile_regret(0.3)


def test_a_result_on_a_frame_cannot_be_asked_for_it() -> None:
    result = simulate("race", world("click"), memory=2, horizon=50, runs=1, engine="python")
    assert result.settings["instance"] == "data:frame?arm=item&reward=click"
    with refused(SettingError, ValueError, "was simulated on a frame"):
        result.quantile_regret(0.3)


def test_equal_data_give_equal_runs_whatever_the_file(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "a.csv")
    table().write_parquet(tmp_path / "b.parquet")
    regrets = [
        simulate(
            "race", data, memory=2, horizon=200, runs=3, engine="python"
        ).regret.per_run.tolist()
        for data in (
            f"data:{tmp_path / 'a.csv'}?arm=item&reward=share",
            f"data:{tmp_path / 'b.parquet'}?arm=item&reward=share",
            world("share"),
        )
    ]
    assert regrets[0] == regrets[1] == regrets[2]


def test_results_on_other_data_of_the_same_name_are_no_pairs() -> None:
    one, other = (
        simulate(
            "race", from_data(table(seed=seed), arm="item", reward="click"),
            memory=2, horizon=50, runs=2, engine="python", tape=True,
        )
        for seed in (1, 2)
    )  # fmt: skip
    with refused(SettingError, ValueError, "differ in their data"):
        compare(one, other)
    found = compare("race", "ucb-m", world("share"), memory=2, horizon=99, runs=2, engine="python")
    assert "on data:frame?arm=item&reward=share" in str(found)


# Drift as it was.


def drifting(reward: str, rows: int = 900) -> Instance:
    """The best arm is another one in each of three periods."""
    rng = random.Random(7)
    arms = [rng.randrange(5) for _ in range(rows)]
    good = [0.9 if arm == 2 * (3 * row // rows) else 0.3 for row, arm in enumerate(arms)]
    table = {
        "arm": arms,
        "click": [float(rng.random() < mean) for mean in good],
        "share": [mean * rng.random() for mean in good],
        "row": list(range(rows)),
    }
    return from_data(table, reward=reward, time="row", periods=3, near=5)


@pytest.mark.parametrize(
    ("policy", "memory", "more"),
    [
        ("race", 3, {}),
        ("race", 2, {"delay": "geometric:9", "lost": 0.1, "tape": True}),
        ("ucb-m", 2, {"clicks_only": 20}),
        ("ts", None, {"delay": 5}),
    ],
)
@pytest.mark.parametrize("reward", ["share", "click"])
def test_the_engines_drift_as_logged_to_the_same_bits(
    policy: str, memory: int | None, more: dict[str, Any], reward: str
) -> None:
    cell = plan.cell(policy, drifting(reward), memory, 600, 4, seed=2, **more)
    assert_engines_agree(cell)
    assert_engines_agree(replace(cell, horizon=2, runs=1))


class Current(State):
    """Which slot is pulled."""

    current: Int


class Fickle(Policy):
    """Two arms, of which one is pulled until a reward of at most 0.6."""

    name = "fickle"
    any_arms = True
    State = Current

    @staticmethod
    def start(state: Current, p: Any) -> None:
        admit(state, 0, 0)
        admit(state, 1, 1)

    @staticmethod
    def propose(state: Current, p: Any) -> int:
        return state.current

    @staticmethod
    def observe(state: Current, slot: int, reward: float, p: Any) -> None:
        credit(state, slot, reward)
        if reward <= 0.6:
            state.current = 1 - slot


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize("in_time", [False, True])
def test_rewards_and_regret_are_those_of_the_rows(in_time: bool, engine: str) -> None:
    """The definition, written again: on a tape, what is drawn follows from arm and time alone."""
    rng = random.Random(11)
    arms = [rng.randrange(2) for _ in range(90)]
    shares = [round(rng.random(), 3) for _ in arms]
    rows: dict[str, Any] = {"arm": arms, "reward": shares, "at": list(range(90))}
    options: dict[str, Any] = {"time": "at", "periods": 3, "near": 1} if in_time else {}
    T = 100
    result = simulate(
        Fickle, from_data(rows, **options), memory=2, horizon=T, runs=2, seed=4, tape=True,
        engine=engine,
    )  # fmt: skip
    for run in range(2):
        arm, regret = 0, Fraction(0)
        for t in range(T):
            period = max(k for k in range(3) if k * T // 3 <= t) if in_time else 0
            span = range(30 * period, 30 * period + 30) if in_time else range(90)
            groups = [[shares[row] for row in span if arms[row] == each] for each in (0, 1)]
            if not in_time:
                groups = [sorted(group) for group in groups]
            means = [Fraction(math.fsum(group) / len(group)) for group in groups]
            regret += max(means) - means[arm]
            u = uniform([tape_word(tape_key(4, run), t, arm), GOLDEN])
            if groups[arm][int(u * len(groups[arm]))] <= 0.6:
                arm = 1 - arm
        assert result.regret.per_run[run] == pytest.approx(float(regret), abs=1e-12)


def test_data_in_time_are_simulated_as_drift_is(tmp_path: Path) -> None:
    world = drifting("click")
    cell = plan.cell("race", world, 2, 100)
    assert cell.world == world.name
    assert cell.id == f"race watch=1.0 every=0.0 M=2 {world.key}"
    assert "pull by pull" in engines.cannot_skip(cell)
    assert "drift" not in cell.how_run()
    assert plan.cell("race", world, 2, 100, delay=5).world == f"{world.name} delay=5"
    for traffic in ({"drift": "falls"}, {"churn": 5}):
        with refused(SettingError, ValueError, "change by themselves, as logged"):
            plan.cell("race", world, 2, 100, **traffic)
    many = {"arm": list(range(5000)), "reward": [0, 1] * 2500, "at": list(range(5000))}
    with refused(SettingError, ValueError, "has 5000 arms, and the means of at most 4096"):
        plan.cell("race", from_data(many, time="at"), 2, 100)
