from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import handful
from handful.errors import SettingError
from handful.simulation import Comparison, simulate
from handful.simulation.comparison import paired


def on_tape(policy: str = "ucb-m", **changes: Any) -> handful.Result:
    settings: dict[str, Any] = {
        "instance": "linear:9", "memory": 2, "horizon": 300, "runs": 8, "seed": 1, "tape": True,
        "engine": "python", **changes,
    }  # fmt: skip
    return simulate(policy, **settings)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return handful.compare(
        "race", "ucb-m:eta=0.2", "linear:9", memory=2, horizon=300, runs=8, seed=1, engine="python"
    )


def test_names_and_results_give_the_same(comparison: Comparison) -> None:
    results = handful.compare(on_tape("race"), on_tape("ucb-m:eta=0.2"))
    assert results.to_dict() == comparison.to_dict()


def test_the_interval_is_students_on_paired_differences(comparison: Comparison) -> None:
    differences = comparison.a.regret.per_run - comparison.b.regret.per_run
    half = 2.364624 * differences.std(ddof=1) / math.sqrt(8)  # t of 7 degrees of freedom
    assert comparison.difference.mean == pytest.approx(differences.mean())
    assert comparison.interval == pytest.approx(
        (differences.mean() - half, differences.mean() + half), rel=1e-6
    )
    assert comparison.probability == np.mean(differences < 0)


def test_pairs_vary_less_than_runs_apart_where_luck_is_shared() -> None:
    """On a tape both meet the same endless arms."""
    a, b = (on_tape(f"qucb-m:eta={eta}", instance="I1", runs=30, horizon=500) for eta in (0.2, 0.3))
    apart = math.hypot(a.regret.sem, b.regret.sem)
    assert paired(a, b).difference.sem < 0.5 * apart


def test_a_comparison_is_turned_around_with_its_arguments(comparison: Comparison) -> None:
    other = paired(comparison.b, comparison.a)
    assert other.difference.mean == -comparison.difference.mean
    assert other.interval == pytest.approx(tuple(-end for end in reversed(comparison.interval)))
    assert other.probability == pytest.approx(1 - comparison.probability)


def test_equal_results_are_a_tie() -> None:
    tie = paired(on_tape(), on_tape())
    assert tie.probability == 0.5
    assert tie.interval == (0.0, 0.0)
    assert "equal in every run" in repr(tie)


def test_one_run_has_no_interval_and_still_makes_json() -> None:
    one = paired(on_tape("race", runs=1), on_tape(runs=1))
    assert json.loads(json.dumps(one.to_dict(), allow_nan=False))["interval"] == [None, None]
    assert "95%" not in repr(one)
    assert "one run gives no interval" in repr(one)


def test_a_comparison_says_who_is_better() -> None:
    good = on_tape("ucb-m:eta=0.2", runs=30, horizon=3000)
    bad = on_tape("ucb-m:eta=5", runs=30, horizon=3000)
    for found in (paired(good, bad), paired(bad, good)):
        assert "UCB-M (eta=0.2), M = 2 is better" in repr(found)
    assert paired(good, bad).probability == 1.0


def test_a_notebook_shows_it_escaped(comparison: Comparison) -> None:
    name = "<b>&</b>"
    a = handful.Result({**comparison.a.settings, "label": name}, comparison.a.curve)
    html = paired(a, comparison.b)._repr_html_()
    assert name not in html
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in html
    assert html.count("<tr>") == html.count("</tr>") == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tape": False}, "without a common tape"),
        ({"instance": "linear:10"}, r"instance \(linear:9 and linear:10\)"),
        ({"horizon": 301}, r"horizon \(300 and 301\)"),
        ({"seed": 2}, r"seed \(1 and 2\)"),
        ({"runs": 9}, r"runs \(8 and 9\)"),
        ({"runs": range(1, 9)}, r"first run \(0 and 1\)"),
    ],
)
def test_results_that_are_no_pairs_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        handful.compare(on_tape(), on_tape(**change))


def test_arguments_that_do_not_go_together_are_refused() -> None:
    mixed: Any = on_tape()
    with pytest.raises(SettingError, match="not one of each"):
        handful.compare(mixed, "ucb-m")
    with pytest.raises(SettingError, match="give the instance and the horizon"):
        handful.compare("race", "ucb-m")
    with pytest.raises(SettingError, match=r"give compare\(a, b\) only"):
        handful.compare(mixed, mixed, horizon=5)
    with pytest.raises(SettingError, match="neither policy takes one"):
        handful.compare("ucb1", "ts", "linear:9", memory=2, horizon=5)


def test_a_policy_with_a_memory_of_its_own_is_compared_too() -> None:
    found = handful.compare("ucb1", "ucb-m", "linear:5", memory=2, horizon=50, runs=2,
                            engine="python")  # fmt: skip
    assert (found.a.settings["memory"], found.b.settings["memory"]) == (5, 2)


@pytest.mark.parametrize("given", [{"runs": 7}, {"seed": 99}, {"engine": "python"}, {"n_jobs": 1}])
def test_results_are_compared_as_they_are(comparison: Comparison, given: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="simulated already"):
        handful.compare(comparison.a, comparison.b, **given)


def test_a_setting_belongs_into_a_name() -> None:
    with pytest.raises(SettingError, match=r'"ucb-m:eta=0\.2"'):
        handful.compare("ucb-m", "race", "linear:9", memory=2, horizon=9, eta=0.2)


def test_it_says_how_rewards_come_and_shows_numbers_in_full() -> None:
    means = [0.9, *(0.1 + i / 1000 for i in range(60))]
    found = handful.compare(
        "random", "ucb1", means, horizon=30_000, runs=2, delay=50, engine="python"
    )
    heading, *rows = repr(found).splitlines()
    assert "delay=50" in heading
    assert "e+" not in "".join(rows)
