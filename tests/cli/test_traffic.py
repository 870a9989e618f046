"""`handful run` with late and lost rewards and drifting means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from handful.cli.app import app
from handful.plots.panels import draw
from handful.simulation import read_parquet

RUN = [
    "run", "-p", "race", "-m", "2", "-i", "linear:9", "-T", "200", "-r", "2", "--engine", "python",
]  # fmt: skip


def call(*options: str) -> Result:
    return CliRunner().invoke(app, [*RUN, *options])


def test_the_options_reach_the_result() -> None:
    ran = call("--delay", "geometric:9", "--lost", "0.2", "--clicks-only", "1e2",
               "--drift", "swap:4", "--churn", "5e1", "--json")  # fmt: skip
    assert ran.exit_code == 0, ran.output
    (cell,) = json.loads(ran.stdout)
    found = {key: cell[key] for key in ("delay", "lost", "clicks_only", "drift", "churn")}
    assert found == {
        "delay": "geometric:9", "lost": 0.2, "clicks_only": 100, "drift": "swap:4", "churn": 50,
    }  # fmt: skip
    traffic = "delay=geometric:9 lost=0.2 clicks_only=100 drift=swap:4 churn=50"
    assert cell["id"].endswith(f"linear:9 {traffic}")


def test_a_table_has_a_column_of_the_traffic_only_if_there_is_any() -> None:
    head, row = (line.split("\t") for line in call("--delay", "20").stdout.splitlines())
    assert dict(zip(head, row, strict=True))["traffic"] == "delay=20"
    assert "traffic" not in call().stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--delay", "soon"], "give a number of decisions such as 200, geometric:MEAN"),
        (["--delay", "batch:0"], "give at least 1"),
        (["--lost", "1"], "at least 0 and below 1"),
        (["--drift", "fals"], "did you mean falls?"),
        (["--drift", "rises"], "above the best mean, 0.99"),
        (["--delay", "20", "--clicks-only", "10"], "at least 20"),
        (["--drift", "falls", "--rho", "0.1"], "leave one of them out"),
        (["--churn", "50", "--rho", "0.1"], "--churn 50 the means change"),
        (["--churn", "200"], "only 200 decisions"),
        (["-p", "race:clicks_only=50"], "--clicks-only W"),
        (["--delay", "20", "--engine", "skip"], "pull by pull"),
    ],
)
def test_wrong_options_are_refused_with_what_to_give(options: list[str], said: str) -> None:
    ran = call(*options)
    assert ran.exit_code == 2
    assert said in " ".join(ran.output.split())


def test_a_figure_has_a_panel_for_each_traffic(tmp_path: Path) -> None:
    for number, options in enumerate(([], ["--delay", "20"], ["--churn", "50"])):
        ran = call(*options, "--out", str(tmp_path / f"{number}.parquet"))
        assert ran.exit_code == 0, ran.output
    results = [result for n in range(3) for result in read_parquet(tmp_path / f"{n}.parquet")]
    titles = [ax.get_title() for ax in draw("regret", results).axes]
    assert sum("delay=20" in title for title in titles) == 1
    assert sum("churn=50" in title for title in titles) == 1
