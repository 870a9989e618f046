"""Drifting means, against a plain recomputation of their definitions."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from handful.core.rng import normal, stream
from handful.errors import SettingError, UnknownNameError
from handful.instances import instance
from handful.instances.drift import (
    FALLS,
    NEVER,
    NONE,
    RISES,
    SWAP,
    WALK,
    Drift,
    best_arm,
    change,
    change_time,
    drift,
    reflected,
)
from tests.helpers import refused

MEANS = [0.3, 0.8, 0.1, 0.8, 0.5]
Z = 4.9
"""Of a normal number beyond which lies a probability of 10^-6 on both sides together."""


def changed(spec: str, means: list[float], rng: list[int]) -> list[float]:
    made = drift(spec)
    found = list(means)
    change(made.kind, made.number, min(MEANS), max(MEANS), found, rng)
    return found


def times(spec: str, T: int) -> list[int]:
    made = drift(spec)
    found = (change_time(made.kind, made.number, T, k) for k in range(1, T + 10))
    return [t for t in found if t < T]


# Names.


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("falls", "falls"),
        ("rises", "rises:0.97"),
        ("rises:0.9", "rises:0.9"),
        ("swap:5", "swap:5"),
        ("swap:1e2", "swap:100"),
        (" walk:0.01 ", "walk:0.01"),
    ],
)
def test_a_drift_has_a_canonical_name(spec: str, name: str) -> None:
    assert drift(spec).name == name
    assert drift(name) == drift(spec)


@pytest.mark.parametrize(
    "spec", ["falls:1", "swap", "swap:0", "swap:1.5", "swap:x", "walk", "walk:nan", "rises:x"]
)
def test_a_number_that_cannot_be_is_refused(spec: str) -> None:
    with refused(SettingError, ValueError, f"drift={spec}"):
        drift(spec)


def test_an_unknown_drift_is_refused() -> None:
    with refused(UnknownNameError, ValueError, "drift 'fall'", "falls"):
        drift("fall")


@pytest.mark.parametrize(
    ("spec", "world", "mention"),
    [
        ("rises:0.8", "bernoulli:0.3,0.8", "above the best mean, 0.8"),
        ("rises:1.1", "bernoulli:0.3,0.8", "at most 1"),
        ("rises", "linear:10", "above the best mean, 0.99"),
        ("falls", "linear:5000", "at most 4096"),
        ("falls", "I1", "endless arms"),
        ("falls", "bernoulli:0.5", "at least 2"),
        ("swap:50", "linear:10", "at most swap:40"),
        ("walk:0", "linear:10", "above 0"),
        ("walk:2", "linear:10", "at most their difference, 0.98"),
        ("walk:0.1", "bernoulli:0.5,0.5", "at most their difference, 0"),
        ("walk:0.1", "bernoulli:0,0.5+truncnorm", "truncnorm needs means"),
        ("rises:0.9999999", "bernoulli:0.2,0.5+truncnorm", "truncnorm needs means"),
    ],
)
def test_a_drift_that_the_instance_cannot_go_through_is_refused(
    spec: str, world: str, mention: str
) -> None:
    with refused(SettingError, ValueError, f"drift={drift(spec).name}", mention):
        drift(spec).check(instance(world), 4096, 40)


# Times.


def test_falls_and_rises_come_once_after_half_of_the_decisions() -> None:
    for T in (1, 2, 9, 100):
        assert times("falls", T) == times("rises", T) == [T // 2]


@pytest.mark.parametrize(("n", "T"), [(1, 10), (5, 100), (5, 103), (7, 100), (10, 10), (9, 4)])
def test_swaps_come_every_nth_part_of_the_horizon(n: int, T: int) -> None:
    assert times(f"swap:{n}", T) == [k * T // n for k in range(1, n)]


def test_a_walk_goes_a_step_every_100_decisions() -> None:
    assert times("walk:0.1", 450) == [100, 200, 300, 400]


def test_without_drift_no_change_comes() -> None:
    assert change_time(NONE, 0.0, 100, 1) == NEVER


def test_long_runs_do_not_overflow() -> None:
    for T, n in ((2**53, 10**6), (2**53 - 1, 10**6)):
        assert change_time(SWAP, n, T, n - 1) == (n - 1) * T // n
        # What is multiplied on the way fits into 64 bits.
        assert (n - 1) * (T % n) < 2**63
        assert (n - 1) * (T // n) < 2**63


# Changes.


def test_the_best_arm_is_the_first_of_several() -> None:
    assert best_arm(MEANS) == 1


def test_the_best_arm_falls_to_the_lowest_mean() -> None:
    assert changed("falls", MEANS, stream("test", 1)) == [0.3, 0.1, 0.1, 0.8, 0.5]


def test_a_random_arm_other_than_the_best_rises() -> None:
    rng = stream("test", 2)
    risen: Counter[int] = Counter()
    n = 8000
    for _ in range(n):
        found = changed("rises:0.9", MEANS, rng)
        (arm,) = (arm for arm in range(5) if found[arm] == 0.9)
        assert [mean for i, mean in enumerate(found) if i != arm] == MEANS[:arm] + MEANS[arm + 1 :]
        risen[arm] += 1
    assert set(risen) == {0, 2, 3, 4}
    for count in risen.values():
        assert abs(count - n / 4) < Z * math.sqrt(n * 3 / 16)


def test_the_best_arm_and_a_random_other_exchange_their_means() -> None:
    rng = stream("test", 3)
    partners = set()
    for _ in range(100):
        found = changed("swap:5", MEANS, rng)
        assert sorted(found) == sorted(MEANS)
        moved = [arm for arm in range(5) if found[arm] != MEANS[arm]]
        partners.add(tuple(moved))
    assert partners == {(0, 1), (1, 2), (), (1, 4)}  # arm 3 is as good as arm 1


def test_a_walk_moves_each_mean_by_a_normal_step_and_reflects_it() -> None:
    rng, steps = stream("test", 4), stream("test", 4)
    found = list(MEANS)
    reflections = 0
    for _ in range(300):
        expected = []
        for mean in found:
            x = mean + 0.3 * normal(steps)
            while not 0.1 <= x <= 0.8:
                reflections += 1
                x = 0.1 + (0.1 - x) if x < 0.1 else 0.8 - (x - 0.8)
            expected.append(x)
        found = changed("walk:0.3", found, rng)
        assert found == pytest.approx(expected, abs=1e-12)
        assert all(0.1 <= mean <= 0.8 for mean in found)
    assert reflections > 100


def test_far_steps_are_reflected_more_than_once() -> None:
    assert reflected(0.95, 0.2, 0.5) == pytest.approx(0.35)
    assert reflected(-0.5, 0.2, 0.5) == pytest.approx(0.3)
    assert reflected(0.2, 0.2, 0.5) == 0.2


def test_the_kinds_are_those_of_the_names() -> None:
    kinds = [drift(spec).kind for spec in ("falls", "rises", "swap:2", "walk:0.1")]
    assert kinds == [FALLS, RISES, SWAP, WALK]
    assert drift("falls") == Drift(FALLS)
