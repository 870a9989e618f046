from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handful.errors import SettingError, UnknownNameError
from handful.plots.panels import MOST_LINES, draw, names, pulls_of
from handful.plots.style import figure, plot_regret, save, spread
from handful.simulation import Result, simulate
from handful.simulation.intervals import half_width

pytestmark = pytest.mark.usefixtures("auto_is_python")


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [
        simulate(policy, world, memory=memory, horizon=2000, runs=4, seed=1)
        for world in ("linear:9", "bernoulli:0.1,0.9,0.5")
        for policy in ("ucb-m", "moss-m")
        for memory in (2, 3)
    ]


def end_labels(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_gid() == "handful-line-end"]


def axes_of(made: Any, count: int) -> list[Any]:
    axes = list(made.axes)
    assert len(axes) == count
    return axes


def test_a_95_percent_interval_is_students() -> None:
    # Of five runs: t of 4 degrees of freedom is 2.776.
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert half_width(values) == pytest.approx(2.776445 * values.std(ddof=1) / 5**0.5)
    assert half_width(np.array([[1.0, 7.0]])).tolist() == [0.0, 0.0]


def test_regret_has_a_panel_for_each_instance_with_its_curves_and_labels(
    results: list[Result],
) -> None:
    axes = axes_of(draw("regret", results), 2)
    for ax, panel in zip(axes, (results[:4], results[4:]), strict=True):
        assert ax.get_title() == panel[0].settings["instance"]
        assert ax.get_xscale() == ax.get_yscale() == "log"
        assert sorted(end_labels(ax)) == sorted(result.label for result in panel)
        for line, result in zip(ax.lines, panel, strict=True):
            shown = result.curve.mean > 0
            assert line.get_ydata().tolist() == result.curve.mean[shown].tolist()
            assert line.get_xdata().tolist() == result.curve.t[shown].tolist()
    # One look a policy and memory, the same in both panels.
    looks = [[(line.get_color(), line._unscaled_dash_pattern) for line in ax.lines] for ax in axes]
    assert looks[0] == looks[1]
    assert len(set(map(str, looks[0]))) == 4


def test_the_band_is_drawn_where_it_should_be(results: list[Result]) -> None:
    result = results[0]
    _, ax = figure(1, 1, 4, 3)
    plot_regret([result], ax, y="linear")
    corners = np.asarray(ax.collections[0].get_paths()[0].vertices)
    last = corners[corners[:, 0] == 2000.0][:, 1]
    half = half_width(result.regret.per_run)
    assert last.max() == pytest.approx(result.regret.mean + half)
    assert last.min() == pytest.approx(result.regret.mean - half)


def test_two_horizons_of_one_instance_are_two_panels() -> None:
    both = [simulate("ucb-m", "linear:9", memory=2, horizon=T, runs=2) for T in (50, 500)]
    axes = axes_of(draw("regret", both), 2)
    assert [ax.get_title() for ax in axes] == ["linear:9, 50 pulls", "linear:9, 500 pulls"]


def test_labels_of_lines_that_end_together_are_kept_apart() -> None:
    """Also over several calls on the same axes."""
    _, ax = figure(1, 1, 5, 3)
    for seed in range(6):
        plot_regret([simulate("ucb-m", "linear:9", memory=2, horizon=999, runs=2, seed=seed)], ax)
    ax.figure.canvas.draw()
    texts = [text for text in ax.texts if text.get_gid() == "handful-line-end"]
    assert len(texts) == 6
    heights = sorted(text.xyann[1] * ax.bbox.height for text in texts)
    assert min(np.diff(heights)) >= texts[0].get_fontsize() / 72 * ax.figure.dpi
    assert heights[-1] <= ax.bbox.height


def test_places_are_a_gap_apart_in_order_and_as_near_as_can_be() -> None:
    assert spread(np.array([0.2, 0.8]), 0.1).tolist() == [0.2, 0.8]
    assert spread(np.array([0.5, 0.5]), 0.1) == pytest.approx([0.45, 0.55])
    assert spread(np.array([0.5, 0.9, 0.5]), 0.1) == pytest.approx([0.45, 0.9, 0.55])
    assert spread(np.array([1.0, 1.0, 1.0]), 0.25) == pytest.approx([0.5, 0.75, 1.0])
    assert spread(np.array([-3.0]), 0.25).tolist() == [0.0]


