from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.rules import MOSS
from tests.rules.scoring import chosen
from tests.rules.scoring import score as score_of

fixed = settings(derandomize=True, deadline=None)


def score(n: int, s: float, b: int, m: int) -> float:
    return score_of(MOSS, n, s, b=b, m=m, eta=math.nan)


@pytest.mark.parametrize(
    ("n", "s", "b", "m", "by_hand"),
    [
        # 1/2 + sqrt(ln(80 / (2 * 4)) / 4) = 1/2 + sqrt(ln 10 / 4)
        (4, 2.0, 80, 2, 0.5 + 0.7587135646925833),
        # 1 + sqrt(ln(8 / 2))
        (1, 1.0, 8, 2, 1.0 + 1.1774100225154747),
        # an arm that had exactly its share b/m has no bonus
        (4, 1.0, 8, 2, 0.25),
        # nor has one that had more
        (7, 1.0, 8, 2, 1.0 / 7.0),
        # a budget smaller than the number of arms leaves no bonus either
        (1, 0.5, 3, 10, 0.5),
    ],
)
def test_the_score_is_the_mean_and_the_bonus_by_hand(
    n: int, s: float, b: int, m: int, by_hand: float
) -> None:
    assert score(n, s, b, m) == pytest.approx(by_hand, rel=1e-14)


@fixed
@given(st.integers(1, 10**9), st.floats(0, 1), st.integers(1, 10**12), st.integers(1, 10**4))
def test_the_score_is_the_formula(n: int, mean: float, b: int, m: int) -> None:
    s = mean * n
    formula = s / n + math.sqrt(max(math.log(b / (m * n)), 0) / n)
    assert score(n, s, b, m) == pytest.approx(formula, rel=1e-12)


def test_the_time_does_not_count() -> None:
    assert score_of(MOSS, 3, 1.0, 10, 60, 4, 1.0) == score_of(MOSS, 3, 1.0, 9, 60, 4, 0.1)


def test_no_randomness_is_used() -> None:
    rng = [3, 5]
    chosen(MOSS, [2, 2], [1.0, 0.0], 24, rng=rng)
    assert rng == [3, 5]
