"""Rules after the paper: kl-UCB++, MOSS-anytime and UCB-V, by hand and by their formulas."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.core.binomial import kl
from handful.rules import KL_UCBPP, MOSS_ANYTIME, UCB_V, IndexRule, choose
from handful.rules.steadiness import check_steady

RNG = [1, 3]
fixed = settings(derandomize=True, deadline=None)


def log_plus(x: float) -> float:
    return max(math.log(x), 0.0)


@fixed
@given(st.integers(1, 10**6), st.floats(0, 1), st.integers(1, 10**9), st.integers(1, 10**4))
def test_kl_ucbpp_is_the_largest_mean_within_its_level(n: int, mean: float, b: int, m: int) -> None:
    s = mean * n
    share = b / (m * n)
    level = log_plus(share * (log_plus(share) ** 2 + 1.0))
    u = KL_UCBPP.score(n, s, 99, b, m, 1.0, RNG)
    assert s / n <= u <= 1.0
    if level == 0.0:
        assert u == s / n
    elif u < 1.0 - 1e-9:
        assert n * kl(s / n, max(s / n, u - 1e-9)) <= level * (1.0 + 1e-9)
        assert n * kl(s / n, u + 1e-9) >= level * (1.0 - 1e-9)


def test_kl_ucbpp_by_hand() -> None:
    # No success in 2 of 80 pulls for 4 arms: x = 10; kl(0, u) = -ln(1 - u), so 1 - u = exp(-g/2)
    level = math.log(10.0 * (math.log(10.0) ** 2 + 1.0))
    assert KL_UCBPP.score(2, 0.0, 9, 80, 4, 1.0, RNG) == pytest.approx(1.0 - math.exp(-level / 2))


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
    assert MOSS_ANYTIME.score(n, s, t, 0, m, 1.0, RNG) == pytest.approx(by_hand, rel=1e-6)


@fixed
@given(st.integers(1, 10**6), st.floats(0, 1), st.integers(1, 10**12), st.integers(1, 10**4))
def test_moss_anytime_is_the_formula(n: int, mean: float, t: int, m: int) -> None:
    s = mean * n
    formula = s / n + math.sqrt((1.0 + 1.35) / 2.0 * log_plus(t / (m * n)) / n)
    assert MOSS_ANYTIME.score(n, s, t, 0, m, 1.0, RNG) == pytest.approx(formula, rel=1e-12)


def test_ucb_v_by_hand() -> None:
    # 1/2 + sqrt(2 (1/4) ln 100 / 10) + 3 ln 100 / 10
    by_hand = 0.5 + 0.479852591218804 + 1.381551055796427
    assert UCB_V.score(10, 5.0, 100, 0, 2, 1.0, RNG) == pytest.approx(by_hand, rel=1e-12)


def test_an_arm_that_does_not_vary_has_the_correction_alone() -> None:
    for s in (0.0, 20.0):
        assert UCB_V.score(20, s, 50, 0, 2, 1.0, RNG) == pytest.approx(
            s / 20 + 3.0 * math.log(50) / 20
        )


def test_a_higher_mean_can_have_a_lower_score_by_ucb_v() -> None:
    less, more = (UCB_V.score(10**4, s, 10**6, 0, 2, 1.0, RNG) for s in (9999.0, 10**4))
    assert less > more


@fixed
@given(st.integers(1, 10**5), st.floats(0, 1), st.integers(2, 10**9))
def test_the_floor_of_ucb_v_is_the_least_score_of_all_higher_means(
    n: int, mean: float, t: int
) -> None:
    assert UCB_V.floor is not None
    means = [mean + (1.0 - mean) * i / 400 for i in range(401)]
    least = min(UCB_V.score(n, x * n, t, 0, 2, 1.0, RNG) for x in means)
    assert UCB_V.floor(n, mean * n, t, 0, 2, 1.0, RNG) == pytest.approx(least, rel=1e-12)


@fixed
@given(st.integers(1, 2000), st.floats(0, 1), st.lists(st.booleans(), min_size=1, max_size=60))
def test_the_floor_of_ucb_v_bounds_a_stretch_from_below(
    n: int, mean: float, fails: list[bool]
) -> None:
    assert UCB_V.floor is not None
    s, t, k, most = mean * n, 3 * n + 2, len(fails), sum(fails)
    bound = UCB_V.floor(n + k, (n + k) * s / (n + most), t, 0, 2, 1.0, RNG)
    for j, fail in enumerate(fails, 1):
        s += not fail
        assert UCB_V.score(n + j, s, t + j, 0, 2, 1.0, RNG) >= bound - 1e-12


@pytest.mark.parametrize("rule", [KL_UCBPP, MOSS_ANYTIME, UCB_V])
def test_they_are_steady(rule: IndexRule) -> None:
    assert rule.steady
    check_steady(rule)


@pytest.mark.parametrize("rule", [KL_UCBPP, MOSS_ANYTIME, UCB_V])
def test_they_draw_nothing_and_try_each_arm_first(rule: IndexRule) -> None:
    state = [3, 5]
    assert choose(rule, [2, 0], [1.0, 0.0], 24, 1.0, state) == 1
    choose(rule, [2, 2], [1.0, 0.0], 24, 1.0, state)
    assert state == [3, 5]
