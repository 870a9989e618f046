from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from handful.evaluation.intervals import (
    ValueEstimate,
    bernstein_mean,
    normal_mean,
    plain_mean,
    weighted_mean,
)

Z = 1.959963984540054


def test_coins_have_wilson_s_interval() -> None:
    # Newcombe (1998), table I: 15 of 148 has the score interval 0.0624 to 0.1605.
    found = plain_mean(np.array([1.0] * 15 + [0.0] * 133))
    assert found.value == pytest.approx(15 / 148)
    assert (round(found.low, 4), round(found.high, 4)) == (0.0624, 0.1605)


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.5])
def test_equal_rewards_have_an_interval_with_a_width(reward: float) -> None:
    found = plain_mean(np.full(20, reward))
    assert found.low <= reward <= found.high
    assert found.high - found.low > 0.1


def test_other_rewards_have_student_s_interval() -> None:
    rewards = np.array([0.1, 0.4, 0.35, 0.8])
    low, high = stats.t.interval(0.95, 3, loc=rewards.mean(), scale=stats.sem(rewards))
    found = plain_mean(rewards)
    assert found == pytest.approx((rewards.mean(), max(0.0, low), high))


def test_the_delta_method_by_hand() -> None:
    # v = (2 * 1 + 1 * 0 + 1 * 1) / 4 = 3/4; sum w^2 (r - v)^2 = 4/16 + 9/16 + 1/16 = 14/16.
    found = weighted_mean(np.array([2.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]))
    half = Z * math.sqrt(14 / 16) / 4
    assert found == pytest.approx((0.75, 0.75 - half, 1.0))


def test_the_normal_interval_by_hand() -> None:
    # mean 1/2, variance ((1/2)^2 * 4) / 3 = 1/3.
    found = normal_mean(np.array([0.0, 1.0, 0.0, 1.0]))
    half = Z * math.sqrt(1 / 3) / 2
    assert found == pytest.approx((0.5, max(0.0, 0.5 - half), min(1.0, 0.5 + half)))
    assert normal_mean(np.array([0.2, 0.4])) == pytest.approx((0.3, 0.3 - Z * 0.1, 0.3 + Z * 0.1))


def test_the_bernstein_bound_by_hand() -> None:
    # 1,000 terms of which half are 0.2 and half 0.4: mean 0.3, variance 0.01 * 1000 / 999.
    terms = np.array([0.2, 0.4] * 500)
    log = math.log(4 / 0.05)
    half = math.sqrt(2 * (10 / 999) * log / 1000) + 7 * 2.0 * log / (3 * 999)
    assert bernstein_mean(terms, 2.0) == pytest.approx((0.3, 0.3 - half, 0.3 + half))


def test_without_a_width_there_is_no_interval() -> None:
    found = normal_mean(np.zeros(9))
    assert found.value == 0.0
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert str(found) == "0, no interval"
    assert found.to_dict() == {"value": 0.0, "low": None, "high": None}


def test_of_nothing_nothing_is_known() -> None:
    for found in (plain_mean(np.array([])), normal_mean(np.array([1.0]))):
        assert str(found) == "unknown"
        assert found.to_dict() == {"value": None, "low": None, "high": None}


def test_estimates_are_given_in_the_units_of_the_log() -> None:
    assert ValueEstimate(0.5, 0.25, 0.75).scaled(-1.0, 3.0) == (1.0, 0.0, 2.0)
    assert str(ValueEstimate(0.5, 0.25, 0.75)) == "0.5, 95% interval 0.25 to 0.75"
