from __future__ import annotations

import json
import math
from typing import Any

import pytest

from handful import evaluate, read_log
from handful.errors import SettingError, UnknownNameError
from tests.evaluation.logs import MISREPORTED, SKEWED, World, bounds, missed
from tests.helpers import refused

TINY = {"arm": ["a", "b", "a", "c"], "reward": [1, 1, 0, 0], "probability": [0.5, 0.25, 0.5, 0.25]}


@pytest.mark.parametrize(
    ("target", "ips", "snips", "sample"),
    [
        # Weights 1/3 over p: 2/3, 4/3, 2/3, 4/3. IPS (2/3 + 4/3) / 4; their sum is 4.
        ("uniform", 1 / 2, 1 / 2, 16 / (2 * 4 / 9 + 2 * 16 / 9)),
        # Weights 2, 0, 2, 0.
        ("arm:a", 2 / 4, 1 / 2, 16 / 8),
        # Weights 0, 4, 0, 0.
        ("arm:b", 4 / 4, 1.0, 1.0),
        ("arm:c", 0.0, 0.0, 1.0),
    ],
)
def test_a_tiny_log_by_hand(target: str, ips: float, snips: float, sample: float) -> None:
    found = evaluate(TINY, target)
    assert found.ips.value == pytest.approx(ips)
    assert found.snips.value == pytest.approx(snips)
    assert found.conservative.value == found.ips.value
    assert found.sample == pytest.approx(sample)
    assert found.rows == 4


def test_rewards_in_another_range_have_values_in_it() -> None:
    log = read_log({**TINY, "reward": [5, 5, 3, 3]}, rescale=(3, 5))
    assert evaluate(log, "arm:a").snips.value == pytest.approx(4.0)
    assert evaluate(log, "arm:b").ips.value == pytest.approx(5.0)


def test_the_best_arms_are_chosen_by_one_half_and_evaluated_on_the_other() -> None:
    # In the even rows arm b is better, in the odd ones arm a.
    log = {"arm": list("aabb") * 50, "reward": [0, 1, 1, 0] * 50}
    one, both = (evaluate(log, f"best:{count}") for count in (1, 2))
    assert one.snips.value == 0.0
    assert one.rows == 100
    assert one.note == "chosen by the even rows and evaluated on the odd ones: b"
    assert both.snips.value == 0.5
    assert both.note.endswith("odd ones: b, a")


def test_the_best_arm_is_chosen_by_mean_and_not_by_number() -> None:
    log = read_log({
        "arm": list("aaaaaaaabb"), "reward": [1, 0, 0, 0, 0, 0, 1, 0, 1, 1],
        "probability": [0.8] * 8 + [0.2] * 2,
    })  # fmt: skip
    assert evaluate(log, "best:1").note.endswith(": b")


def test_the_best_arm_is_chosen_by_weighted_means() -> None:
    # Arm a was shown mostly when it was rewarded: 3/4 of its rows, but 1/4 by weight; arm b 1/2.
    even = [("a", 1, 0.9)] * 3 + [("a", 0, 0.1)] + [("b", 1, 0.5), ("b", 0, 0.5)]
    rows = [row for row in even for _ in range(2)]
    arm, reward, probability = zip(*rows, strict=True)
    log = {"arm": list(arm), "reward": list(reward), "probability": list(probability)}
    assert evaluate(log, "best:1").note.endswith(": b")


def test_the_recommended_arm_of_the_time() -> None:
    log = {**TINY, "recommended": ["a", "a", "b", "c"]}
    # Weights 2, 0, 0, 4.
    found = evaluate(log, "recommended")
    assert found.ips.value == pytest.approx(2 / 4)
    assert found.snips.value == pytest.approx(2 / 6)
    with refused(SettingError, ValueError, "column 'recommended'", "arm:LABEL"):
        evaluate(TINY, "recommended")


def test_a_target_chooses_among_its_allowed_arms() -> None:
    log: dict[str, Any] = {
        "arm": ["a", "b", "c", "b"], "reward": [1, 1, 0, 0],
        "probability": [0.5, 0.5, 0.5, 1.0], "allowed": [["a", "b"], ["b", "a"], ["b", "c"], ["b"]],
        "recommended": ["a", "a", "c", "a"],
    }  # fmt: skip
    assert evaluate(log, "uniform").ips.value == pytest.approx(2 / 4)
    only_a = evaluate(log, "arm:a")  # weights 2, 0; in the other rows it was not allowed
    assert (only_a.rows, only_a.ips.value) == (2, 1.0)
    assert any("in 2 decisions no arm of arm:a was allowed" in text for text in only_a.warnings)
    recommended = evaluate(log, "recommended")  # weights 2, 0, 2; the last was not allowed
    assert recommended.rows == 3
    assert recommended.ips.value == pytest.approx(2 / 3)


