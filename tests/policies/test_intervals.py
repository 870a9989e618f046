"""The numbers of `policy.stats()`: in the user's range, as JSON, and an interval that covers."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

import handful
from handful.policies.stats import interval

COLOURS = ["red", "green", "blue"]


def four_rewards(**settings: object) -> handful.Policy:
    policy = handful.UCBM(arms=["red", "green"], memory=2, seed=1, **settings)  # type: ignore[arg-type]
    for reward in (1.0, 1.0, 0.0):
        policy.update("red", reward)
    policy.update("green", 0.0)
    return policy


def test_decisions_in_flight_are_those_by_ticket_and_the_selected_one() -> None:
    policy = four_rewards()
    tickets = [policy.decide().ticket for _ in range(3)]
    assert sum(arm.in_flight for arm in policy.stats()) == 3
    policy.select()
    assert sum(arm.in_flight for arm in policy.stats()) == 4
    policy.update(policy.select(), 1.0)
    for ticket in tickets:
        policy.reward(ticket, 1.0)
    assert sum(arm.in_flight for arm in policy.stats()) == 0


def test_an_arm_without_rewards_has_no_mean_and_the_widest_interval() -> None:
    stats = handful.UCBM(arms=COLOURS, memory=2, seed=1).stats()
    assert len(stats) == 2
    for arm in stats:
        assert (arm.pulls, arm.low, arm.high) == (0, 0.0, 1.0)
        assert math.isnan(arm.mean)
    assert str(stats).splitlines()[2].split()[-4:] == ["-", "0", "to", "1"]


def test_means_and_intervals_are_in_the_user_s_range() -> None:
    plain = {arm.arm: arm for arm in four_rewards().stats()}
    policy = handful.UCBM(arms=["red", "green"], memory=2, seed=1, rescale=(-5.0, 15.0))
    for reward in (15.0, 15.0, -5.0):
        policy.update("red", reward)
    policy.update("green", -5.0)
    for arm in policy.stats():
        unit = plain[arm.arm]
        assert arm.mean == pytest.approx(20.0 * unit.mean - 5.0)
        assert (arm.low, arm.high) == pytest.approx((20.0 * unit.low - 5.0, 20.0 * unit.high - 5.0))
        assert -5.0 <= arm.low <= arm.mean <= arm.high <= 15.0


@pytest.mark.parametrize(
    "arms",
    [
        np.arange(5),
        np.array(["a", "b", "c"]),
        np.array([0.5, 1.5]),
        [np.int64(3), np.str_("x"), np.float64(0.5)],
        COLOURS,
    ],
    ids=["integers", "texts", "floats", "scalars", "plain"],
)
def test_dicts_can_be_written_as_json(arms: object) -> None:
    policy = handful.UCBM(arms=arms, memory=2, seed=1)  # type: ignore[arg-type]
    for _ in range(20):
        policy.update(policy.select(), 1.0)
    rows = policy.stats().to_dicts()
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert list(rows[0]) == ["arm", "pulls", "in_flight", "mean", "low", "high", "recommended"]
    assert [row["arm"] for row in rows] == policy.arms_in_memory


def test_an_arm_without_rewards_can_be_written_as_json_too() -> None:
    rows = handful.UCBM(arms=COLOURS, memory=2, seed=1).stats().to_dicts()
    assert [row["mean"] for row in rows] == [None, None]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_a_snapshot_does_not_change() -> None:
    policy = four_rewards()
    stats = policy.stats()
    before = str(stats)
    policy.update("red", 1.0)
    assert str(stats) == before
    with pytest.raises(AttributeError):
        stats.rewards = 7  # type: ignore[misc]


# The 95% interval.


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100, 1000])
def test_the_interval_covers_bernoulli_means_at_least_95_times_of_100(n: int) -> None:
    """By summing the probabilities of all sums that it fails for: exact."""
    sums = np.arange(n + 1)
    low, high = np.array([interval(n, float(s)) for s in sums]).T
    for p in np.linspace(0.001, 0.999, 199):
        assert binom.pmf(sums, n, p)[(p < low) | (p > high)].sum() <= 0.05


def uniform(rng: random.Random) -> float:
    return rng.random()


def skewed(rng: random.Random) -> float:
    return float(rng.random() ** 5)


def rare(rng: random.Random) -> float:
    return 1.0 if rng.random() < 0.02 else 0.25 * rng.random()


DISTRIBUTIONS = [(uniform, 0.5), (skewed, 1.0 / 6.0), (rare, 0.02 + 0.98 * 0.125)]


@pytest.mark.parametrize(("draw", "mean"), DISTRIBUTIONS, ids=["uniform", "skewed", "rare"])
@pytest.mark.parametrize("n", [1, 10, 50])
def test_the_interval_covers_means_of_other_rewards(
    draw: Callable[[random.Random], float], mean: float, n: int
) -> None:
    """False-alarm rate: 1e-6 for each case if the coverage were 95% exactly; it is higher."""
    rng = random.Random(n)
    repeats = 4000
    missed = 0
    for _ in range(repeats):
        low, high = interval(n, sum(draw(rng) for _ in range(n)))
        missed += not low <= mean <= high
    assert missed <= binom.ppf(1.0 - 1e-6, repeats, 0.05)


def test_the_interval_is_not_needlessly_wide() -> None:
    """At n = 1000 it is at most half as wide again as the normal one."""
    for mean in (0.05, 0.5, 0.9):
        low, high = interval(1000, 1000 * mean)
        normal = 2 * 1.96 * math.sqrt(mean * (1 - mean) / 1000)
        assert high - low < 1.5 * normal


@pytest.mark.parametrize("n", [1, 3, 10**6])
def test_the_interval_holds_the_mean_and_stays_in_range(n: int) -> None:
    for mean in (0.0, 1e-9, 0.3, 1.0):
        low, high = interval(n, n * mean)
        assert 0.0 <= low <= mean <= high <= 1.0
    assert interval(0, 0.0) == (0.0, 1.0)
