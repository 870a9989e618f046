"""The rejection contest against plain draws: each arm is the highest with its exact probability."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from handful.compiling.jit import family, kernel, use
from handful.core.rng import stream, uniform
from handful.simulation.kernels import contest, thompson, world  # noqa: F401  (rng in kernels)
from tests.posteriors import Record, python_choices, random_record, win_probabilities, wins_fit

# Each test of fit has the false-alarm rate of tests/fit.py, 1e-5; there are 85 here, so a right
# contest would fail this file for less than 9 seeds in 10,000.
DRAWS = 20_000
SQUEEZED = 0.0
"""In place of a depth: the level that the kernel of Thompson sampling sets."""


@use
def prepare(n: Any, s: Any, m: int, depth: float, tails: Any) -> tuple[int, float, float]:
    """The leader, a level q so many deviations below its mean, and prod (1 - G_i)."""
    if depth == SQUEEZED:
        leader, q, _, _ = thompson.set_level(n, s, m, tails)
    else:
        leader = 0
        for i in range(1, m):
            if (1.0 + s[i]) / (2.0 + n[i]) > (1.0 + s[leader]) / (2.0 + n[leader]):
                leader = i
        mean = (1.0 + s[leader]) / (2.0 + n[leader])
        q = mean - depth * math.sqrt(mean * (1.0 - mean) / (n[leader] + 3.0))
        for i in range(m):
            tails[i] = 0.0 if i == leader else contest.tail(n[i], s[i], q)
    none = 1.0
    for i in range(m):
        none *= 1.0 - tails[i]
    return leader, q, none


def count_wins(
    n: Any, s: Any, m: int, depth: float, draws: int, rng: Any, tails: Any, wins: Any
) -> None:
    leader, q, none = prepare(n, s, m, depth, tails)
    for _ in range(draws):
        highest = contest.draw(n[leader], s[leader], rng)
        u = uniform(rng)
        wins[contest.contest(n, s, m, tails, leader, q, none, highest, u, rng)] += 1


quick_count = kernel(count_wins, family("test", "wins", count_wins))


def compiled_wins(record: Record, depth: float, index: int) -> list[int]:
    pulls, sums = record
    m = len(pulls)
    state = np.array(stream("wins", index), dtype=np.uint64)
    wins = np.zeros(m, dtype=np.int64)
    quick_count(np.array(pulls), np.array(sums), m, depth, 400_000, state, np.zeros(m), wins)
    return [int(count) for count in wins]


@pytest.mark.parametrize("index", range(40))
def test_an_arm_is_picked_with_the_probability_that_its_draw_is_the_highest(index: int) -> None:
    record = random_record(index)
    assert wins_fit(compiled_wins(record, 2.0, index), win_probabilities(*record)), record


@pytest.mark.parametrize("index", range(40, 54))
@pytest.mark.parametrize("depth", [0.3, 6.0, SQUEEZED])
def test_the_level_is_a_matter_of_speed_alone(index: int, depth: float) -> None:
    record = random_record(index)
    assert wins_fit(compiled_wins(record, depth, index), win_probabilities(*record)), record


NEAR: Record = ([400] * 6, [240.0, *[208.0] * 5])


def python_wins(record: Record) -> list[int]:
    m = len(record[0])
    wins = [0] * m
    count_wins(*record, m, 2.0, DRAWS, stream("near", "python"), [0.0] * m, wins)
    return wins


def test_the_same_in_python() -> None:
    assert wins_fit(python_wins(NEAR), win_probabilities(*NEAR))


def test_plain_draws_choose_with_the_same_probabilities() -> None:
    assert wins_fit(python_choices(NEAR, DRAWS), win_probabilities(*NEAR))


def test_a_rival_whose_tail_is_too_small_for_a_double_can_still_win() -> None:
    # Far below q there is nothing of it, but the leader may draw lower still.
    record: Record = ([7, 100_000], [7.0, 50_000.0])
    tails: Any = [0.0, 0.0]
    pulls, sums = record
    prepare(cast(Any, pulls), cast(Any, sums), 2, 2.0, tails)
    assert tails == [0.0, 0.0]
    probabilities = win_probabilities(*record)
    assert 0.001 < probabilities[1] < 0.1
    assert wins_fit(python_wins(record), probabilities)


@pytest.mark.parametrize("wrong", [0.7, 1.4])
def test_a_wrong_mass_of_the_tail_would_be_seen(
    wrong: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = contest.tail

    def wrong_tail(n: int, s: float, q: float) -> float:
        right = tail(n, s, q)
        return wrong * right if right < 0.7 else right

    monkeypatch.setattr(contest, "tail", wrong_tail)
    assert not wins_fit(python_wins(NEAR), win_probabilities(*NEAR))


@pytest.mark.parametrize("index", range(40))
def test_the_exponential_lies_over_the_tail(index: int) -> None:
    pulls, sums = random_record(index)
    for n, s in zip(pulls, sums, strict=True):
        for q in (0.01, 0.3, 0.5, 0.9, 0.999, min(0.999, s / max(1, n) + 1e-3)):
            mass = contest.tail(n, s, q)
            assert mass >= stats.beta.sf(q, 1 + s, 1 + n - s) * (1 - 1e-9)
