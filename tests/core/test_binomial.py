"""Binomial probabilities against exact arithmetic, and draws against their distribution."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from handful.core.binomial import binomial, log_binomial
from handful.core.rng import stream
from tests.fit import LEVEL

DRAWS = 20_000


def log_ratio(n: int, k: int, mode: int, q: float) -> float:
    """The log of the probability of k over that of the mode, factor by factor, in 50 digits."""
    getcontext().prec = 50
    exact = Decimal(q)
    odds = exact / (1 - exact)
    total = Decimal(0)
    for j in range(min(k, mode) + 1, max(k, mode) + 1):
        total += (Decimal(n - j + 1) / j * odds).ln()
    return float(total if k > mode else -total)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9, 10**12, 10**15])
@pytest.mark.parametrize("q", [0.3, 0.01])
def test_differences_of_log_probabilities_keep_their_digits(n: int, q: float) -> None:
    mode = int((n + 1) * q)
    for d in (-200, -7, 1, 150):
        k = mode + d
        if 0 < k < n:
            ours = log_binomial(n, float(k), q) - log_binomial(n, float(mode), q)
            assert ours == pytest.approx(log_ratio(n, k, mode, q), abs=1e-11, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "p"),
    [(5, 0.3), (100, 0.05), (100, 0.5), (1000, 0.02), (40, 0.9), (200, 0.051), (10**6, 0.3),
     (10**6, 0.99), (10**9, 0.5), (10**9, 1e-9), (10**9, 1 - 1e-8)],
)  # fmt: skip
def test_draws_have_the_distribution(n: int, p: float) -> None:
    rng = stream("binomial", n, str(p))
    drawn = np.array([binomial(n, p, rng) for _ in range(DRAWS)])
    distribution = stats.binom(n, p)
    edges = np.unique(distribution.ppf(np.linspace(0.002, 0.998, 25)).astype(int))
    probabilities = np.diff(np.concatenate([[0.0], distribution.cdf(edges), [1.0]]))
    counts = np.histogram(drawn, np.concatenate([[-1], edges, [n + 1]]) + 0.5)[0]
    keep = probabilities * DRAWS > 5
    expected = probabilities[keep] / probabilities[keep].sum() * counts[keep].sum()
    assert stats.chisquare(counts[keep], expected).pvalue > LEVEL


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_what_is_certain_is_certain(p: float) -> None:
    rng = stream("certain")
    assert [binomial(1000, p, rng) for _ in range(5)] == [1000 * p] * 5


def test_the_largest_uniform_number_is_no_absurd_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    # 1 - 2^-53 is more than the rounded probabilities add up to.
    monkeypatch.setattr("handful.core.binomial.uniform", lambda rng: 1.0 - 2.0**-53)
    for n, p in ((1321, 0.00397), (100, 0.05), (10**6, 3e-6)):
        assert binomial(n, p, [0, 1]) < 60


@given(st.integers(1, 3000), st.floats(0, 1), st.floats(1e-6, 1 - 1e-6))
def test_log_probabilities_are_exact(n: int, share_of_n: float, q: float) -> None:
    s = round(share_of_n * n)
    exact = math.log(math.comb(n, s)) + s * math.log(q) + (n - s) * math.log1p(-q)
    assert math.isclose(log_binomial(n, float(s), q), exact, rel_tol=1e-12, abs_tol=1e-11)


@given(st.integers(10**4, 10**9), st.floats(1e-9, 0.5))
def test_log_probabilities_of_one_success_in_very_many_trials(n: int, q: float) -> None:
    exact = math.log(n * q) + (n - 1) * math.log1p(-q)
    assert math.isclose(log_binomial(n, 1.0, q), exact, rel_tol=1e-12, abs_tol=1e-6)
