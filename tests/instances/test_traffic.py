"""Traffic: how settings are read, and when a reward arrives."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from handful.core.rng import stream, uniform
from handful.errors import SettingError
from handful.instances import instance
from handful.instances.traffic import (
    BATCH,
    FIXED,
    GEOMETRIC,
    LOST,
    MOST_DELAY,
    Numbers,
    Traffic,
    arrival,
    traffic,
)
from tests.helpers import refused

WORLD = instance("linear:5")
Z = 4.9
"""Of a normal number beyond which lies a probability of 10^-6 on both sides together."""


def numbers(**given: object) -> Numbers:
    made = traffic(**given)  # type: ignore[arg-type]
    assert made is not None
    return made.numbers(WORLD)


def delays_of(flow: Numbers, draws: int, seed: int = 1) -> list[int]:
    rng = stream("test", seed)
    return [arrival(flow, t, 1.0, rng) - t for t in range(1, draws + 1)]


# Settings.


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"delay": 200}, "delay=200"),
        ({"delay": 2e2}, "delay=200"),
        ({"delay": " 200 "}, "delay=200"),
        ({"delay": "geometric:200"}, "delay=geometric:200"),
        ({"delay": "geometric:0.5"}, "delay=geometric:0.5"),
        ({"delay": "batch:500", "lost": 0.25}, "delay=batch:500 lost=0.25"),
        ({"lost": 0.2}, "lost=0.2"),
        ({"delay": 5, "clicks_only": 5}, "delay=5 clicks_only=5"),
        ({"clicks_only": 30, "lost": 0.1}, "lost=0.1 clicks_only=30"),
        ({"drift_spec": "rises"}, "drift=rises:0.97"),
        ({"drift_spec": "swap:5", "delay": 1}, "delay=1 drift=swap:5"),
    ],
)
def test_traffic_has_a_canonical_name(given: dict[str, object], name: str) -> None:
    made = traffic(**given)  # type: ignore[arg-type]
    assert made is not None
    assert made.name == name


@pytest.mark.parametrize("delay", [None, 0, "0", "0.0", "geometric:0", "batch:1"])
def test_rewards_that_come_at_once_are_no_traffic(delay: str | int | None) -> None:
    assert traffic(delay, lost=0) is None


@pytest.mark.parametrize(
    "delay",
    [-1, "-1", 0.5, "x", "", "geometric", "geometric:", "geometric:-1", "batch:0", "batch:1.5",
     "uniform:3", True, "nan", "inf", MOST_DELAY + 1],
)  # fmt: skip
def test_a_delay_that_cannot_be_is_refused(delay: str | float) -> None:
    with refused(SettingError, ValueError, "delay="):
        traffic(delay)


def test_the_message_says_what_to_give() -> None:
    with refused(SettingError, ValueError, "200", "geometric:200", "batch:N"):
        traffic("soon")


@pytest.mark.parametrize("lost", [-0.1, 1.0, 2, math.nan, "x", True])
def test_a_loss_that_is_no_probability_below_1_is_refused(lost: float) -> None:
    with refused(SettingError, ValueError, "lost=", "at least 0 and below 1"):
        traffic(lost=lost)


@pytest.mark.parametrize(
    ("delay", "window"), [(None, 0), (20, 19), (None, -3), (0, 1.5), ("batch:20", 18)]
)
def test_a_window_shorter_than_the_delay_is_refused(delay: str | int | None, window: int) -> None:
    with refused(SettingError, ValueError, "clicks_only="):
        traffic(delay, clicks_only=window)


@pytest.mark.parametrize(("delay", "window"), [(20, 20), ("batch:20", 19), ("geometric:20", 1)])
def test_a_window_as_long_as_the_delay_is_taken(delay: str | int, window: int) -> None:
    made = traffic(delay, clicks_only=window)
    assert made is not None
    assert made.clicks_only == window


# Arrival.


def test_the_reward_of_decision_t_arrives_after_decision_t_plus_the_delay() -> None:
    assert delays_of(numbers(delay=3), 20) == [3] * 20


def test_batches_arrive_after_every_nth_decision() -> None:
    flow = numbers(delay="batch:4")
    rng = stream("test", 1)
    found = [arrival(flow, t, 0.0, rng) for t in range(1, 10)]
    assert found == [4, 4, 4, 4, 8, 8, 8, 8, 12]


def assert_geometric(delays: list[int], mean: float) -> None:
    """Fails with a probability of about 10^-6 for each number of these, if they are geometric."""
    n = len(delays)
    q = mean / (mean + 1.0)
    assert abs(sum(delays) / n - mean) < Z * math.sqrt(mean * (mean + 1.0) / n)
    for k, count in Counter(min(delay, 12) for delay in delays).items():
        p = q**12 if k == 12 else q**k * (1.0 - q)
        assert abs(count - n * p) < Z * math.sqrt(n * p * (1.0 - p))


@pytest.mark.parametrize("mean", [0.5, 7.0])
def test_geometric_delays_have_their_distribution(mean: float) -> None:
    assert_geometric(delays_of(numbers(delay=f"geometric:{mean}"), 20_000), mean)


@pytest.mark.parametrize("mean", [0.5, 7.0])
def test_a_wrong_constant_would_be_seen(mean: float) -> None:
    flow = numbers(delay=f"geometric:{mean}")
    for wrong in (-1.0 / mean, -math.log1p(1.0 / (mean + 1.0))):
        with pytest.raises(AssertionError):
            assert_geometric(delays_of(flow._replace(log_q=wrong), 20_000), mean)


@pytest.mark.parametrize("mean", [0.01, 0.5, 200.0, 1e6])
def test_the_longest_geometric_delay_is_bounded(mean: float) -> None:
    made = Traffic(GEOMETRIC, mean)
    flow = made.numbers(WORLD)
    longest = int(math.log(2.0**-53) / flow.log_q)
    assert 0 <= longest <= made.longest_delay(2**53) < 40 * (mean + 1.0)
    assert made.longest_delay(10) <= 10


def test_the_longest_delay() -> None:
    assert Traffic(FIXED, 7).longest_delay(1000) == 7
    assert Traffic(BATCH, 7).longest_delay(1000) >= 6
    assert Traffic(FIXED, 7, clicks_only=30).longest_delay(1000) == 7


def test_losses_have_their_share_and_do_not_change_delays() -> None:
    flow = numbers(delay="geometric:5", lost=0.2)
    n = 20_000
    rng, uniforms = stream("test", 3), stream("test", 3)
    lost = 0
    for t in range(1, n + 1):
        gone = uniform(uniforms) < 0.2
        delay = int(math.log(uniform(uniforms) + 2.0**-53) / math.log(5.0 / 6.0))
        lost += gone
        assert arrival(flow, t, 1.0, rng) == (LOST if gone else t + delay)
    assert abs(lost - 0.2 * n) < Z * math.sqrt(0.2 * 0.8 * n)


def test_what_is_drawn_does_not_depend_on_the_reward() -> None:
    flow = numbers(delay="geometric:5", lost=0.3, clicks_only=40)
    ones, zeros = stream("test", 4), stream("test", 4)
    for t in range(1, 200):
        click, none = arrival(flow, t, 1.0, ones), arrival(flow, t, 0.0, zeros)
        assert ones == zeros
        assert click == LOST or click >= t
        assert none == LOST


def test_only_rewards_of_0_are_not_reported() -> None:
    flow = numbers(delay=2, clicks_only=9)
    rng = stream("test", 5)
    assert [arrival(flow, 10, x, rng) for x in (0.0, 1e-9, 1.0)] == [LOST, 12, 12]
