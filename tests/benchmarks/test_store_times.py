"""The times of the simulated store explain what was measured."""

from __future__ import annotations

import pytest

from benchmarks.saturation import Times
from benchmarks.store_times import Turn, times_of


def test_the_times_follow_from_one_client_and_many() -> None:
    true = Times(
        request=200e-6, batch=2e-3, round_trip=30e-6, statement=400e-6, row=20e-6, flush=1e-3
    )

    def seen(batch: float) -> Turn:
        server = true.batch / batch + true.request
        store = true.statement / batch + true.row
        return Turn(1000.0, 1e-3, batch, server, store)

    found = times_of(seen(1.0), seen(25.0), true.round_trip, true.flush)
    assert found == pytest.approx(true)
