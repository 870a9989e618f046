from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.rules import MOSS_ANYTIME
from handful.rules.monotonicity import check_monotone
from tests.rules.scoring import chosen, score

fixed = settings(derandomize=True, deadline=None)


def log_plus(x: float) -> float:
    return max(math.log(x), 0.0)


@pytest.mark.parametrize(
    ("n", "s", "t", "m", "by_hand"),
    [
        # 1/2 + sqrt(1.175 ln(80 / 8) / 4)
        (4, 2.0, 80, 2, 0.5 + 0.8224259),
        # an arm that had its share of the pulls has no bonus, nor one that had more
        (4, 1.0, 8, 2, 0.25),
        (7, 1.0, 8, 2, 1.0 / 7.0),
    ],
)
def test_moss_anytime_by_hand(n: int, s: float, t: int, m: int, by_hand: float) -> None:
    assert score(MOSS_ANYTIME, n, s, t, m=m) == pytest.approx(by_hand, rel=1e-6)


@fixed
@given(st.integers(1, 10**6), st.floats(0, 1), st.integers(1, 10**12), st.integers(1, 10**4))
def test_moss_anytime_is_the_formula(n: int, mean: float, t: int, m: int) -> None:
    s = mean * n
    formula = s / n + math.sqrt((1.0 + 1.35) / 2.0 * log_plus(t / (m * n)) / n)
    assert score(MOSS_ANYTIME, n, s, t, m=m) == pytest.approx(formula, rel=1e-12)


def test_it_is_monotone_draws_nothing_and_tries_each_arm_first() -> None:
    assert MOSS_ANYTIME.monotone
    check_monotone(MOSS_ANYTIME)
    rng = [3, 5]
    assert chosen(MOSS_ANYTIME, [2, 0], [1.0, 0.0], 24, rng=rng) == 1
    chosen(MOSS_ANYTIME, [2, 2], [1.0, 0.0], 24, rng=rng)
    assert rng == [3, 5]
