from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.rules import UCB_V, Moment
from handful.rules.monotonicity import check_monotone
from tests.rules.scoring import chosen, score

fixed = settings(derandomize=True, deadline=None)


def at(t: int) -> Moment:
    return Moment(t, b=0, m=2, top=0.0, eta=1.0, rng=[1, 3])


def test_ucb_v_by_hand() -> None:
    # 1/2 + sqrt(2 (1/4) ln 100 / 10) + 3 ln 100 / 10
    by_hand = 0.5 + 0.479852591218804 + 1.381551055796427
    assert score(UCB_V, 10, 5.0, t=100) == pytest.approx(by_hand, rel=1e-12)


def test_an_arm_that_does_not_vary_has_the_correction_alone() -> None:
    for s in (0.0, 20.0):
        assert score(UCB_V, 20, s, t=50) == pytest.approx(s / 20 + 3.0 * math.log(50) / 20)


def test_a_higher_mean_can_have_a_lower_score_by_ucb_v() -> None:
    less, more = (score(UCB_V, 10**4, s, t=10**6) for s in (9999.0, 10**4))
    assert less > more


@fixed
@given(st.integers(1, 10**5), st.floats(0, 1), st.integers(2, 10**9))
def test_the_floor_of_ucb_v_is_the_least_score_of_all_higher_means(
    n: int, mean: float, t: int
) -> None:
    assert UCB_V.floor is not None
    means = [mean + (1.0 - mean) * i / 400 for i in range(401)]
    least = min(score(UCB_V, n, x * n, t) for x in means)
    assert UCB_V.floor(n, mean * n, at(t)) == pytest.approx(least, rel=1e-12)


@fixed
@given(st.integers(1, 2000), st.floats(0, 1), st.lists(st.booleans(), min_size=1, max_size=60))
def test_the_floor_of_ucb_v_bounds_a_stretch_from_below(
    n: int, mean: float, fails: list[bool]
) -> None:
    assert UCB_V.floor is not None
    s, t, k, most = mean * n, 3 * n + 2, len(fails), sum(fails)
    bound = UCB_V.floor(n + k, (n + k) * s / (n + most), at(t))
    for j, fail in enumerate(fails, 1):
        s += not fail
        assert score(UCB_V, n + j, s, t + j) >= bound - 1e-12


def test_it_is_monotone_draws_nothing_and_tries_each_arm_first() -> None:
    assert UCB_V.monotone
    check_monotone(UCB_V)
    rng = [3, 5]
    assert chosen(UCB_V, [2, 0], [1.0, 0.0], 24, rng=rng) == 1
    chosen(UCB_V, [2, 2], [1.0, 0.0], 24, rng=rng)
    assert rng == [3, 5]
