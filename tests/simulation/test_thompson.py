"""Thompson sampling without the draws: probabilities of two arms, and picks among more."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

from handful.compiling.jit import family, kernel
from handful.core.rng import stream
from handful.simulation.kernels import posteriors, thompson
from handful.simulation.kernels.block import Luck, Memory, Scratch, Space, space
from handful.simulation.kernels.lanes import WIDTH
from tests.posteriors import Record, random_record, win_probabilities, wins_fit
from tests.simulation.agree import TRIALS

# Two arms.


def exact_h(a: int, b: int, c: int, d: int) -> Fraction:
    """B(a + c, b + d) / (B(a, b) B(c, d)) as a fraction."""

    def inverse_beta(x: int, y: int) -> int:
        return x * comb(x + y - 1, x)

    return Fraction(inverse_beta(a, b) * inverse_beta(c, d), inverse_beta(a + c, b + d))


def exact_probability(a: int, b: int, c: int, d: int) -> Fraction:
    """P(Beta(a, b) > Beta(c, d)), by counting orders of uniform numbers.

    The a-th smallest of a + b - 1 exceeds the c-th smallest of c + d - 1 if at least c of the
    latter are among the first of all so that fewer than a of the former are.
    """
    n, m = a + b - 1, c + d - 1
    total = comb(n + m, m)
    # j of the first kind come before the c-th of the second kind; it wins if j < a.
    ways = sum(comb(j + c - 1, j) * comb(n - j + m - c, n - j) for j in range(a))
    return Fraction(ways, total)


@pytest.mark.parametrize("index", range(60))
def test_the_sum_is_the_probability(index: int) -> None:
    dice = random.Random(index)
    a, b, c, d = (int(10 ** dice.uniform(0, 2.5)) for _ in range(4))
    exact = exact_probability(a, b, c, d)
    h = exact_h(a, b, c, d)
    if h < Fraction(1, 10**250):
        pytest.fail("choose another case: h does not fit a double")
    found = posteriors.probability_above(a, b, c, d, float(h))
    assert found == pytest.approx(float(exact), rel=1e-12)


def test_counting_orders_is_right() -> None:
    for shapes in [(1, 1, 1, 1), (2, 1, 1, 1), (3, 4, 2, 5), (10, 3, 7, 6)]:
        a, b, c, d = shapes
        fine = np.linspace(0, 1, 20001)
        under = stats.beta(a, b).pdf(fine) * stats.beta(c, d).cdf(fine)
        assert float(exact_probability(*shapes)) == pytest.approx(
            np.trapezoid(under, fine), abs=1e-7
        )


def new_duel(mu0: float, mu1: float, seed: int) -> tuple[Space, Luck]:
    room = space(2, WIDTH)
    room.memory.mus[:WIDTH] = mu0
    room.memory.mus[WIDTH:] = mu1
    for lane in range(WIDTH):
        for words, name in ((room.choices, "choices"), (room.rewards, "rewards")):
            words[lane], words[WIDTH + lane] = stream(name, seed, lane)
    return room, Luck(room.choices, room.rewards, room.tape, False, TRIALS)


def run_duel(until: int, t: int, memory: Memory, luck: Luck, scratch: Scratch) -> None:
    thompson.duel(until, t, WIDTH, memory, luck, scratch)


run_duel = kernel(run_duel, family("test", "duel", run_duel))


def log_h(a: float, b: float, c: float, d: float) -> float:

    return float(betaln(a + c, b + d) - betaln(a, b) - betaln(c, d))


@pytest.mark.parametrize(
    ("mu0", "mu1"), [(0.5, 0.5), (0.9, 0.5), (0.99, 0.98), (1.0, 0.3), (0.001, 0.002), (0.0, 0.0)]
)
@pytest.mark.parametrize("pulls", [2000, pytest.param(10**7, marks=pytest.mark.long)])
def test_the_probability_that_is_stored_is_the_probability(
    mu0: float, mu1: float, pulls: int
) -> None:
    room, luck = new_duel(mu0, mu1, pulls)
    memory: Any = room.memory
    scratch = room.scratch
    t = 0
    seen = []
    while t < pulls:
        until = min(pulls, t + max(1, pulls // 50))
        run_duel(until, t, memory, luck, scratch)
        t = until
        assert (memory.n[:WIDTH] + memory.n[WIDTH:] == t).all()
        for lane in range(0, WIDTH, 5):
            minor = int(scratch.best[lane])
            a, b = (
                scratch.shapes[(2 * minor + 1) * WIDTH + lane],
                scratch.shapes[2 * minor * WIDTH + lane],
            )
            c, d = (
                scratch.shapes[(3 - 2 * minor) * WIDTH + lane],
                scratch.shapes[(2 - 2 * minor) * WIDTH + lane],
            )
            stored = memory.hat[lane]
            if pulls <= 2000:
                exact = float(exact_probability(int(a), int(b), int(c), int(d)))
                assert stored == pytest.approx(exact, rel=1e-9)
                h = float(exact_h(int(a), int(b), int(c), int(d)))
            else:
                h = float(np.exp(log_h(a, b, c, d)))
                summed = posteriors.probability_above(a, b, c, d, h)
                assert stored == pytest.approx(summed, rel=1e-6)
            assert memory.wide[lane] == pytest.approx(h, rel=1e-9 if pulls <= 2000 else 1e-6)
            seen.append(stored)
    if abs(mu0 - mu1) > 0.1:
        assert min(seen) < 0.01


# More arms.


def count_picks(picks: int, m: int, n: Any, s: Any, memory: Memory, luck: Luck, wins: Any) -> None:
    for _ in range(picks):
        for i in range(m):
            memory.n[i] = n[i]
            memory.s[i] = s[i]
        thompson.squeeze(1, 0, m, memory, luck)
        for i in range(m):
            if memory.n[i] > n[i]:
                wins[i] += 1


quick_count = kernel(count_picks, family("test", "picks", count_picks))


def picked(record: Record, picks: int, count: Any) -> list[int]:
    pulls, sums = record
    m = len(pulls)
    room: Any = space(m, 1)
    room.memory.mus[:] = 0.5
    room.choices[:] = stream("picks", m, sum(pulls))
    room.rewards[:] = stream("rewards", m)
    luck = Luck(room.choices, room.rewards, room.tape, False, TRIALS)
    wins = np.zeros(m, dtype=np.int64)
    with np.errstate(over="ignore"):
        count(picks, m, np.array(pulls), np.array(sums), room.memory, luck, wins)
    return [int(w) for w in wins]


@pytest.mark.parametrize("index", range(40))
def test_an_arm_is_pulled_with_the_probability_that_its_draw_is_the_highest(index: int) -> None:
    record = random_record(100 + index)
    assert wins_fit(picked(record, 200_000, quick_count), win_probabilities(*record)), record


NEAR: Record = ([400] * 3, [240.0, 216.0, 100.0])


def test_the_same_in_python() -> None:
    assert wins_fit(picked(NEAR, 10_000, count_picks), win_probabilities(*NEAR))


@pytest.mark.parametrize("margin", [0.1, 0.3])
def test_an_exponential_that_is_too_low_would_be_seen(
    margin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thompson, "MARGIN", margin)
    assert not wins_fit(picked(NEAR, 30_000, count_picks), win_probabilities(*NEAR))
