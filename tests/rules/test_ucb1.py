from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.rules import UCB1
from tests.rules.scoring import chosen
from tests.rules.scoring import score as score_of

fixed = settings(derandomize=True, deadline=None)


def score(n: int, s: float, t: int, eta: float = 1.0) -> float:
    return score_of(UCB1, n, s, t, 0, 0, eta)


@pytest.mark.parametrize(
    ("n", "s", "t", "eta", "by_hand"),
    [
        # 1/2 + sqrt(2 ln 10 / 4) = 1/2 + sqrt(1.1512925464970228)
        (4, 2.0, 10, 1.0, 0.5 + 1.0729830131446736),
        # 0 + sqrt(2 ln 2 / 1)
        (1, 0.0, 2, 1.0, 1.1774100225154747),
        # 9/10 + 0.2 sqrt(2 ln 1000 / 10)
        (10, 9.0, 1000, 0.2, 0.9 + 0.2 * 1.1753940002383978),
        # ln 1 = 0: no bonus at the first pull
        (1, 1.0, 1, 1.0, 1.0),
        # eta = 0: the mean alone
        (3, 1.0, 50, 0.0, 1.0 / 3.0),
    ],
)
def test_the_score_is_the_mean_and_the_bonus_by_hand(
    n: int, s: float, t: int, eta: float, by_hand: float
) -> None:
    assert score(n, s, t, eta) == pytest.approx(by_hand, rel=1e-14)


@fixed
@given(
    st.integers(1, 10**9),
    st.floats(0, 1),
    st.integers(0, 10**9),
    st.floats(0, 10, allow_subnormal=False),
)
def test_the_score_is_the_formula(n: int, mean: float, more: int, eta: float) -> None:
    t, s = n + more, mean * n
    formula = s / n + eta * math.sqrt(2 * math.log(t) / n)
    assert score(n, s, t, eta) == pytest.approx(formula, rel=1e-12)


def test_the_logarithm_is_natural() -> None:
    assert score(1, 0.0, 100) == pytest.approx(math.sqrt(2 * math.log(100)))
    assert score(1, 0.0, 100) != pytest.approx(math.sqrt(2 * math.log2(100)))


def test_a_rarely_pulled_arm_comes_back_in_time() -> None:
    assert chosen(UCB1, [1000, 10], [600.0, 4.0], 0, 1.0) == 1
    assert chosen(UCB1, [1000, 10], [600.0, 4.0], 0, 0.1) == 0


def test_no_randomness_is_used() -> None:
    rng = [3, 5]
    chosen(UCB1, [2, 2], [1.0, 0.0], 0, rng=rng)
    assert rng == [3, 5]
