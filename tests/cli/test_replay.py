"""`handful replay` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

import handful
from handful.cli.app import app
from tests.evaluation.logs import SKEWED, uniform


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["replay", *map(str, words)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log.parquet"
    pl.DataFrame(uniform(0.2, 0.4, 0.6).columns(1500, seed=1)).write_parquet(file)
    return file


def test_a_table_of_policies_and_targets(log: Path) -> None:
    ran = call(log, "-p", "race", "-p", "random", "-m", "2", "-t", "uniform", "-t", "arm:arm 02")
    assert ran.exit_code == 0, ran.output
    head, *rows = (line.split("\t") for line in ran.stdout.splitlines())
    assert head == ["evaluated", "method", "value", "low", "high", "rows"]
    assert [row[:2] for row in rows] == [
        ["the log itself", "mean"], ["Race, M = 2", "replay"], ["Random", "replay"],
        ["uniform", "IPS"], ["uniform", "self-normalised"], ["uniform", "conservative"],
        ["arm:arm 02", "IPS"], ["arm:arm 02", "self-normalised"], ["arm:arm 02", "conservative"],
    ]  # fmt: skip
    for row in rows:
        value, low, high = map(float, row[2:5])
        assert low <= value <= high
    assert ran.stderr == ""


def test_json_has_the_numbers_of_the_functions(log: Path) -> None:
    ran = call(log, "-p", "race", "-m", "2", "-m", "3", "-t", "best:1", "-s", "4", "--json")
    assert ran.exit_code == 0, ran.output
    data = json.loads(ran.stdout)
    assert [each["memory"] for each in data["replays"]] == [2, 3]
    again = handful.replay(log, "race", memory=3, seed=4)
    assert data["replays"][1]["value"] == again.value.value
    assert data["evaluations"] == [handful.evaluate(log, "best:1").to_dict()]
    assert data["log"] == handful.read_log(log).to_dict()


def test_columns_ranges_and_bandits(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    pl.DataFrame(
        {"bandit": ["x", "x", "y"], "item": [1, 2, 3], "stars": [1, 5, 3], "p": [0.5, 0.5, 1.0]}
    ).write_csv(file)
    ran = call(
        file, "-t", "uniform", "--arm-column", "item", "--reward-column", "stars",
        "--probability-column", "p", "--rescale", "1", "5", "--bandit", "x", "--json",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    data = json.loads(ran.stdout)
    assert data["log"]["rows"] == 2
    assert data["evaluations"][0]["ips"]["value"] == 3.0


def test_warnings_go_to_standard_error_and_common_ones_are_said_once(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    pl.DataFrame(SKEWED.columns(800, seed=1)).write_ndjson(file)
    ran = call(file, "-p", "race", "-p", "ucb-m", "-m", "2", "-t", "best:1")
    assert ran.exit_code == 0, ran.output
    assert ran.stderr.count("rows were accepted, with 0.08 over their probability") == 1
    assert "warning: Race, M = 2: fewer than 100 rows match" in ran.stderr
    assert "best:1: chosen by the even rows" in ran.stderr
    assert "warning" not in ran.stdout
    every = call(file, "-p", "race", "-p", "ucb-m", "-m", "2", "--every-row")
    assert every.stderr.count("every row is accepted") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--policy race --memory 8, or --target uniform"),
        (["-p", "race"], "race needs --memory"),
        (["-p", "rase", "-m", "2"], "race"),
        (["-p", "race", "-m", "1"], "memory >= 2"),
        (["-t", "unifrom"], "uniform, arm:LABEL, best:K or recommended"),
        (["-t", "arm:arm 07"], "no arm in this log"),
        (["-t", "uniform", "--arm-column", "item"], "no column 'item'"),
        (["-t", "uniform", "--rescale", "1", "0"], "lo < hi"),
        (["-p", "qucb-m", "-m", "2"], "endless arms"),
    ],
)
def test_wrong_words_are_refused_before_any_work(
    log: Path, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("work was done")

    monkeypatch.setattr("handful.cli.replay.replay", work)
    monkeypatch.setattr("handful.cli.replay.evaluate", work)
    ran = call(log, *words)
    assert ran.exit_code == 2, ran.output
    assert said in " ".join(ran.stderr.split())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    ran = call(tmp_path / "no.csv", "-t", "uniform")
    assert ran.exit_code == 2
    assert "there is no file" in ran.stderr


def test_a_long_replay_says_how_fast_it_was(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handful.cli.replay.SLOW", -1.0)
    ran = call(log, "-p", "random")
    assert "Random: 1,500 rows in 0.0 s, " in ran.stderr
    assert ran.stderr.rstrip().endswith(" rows/s")
