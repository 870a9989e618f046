"""The times of the simulated store explain what was measured."""

from __future__ import annotations

import pytest

from benchmarks.saturation import Times
from benchmarks.store_times import Turn, times_of


def test_the_times_follow_from_one_client_and_many() -> None:
    true = Times(request=200e-6, round_trip=30e-6, statement=400e-6, row=20e-6, flush=1e-3)

    def seen(batch: float) -> Turn:
        store = true.statement / batch + true.row
        took = true.request + 3 * true.round_trip + store + true.flush
        return Turn(1 / took, took, batch, true.request, store)

    assert times_of(seen(1.0), seen(25.0), true.round_trip) == pytest.approx(true)
