"""Instances from data: the two engines to the same bits, and no result of other data."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from handful.errors import SettingError
from handful.instances import Instance, from_data
from handful.instances.catalogue import instance_of
from handful.simulation import compare, engines, plan, read_parquet, simulate
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
