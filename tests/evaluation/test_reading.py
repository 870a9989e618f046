from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from handful import Log, read_log
from handful.errors import RewardError, SettingError, UnknownNameError
from tests.helpers import refused

PLAIN = {"arm": ["b", "a", "b", "c"], "reward": [1, 0, 1, 0], "probability": [0.5, 0.25, 0.5, 0.25]}
EXPORTED: dict[str, Any] = {
    "bandit": ["ads"] * 5,
    "decision": list("vwxyz"),
    "arm": ["a", "b", "a", "b", "a"],
    "probability": [0.5] * 5,
    "allowed": [None, ["a", "b"], None, ["b"], None],
    "recommended": ["a", "a", "b", "b", None],
    "reward": [1.0, None, None, None, None],
    "status": ["rewarded", "expired", "open", "dropped", "expired"],
    "default": [None, 0.25, None, 0.5, None],
}


def as_file(frame: pl.DataFrame, file: Path) -> Path:
    match file.suffix:
        case ".parquet":
            frame.write_parquet(file)
        case ".csv":
            frame.write_csv(file)
        case _:
            frame.write_ndjson(file)
    return file


@pytest.mark.parametrize("name", ["log.parquet", "log.csv", "log.jsonl", "log.ndjson"])
def test_a_file_is_read_as_the_same_log(name: str, tmp_path: Path) -> None:
    found = read_log(as_file(pl.DataFrame(PLAIN), tmp_path / name))
    assert found.labels == ["a", "b", "c"]
    assert found.arm.tolist() == [1, 0, 1, 2]
    assert found.reward.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert found.probability is not None
    assert found.probability.tolist() == [0.5, 0.25, 0.5, 0.25]
    assert (len(found), found.n_arms, found.value.value) == (4, 3, 0.5)


def test_frames_lists_and_logs_are_taken() -> None:
    found = read_log(pl.DataFrame(PLAIN))
    assert read_log(PLAIN).arm.tolist() == found.arm.tolist()
    assert read_log(found) is found


def test_columns_may_have_other_names_and_integers_are_labels() -> None:
    log = read_log(
        {"item": [7, 3], "click": [True, False], "pscore": [0.5, 0.5], "arm": ["x", "x"]},
        arm_column="item", reward_column="click", probability_column="pscore",
    )  # fmt: skip
    assert log.labels == [3, 7]
    assert log.reward.tolist() == [1.0, 0.0]


def test_an_exported_log_open_ones_are_left_out_and_defaults_stand_in() -> None:
    log = read_log(EXPORTED)
    assert log.reward.tolist() == [1.0, 0.25, 0.5]
    assert [log.labels[arm] for arm in log.arm] == ["a", "b", "b"]
    assert log.subset.tolist() == [-1, 0, 1]
    assert [[log.labels[arm] for arm in each] for each in log.subsets] == [["a", "b"], ["b"]]
    assert log.recommended is not None
    assert log.recommended.tolist() == [0, 0, 1]
    assert log.warnings[0].startswith("2 of 5 decisions have no reward and are left out")


def test_an_expired_decision_does_not_count_with_a_late_reward() -> None:
    late = {**EXPORTED, "reward": [1.0, 1.0, None, None, 1.0]}
    assert read_log(late).reward.tolist() == [1.0, 0.25, 0.5]


def test_probabilities_that_are_missing_or_0_are_left_out() -> None:
    log = read_log({"arm": list("aabb"), "reward": [1] * 4, "probability": [0.5, None, 0.0, 0.5]})
    assert len(log) == 2
    assert "1 of 4 decisions have no probability and are left out" in log.warnings[0]
    assert "1 of 4 decisions have probability 0 and are left out" in log.warnings[1]


def test_a_column_of_probabilities_that_is_empty_is_none() -> None:
    log = read_log({"arm": ["a", "b"], "reward": [1, 0], "probability": [None, None]})
    assert log.probability is None
    assert log.logged.tolist() == [0.5, 0.5]


def test_without_probabilities_a_choice_is_uniform_among_the_allowed_arms() -> None:
    log = read_log({"arm": list("abc"), "reward": [1, 0, 0], "allowed": [["a", "b"], None, None]})
    assert log.logged.tolist() == [1 / 2, 1 / 3, 1 / 3]
    assert log.weight_of_uniform().tolist() == [1.0, 1.0, 1.0]