def test_no_regret_at_all_is_drawn_on_linear_axes() -> None:
    still = simulate("ucb-m", "bernoulli:0.5,0.5,0.5", memory=2, horizon=100, runs=2)
    (ax,) = axes_of(draw("regret", [still]), 1)
    assert ax.get_yscale() == "linear"
    with pytest.raises(SettingError, match="above 0"):
        draw("regret", [still], y="log")
    with pytest.raises(SettingError, match="regret of 0"):
        draw("bars", [still], x="log")


def test_bars_start_at_0_and_become_dots_on_a_log_axis(results: list[Result]) -> None:
    panel = results[:4]
    (ax,) = axes_of(draw("bars", panel, x="linear"), 1)
    assert [bar.get_width() for bar in ax.patches] == [result.regret.mean for result in panel]
    assert {bar.get_x() for bar in ax.patches} == {0}
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [r.label for r in panel]
    (ax,) = axes_of(draw("bars", panel, x="log"), 1)
    assert not ax.patches
    dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert dots == [result.regret.mean for result in panel]


def test_a_log_axis_is_taken_where_regrets_are_far_apart() -> None:
    small = simulate("ucb-m", "linear:9", memory=2, horizon=30, runs=2)
    large = simulate("ts-m", "linear:9", memory=2, horizon=30, runs=2)
    object.__setattr__(large.curve, "per_run", large.curve.per_run * 100)
    assert draw("bars", [small, large]).axes[0].get_xscale() == "log"
    assert draw("bars", [small, small]).axes[0].get_xscale() == "linear"


def test_pulls_by_arm_come_best_arm_first(results: list[Result]) -> None:
    listed = results[4]
    assert listed.pulls is not None
    assert pulls_of(listed).tolist() == listed.pulls[:, [1, 2, 0]].tolist()
    (ax,) = axes_of(draw("pulls", [listed]), 1)
    assert ax.lines[0].get_ydata().tolist() == listed.pulls.mean(axis=0)[[1, 2, 0]].tolist()
    many = simulate("ucb-m", "linear:5000", memory=2, horizon=100, runs=1)
    with pytest.raises(SettingError, match="no pulls by arm"):
        draw("pulls", [many])


def test_results_of_one_name_are_told_apart(results: list[Result]) -> None:
    one = results[0]
    again = simulate("ucb-m", "linear:9", memory=2, horizon=2000, runs=3, seed=1)
    assert names([one, again]) == ["UCB-M, M = 2, runs 4", "UCB-M, M = 2, runs 3"]
    assert names([one, one]) == ["UCB-M, M = 2 #1", "UCB-M, M = 2 #2"]
    assert names([one, results[1]]) == ["UCB-M, M = 2", "UCB-M, M = 3"]


def test_a_policy_without_a_bound_is_not_given_a_memory() -> None:
    assert simulate("qrm2", "I1", horizon=20, runs=1).label == "QRM2"


def test_more_than_can_be_drawn_is_refused(results: list[Result]) -> None:
    with pytest.raises(SettingError, match="more than can be drawn in one panel"):
        draw("regret", [results[0]] * (MOST_LINES + 1))
    worlds = [simulate("ucb-m", f"linear:{k}", memory=2, horizon=5, runs=1) for k in range(3, 16)]
    with pytest.raises(SettingError, match="13 panels"):
        draw("regret", worlds)


def test_nonsense_is_refused(results: list[Result]) -> None:
    with pytest.raises(UnknownNameError, match="did you mean bars"):
        draw("bar", results)
    with pytest.raises(SettingError, match="no results"):
        draw("regret", [])
    with pytest.raises(SettingError, match="linear or log"):
        draw("regret", results, x="loglog")
    with pytest.raises(SettingError, match="as x"):
        draw("bars", results, y="log")


def test_figures_leave_no_trace_in_pyplot(results: list[Result], tmp_path: Path) -> None:
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams), plt.get_fignums()
    save(draw("regret", results), str(tmp_path / "x.png"))
    assert (dict(mpl.rcParams), plt.get_fignums()) == before
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_pulls_of_too_many_runs_are_drawn_without_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    few = simulate("ucb-m", "bernoulli:0.1,0.9,0.5", memory=2, horizon=90, runs=6, engine="python")
    monkeypatch.setattr("handful.simulation.outcome.MOST_PULLS", 10)
    many = simulate("ucb-m", "bernoulli:0.1,0.9,0.5", memory=2, horizon=90, runs=6, engine="python")
    assert many.pulls is None
    assert pulls_of(many)[0].tolist() == pulls_of(few).mean(axis=0).tolist()
    made = draw("pulls", [many])
    assert "no bands" in made.get_suptitle()
    assert "95% bands" in draw("pulls", [few]).get_suptitle()
