from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handful.service.delays import COUNTS, STEPS, Delays

FACTOR = 2.0 ** (1.0 / STEPS)


@given(delay=st.integers(1, 2**40 - 1), others=st.integers(0, 3))
def test_a_quantile_is_right_to_a_quarter_of_a_doubling(delay: int, others: int) -> None:
    delays = Delays()
    for _ in range(1 + others):
        delays.add(delay)
    for share in (0.01, 0.5, 0.99, 1.0):
        found = delays.quantile(share)
        assert found is not None
        assert 1 / FACTOR <= 1000 * found / delay <= FACTOR
    mean = delays.mean()
    assert mean == pytest.approx(delays.quantile(0.5))


def test_quantiles_are_in_order() -> None:
    delays = Delays()
    for milliseconds in range(1, 10_001):
        delays.add(milliseconds)
    p50, p90, p99 = (delays.quantile(share) or 0.0 for share in (0.5, 0.9, 0.99))
    assert p50 == pytest.approx(5.0, rel=0.2)
    assert p90 == pytest.approx(9.0, rel=0.2)
    assert p50 < p90 <= p99
    assert delays.mean() == pytest.approx(5.0, rel=0.1)


def test_none_zero_negative_and_for_ever() -> None:
    delays = Delays()
    assert delays.mean() is delays.quantile(0.5) is None
    delays.add(0)
    delays.add(-5)
    assert delays.quantile(1.0) == delays.mean() == 0.0
    delays.add(2**200)
    assert len(delays.counts) == COUNTS
    assert Delays(delays.counts).quantile(0.5) == delays.quantile(0.5)
