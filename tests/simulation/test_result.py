from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import handful
from handful.errors import SettingError
from handful.simulation import Result, read_parquet, simulate, write_csv, write_parquet


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate("moss-m", "linear:12+beta", memory=3, horizon=3000, runs=5, seed=9, record=True)


def test_mean_and_standard_error_are_those_of_the_runs(result: Result) -> None:
    values = result.regret.per_run.tolist()
    mean = math.fsum(values) / 5
    variance = math.fsum((x - mean) ** 2 for x in values) / 4
    assert result.regret.mean == pytest.approx(mean, rel=1e-14)
    assert result.regret.sem == pytest.approx(math.sqrt(variance / 5), rel=1e-14)
    assert result.regret.median == sorted(values)[2]
    assert result.regret.quantile(1.0) == max(values)


def test_one_run_has_no_standard_error_and_still_makes_json() -> None:
    alone = simulate("ucb-m", "linear:5", memory=2, horizon=50, runs=1)
    assert math.isnan(alone.regret.sem)
    assert alone.to_dict()["regret_sem"] is None
    assert json.loads(json.dumps(alone.to_dict(), allow_nan=False))["runs"] == 1


def test_pulls_by_arm_add_up_to_the_horizon_and_to_the_regret(result: Result) -> None:
    assert result.pulls is not None
    assert result.pulls.sum(axis=1).tolist() == [3000] * 5
    means = np.linspace(0.99, 0.01, 12)
    assert result.pulls @ (0.99 - means) == pytest.approx(result.regret.per_run)


def test_stays_cover_every_pull(result: Result) -> None:
    assert result.stays is not None
    for stays in result.stays:
        assert stays.pulls.sum() == 3000
        assert stays.start[0] == 0
        assert (np.diff(stays.start) == stays.pulls.sum(axis=1)[:-1]).all()


def test_many_arms_leave_no_pulls_by_arm() -> None:
    many = simulate("ucb-m", "linear:1000000", memory=2, horizon=100, runs=1)
    assert many.pulls is None
    assert many.to_dict()["pulls_per_arm_mean"] is None


def test_frames_have_a_row_for_each_run_and_time(result: Result) -> None:
    frame = result.to_polars()
    assert frame.columns == [
        "policy", "label", "memory", "instance", "horizon", "seed", "run", "t", "regret"
    ]  # fmt: skip
    assert frame.height == 5 * len(result.curve.t)
    last = frame.filter(pl.col("t") == 3000).sort("run")
    assert last["regret"].to_list() == result.regret.per_run.tolist()
    pandas = result.to_pandas()
    assert pandas["regret"].tolist() == frame["regret"].to_list()


def test_parquet_reads_back_to_the_bit_with_settings_seed_and_version(
    result: Result, tmp_path: Path
) -> None:
    path = tmp_path / "r.parquet"
    other = simulate("ucb-m", "linear:1000000", memory=2, horizon=100, runs=2)
    write_parquet([result, other], path)
    first, second = read_parquet(path)
    assert first.settings == result.settings
    assert first.settings["seed"] == 9
    assert first.settings["version"] == handful.__version__
    assert first.curve.per_run.tolist() == result.curve.per_run.tolist()
    assert first.curve.t.tolist() == result.curve.t.tolist()
    assert first.pulls is not None
    assert result.pulls is not None
    assert first.pulls.tolist() == result.pulls.tolist()
    assert first.stays is not None
    assert result.stays is not None
    assert first.stays[4].arms.tolist() == result.stays[4].arms.tolist()
    assert second.pulls is None
    assert second.stays is None
    assert second.regret.per_run.tolist() == other.regret.per_run.tolist()


def test_a_file_that_holds_no_results_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"not parquet at all")
    with pytest.raises(SettingError, match="cannot be read"):
        read_parquet(path)
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(SettingError, match="holds no results"):
        read_parquet(path)
    with pytest.raises(SettingError, match="there is no file"):
        read_parquet(tmp_path / "none.parquet")