def test_one_bandit_of_several() -> None:
    two = {"bandit": ["x", "y", "x"], "arm": ["a", "b", "c"], "reward": [1, 0, 0]}
    assert read_log(two, bandit="x").labels == ["a", "c"]
    with refused(SettingError, ValueError, "2 bandits (x, y)", "--bandit NAME"):
        read_log(two)
    with refused(UnknownNameError, ValueError, "'z'", "x, y"):
        read_log(two, bandit="z")
    with refused(SettingError, ValueError, "no column 'bandit'"):
        read_log(PLAIN, bandit="x")


def test_rewards_may_be_rescaled() -> None:
    log = read_log({"arm": ["a", "b"], "reward": [-1.0, 3.0]}, rescale=(-1, 3))
    assert log.reward.tolist() == [0.0, 1.0]
    assert log.value.value == 1.0


def test_what_is_printed_and_its_json() -> None:
    log = read_log(PLAIN)
    assert repr(log).startswith("log of 4 decisions on 3 arms, probabilities from 0.25 to 0.5\n")
    assert log.to_dict()["least_probability"] == 0.25
    assert read_log({"arm": ["a", "b"], "reward": [1, 0]}).to_dict()["least_probability"] is None


@pytest.mark.parametrize(
    ("log", "mentions"),
    [
        ({"arm": [], "reward": []}, ("no decisions", "at least one row")),
        ({"item": ["a"], "reward": [1]}, ("no column 'arm'", "'item'", "--arm-column")),
        ({"arm": ["a"], "click": [1]}, ("no column 'reward'", "--reward-column")),
        ({"arm": ["a", None], "reward": [1, 1]}, ("empty in 1 rows", "every decision has an arm")),
        ({"arm": [["a"]], "reward": [1]}, ("List(String)", "give labels")),
        ({"arm": ["a"], "reward": ["yes"]}, ("'reward'", "String", "give numbers")),
        ({"arm": ["a"], "reward": [None]}, ("no decision can be used", "1 rows have no reward")),
        ({**PLAIN, "probability": [2, 1, 1, 1]}, ("has 2", "[0, 1]")),
        ({**PLAIN, "status": ["done"] * 4}, ("'done'", "open, rewarded, expired, dropped")),
        ({"arm": ["a", "b"], "reward": [1]}, ("the log cannot be made of these columns",)),
        (17, ("17 is not a table", "give a file")),
        ("missing.parquet", ("there is no file missing.parquet",)),
    ],
)
def test_a_log_that_cannot_work_is_refused(log: Any, mentions: tuple[str, ...]) -> None:
    with refused(SettingError, ValueError, *mentions):
        read_log(log)


@pytest.mark.parametrize("reward", [1.5, -0.1, float("inf")])
def test_a_reward_out_of_range_is_refused(reward: float) -> None:
    with refused(RewardError, ValueError, f"{reward:g}", "[0, 1]", "--rescale LO HI"):
        read_log({"arm": ["a", "b"], "reward": [0.0, reward]})


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_text("arm,reward\n")
    with refused(SettingError, ValueError, "log.parquet cannot be read"):
        read_log(tmp_path / "log.parquet")
    (tmp_path / "log.txt").write_text("arm,reward\n")
    with refused(SettingError, ValueError, ".parquet, .csv, .jsonl"):
        read_log(tmp_path / "log.txt")


def test_frames_of_every_kind_are_the_same_log() -> None:
    expected = read_log(PLAIN).to_dict()
    frame = pl.DataFrame(PLAIN)
    for same in (frame, frame.lazy(), pd.DataFrame({**PLAIN, "other": object()})):
        assert read_log(same).to_dict() == expected


def test_a_column_that_was_named_must_be_there() -> None:
    with refused(SettingError, ValueError, "no column 'p' for the probability"):
        read_log(PLAIN, probability_column="p")


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(["c", "b", "a"])])
def test_a_column_of_categories_is_read_as_text(kind: pl.DataType) -> None:
    found: Log = read_log(pl.DataFrame(PLAIN).with_columns(pl.col("arm").cast(kind)))
    assert found.labels == ["a", "b", "c"]
    assert found.arm.tolist() == [1, 0, 1, 2]


def test_empty_columns_of_a_csv_file_are_as_if_missing(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("arm,reward,probability,status,default,allowed\na,1,,rewarded,,\nb,0,,open,,\n")
    found = read_log(file)
    assert (found.labels, found.probability, found.subsets) == (["a"], None, [])


def test_allowed_arms_that_are_no_list_are_refused() -> None:
    with refused(SettingError, ValueError, "'allowed'", "String", "Parquet and JSON lines"):
        read_log({**PLAIN, "allowed": ["a|b", None, None, None]})