def test_a_uniform_log_s_uniform_target_is_its_mean() -> None:
    log = World([0.2, 0.5, 0.9], [1 / 3] * 3).log(500, seed=1)
    found = evaluate(log)
    assert found.ips.value == found.snips.value == pytest.approx(log.value.value)
    assert found.sample == pytest.approx(500)


def test_an_arm_without_rewarded_rows_is_known_by_the_conservative_bound_only() -> None:
    found = evaluate({"arm": ["a", "b"] * 500, "reward": [1, 0] * 500}, "arm:b")
    assert math.isnan(found.ips.high)
    assert found.conservative.low == 0.0
    assert 0.0 < found.conservative.high < 0.05


@pytest.mark.parametrize(
    ("target", "mentions"),
    [
        ("uniforme", ("'uniforme'", "uniform, arm:LABEL, best:K or recommended")),
        ("best:0", ("from 1 to 3", "best:1")),
        ("best:4", ("from 1 to 3",)),
        ("best:x", ("from 1 to 3",)),
        ("arm", ("arm:LABEL",)),
    ],
)
def test_a_target_that_is_none_is_refused(target: str, mentions: tuple[str, ...]) -> None:
    with refused(SettingError, ValueError, *mentions):
        evaluate(TINY, target)


def test_an_arm_that_is_not_in_the_log_is_refused() -> None:
    with refused(UnknownNameError, ValueError, "no arm in this log 'd'", "a, b, c"):
        evaluate(TINY, "arm:d")


def test_text_and_json() -> None:
    found = evaluate(SKEWED.log(2000, seed=3), "uniform")
    lines = repr(found).splitlines()
    assert lines[0].startswith("uniform, from 2,000 decisions worth 1,")
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "IPS", "self-normalised", "conservative",
    ]  # fmt: skip
    data = json.loads(json.dumps(found.to_dict()))
    assert data["ips"]["value"] == found.ips.value
    assert data["effective_sample_size"] == found.sample


# The intervals. Over many logs, a 95% interval misses the truth in 5% of them; the counts stay in
# `bounds` but for a false-alarm rate of 1e-4 for each count.

CASES = [("uniform", SKEWED.value()), ("arm:arm 04", SKEWED.value(4)), ("arm:arm 00", 0.2)]


def check_coverage(world: World, target: str, truth: float, rows: int, logs: int) -> None:
    found = [evaluate(world.log(rows, seed), target) for seed in range(logs)]
    low, high = bounds(logs)
    for name in ("ips", "snips"):
        misses = missed((getattr(each, name), truth) for each in found)
        assert low <= misses <= high, f"{name}: {misses} of {logs}"
    assert missed((each.conservative, truth) for each in found) <= high


def test_a_known_value_is_inside_the_intervals() -> None:
    check_coverage(SKEWED, *CASES[0], rows=1000, logs=300)


def test_a_wrong_probability_is_outside_the_intervals() -> None:
    with pytest.raises(AssertionError, match="ips: "):
        check_coverage(MISREPORTED, *CASES[0], rows=1000, logs=300)
    _, high = bounds(100)
    wrong = [evaluate(MISREPORTED.log(2000, seed)) for seed in range(100)]
    for name in ("ips", "snips", "conservative"):
        assert missed((getattr(each, name), SKEWED.value()) for each in wrong) > high
    assert sum(bool(each.log.warnings) for each in wrong) > 90  # seldom unnoticed


@pytest.mark.long
@pytest.mark.parametrize(("target", "truth"), CASES)
def test_a_known_value_is_inside_the_intervals_of_1000_logs(target: str, truth: float) -> None:
    check_coverage(SKEWED, target, truth, rows=2000, logs=1000)


@pytest.mark.long
def test_rare_clicks_are_inside_the_intervals_of_1000_logs() -> None:
    means = [0.002 + 0.001 * arm for arm in range(10)]
    world = World(means, [0.3, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.03, 0.02, 0.02])
    check_coverage(world, "uniform", world.value(), rows=10_000, logs=1000)