def test_regret_at_a_time_of_the_grid(result: Result) -> None:
    assert result.regret_at(1000).mean == result.curve.mean[result.curve.t.tolist().index(1000)]
    with pytest.raises(SettingError, match="not on the grid"):
        result.regret_at(1001)


def test_a_result_says_what_it_is(result: Result) -> None:
    assert "MOSS-M, M = 3 on linear:12+beta:4.0: regret " in repr(result)


def test_a_result_of_many_listed_means_says_it_on_a_line() -> None:
    many = simulate("ucb-m", [0.5] * 1000, memory=2, horizon=10, runs=2, engine="python")
    assert len(repr(many)) < 200
    assert "…: regret" in repr(many)


def test_a_plot_has_the_curve_and_a_band(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    axes = result.plot()
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert len(axes.lines) == 1
    assert len(axes.collections) == 1
    shown = axes.lines[0].get_xydata()
    assert np.asarray(shown)[-1].tolist() == [3000.0, result.regret.mean]


def test_a_result_can_be_had_again_from_its_settings(result: Result) -> None:
    s = result.settings
    again = simulate(
        s["policy"], s["instance"], memory=s["memory"], horizon=s["horizon"], runs=s["runs"],
        seed=s["seed"],
    )  # fmt: skip
    assert again.regret.per_run.tolist() == result.regret.per_run.tolist()


def test_csv_has_the_rows_of_the_frame(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    result.to_csv(path)
    read = pl.read_csv(path)
    frame = result.to_polars()
    assert read.columns == frame.columns
    assert read["regret"].to_list() == frame["regret"].to_list()
    assert read["run"].to_list() == frame["run"].to_list()
    huge = simulate("ucb-m", "linear:5", memory=2, horizon=50, runs=2, seed=10**40, engine="python")
    write_csv([result, huge], path)
    both = pl.read_csv(path, schema_overrides={"seed": pl.String})
    assert both.height == frame.height + huge.curve.per_run.size
    assert both["seed"].unique(maintain_order=True).to_list() == ["9", str(10**40)]


def test_a_notebook_shows_a_result_as_a_table_with_names_escaped(result: Result) -> None:
    named = Result({**result.settings, "instance": "<script>", "label": "a&b"}, result.curve)
    html = named._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "a&amp;b, M = 3" in html
    assert f"{result.regret!r}" in html
    assert html.count("<tr>") == html.count("</tr>") == 7


def test_means_of_pulls_are_written_and_read_where_runs_are_too_many(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("handful.simulation.outcome.MOST_PULLS", 10)
    many = simulate("ucb-m", "linear:5", memory=2, horizon=90, runs=7, engine="python")
    assert many.pulls is None
    path = tmp_path / "r.parquet"
    few = simulate("ucb-m", "linear:2", memory=2, horizon=90, runs=3, engine="python")
    write_parquet([few, many], path)
    read = read_parquet(path)
    assert read[0].pulls is not None
    assert few.pulls is not None
    assert read[0].pulls.tolist() == few.pulls.tolist()
    assert read[1].pulls is None
    assert read[1].mean_pulls is not None
    assert many.mean_pulls is not None
    assert read[1].mean_pulls.tolist() == many.mean_pulls.tolist()
    assert many.mean_pulls.sum() == pytest.approx(90)


def test_a_range_of_runs_is_written_and_read_with_its_numbers(tmp_path: Path) -> None:
    part = simulate("ucb-m", "linear:5", memory=2, horizon=50, runs=range(7, 10), engine="python")
    part.to_parquet(tmp_path / "r.parquet")
    (read,) = read_parquet(tmp_path / "r.parquet")
    assert read.run_numbers.tolist() == [7, 8, 9]
    assert read.regret.per_run.tolist() == part.regret.per_run.tolist()
