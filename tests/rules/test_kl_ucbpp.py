from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.core.divergence import kl
from handful.rules import KL_UCBPP
from handful.rules.monotonicity import check_monotone
from tests.rules.scoring import chosen, score

fixed = settings(derandomize=True, deadline=None)


def log_plus(x: float) -> float:
    return max(math.log(x), 0.0)


@fixed
@given(st.integers(1, 10**6), st.floats(0, 1), st.integers(1, 10**9), st.integers(1, 10**4))
def test_kl_ucbpp_is_the_largest_mean_within_its_level(n: int, mean: float, b: int, m: int) -> None:
    s = mean * n
    share = b / (m * n)
    level = log_plus(share * (log_plus(share) ** 2 + 1.0))
    u = score(KL_UCBPP, n, s, b=b, m=m)
    assert s / n <= u <= 1.0
    if level == 0.0:
        assert u == s / n
    elif u < 1.0 - 1e-9:
        assert n * kl(s / n, max(s / n, u - 1e-9)) <= level * (1.0 + 1e-9)
        assert n * kl(s / n, u + 1e-9) >= level * (1.0 - 1e-9)


def test_kl_ucbpp_by_hand() -> None:
    # No success in 2 of 80 pulls for 4 arms: x = 10; kl(0, u) = -ln(1 - u), so 1 - u = exp(-g/2)
    level = math.log(10.0 * (math.log(10.0) ** 2 + 1.0))
    assert score(KL_UCBPP, 2, 0.0, t=9, b=80, m=4) == pytest.approx(1.0 - math.exp(-level / 2))


def test_it_is_monotone_draws_nothing_and_tries_each_arm_first() -> None:
    assert KL_UCBPP.monotone
    check_monotone(KL_UCBPP)
    rng = [3, 5]
    assert chosen(KL_UCBPP, [2, 0], [1.0, 0.0], 24, rng=rng) == 1
    chosen(KL_UCBPP, [2, 2], [1.0, 0.0], 24, rng=rng)
    assert rng == [3, 5]
