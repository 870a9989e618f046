"""The benches of several servers: they run, and their figures are put together rightly."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.concurrency import served
from benchmarks.load import Load, create_bandits
from benchmarks.shared_store import ONE, row, table, turn
from benchmarks.shared_store import served as started
from tests.postgres import shared


def test_a_row_has_medians_and_the_ratio_to_sqlite() -> None:
    def figures(rate: float, p99: float) -> dict[str, float]:
        return {
            "rate": rate, "p50": 1.0, "p99": p99, "errors": 1, "server_us": 50.0,
            "postgres_us": 20.0,
        }  # fmt: skip

    turns = [figures(500.0, 9.0), figures(100.0, 1.0), figures(400.0, 2.0)]
    found = row(ONE, 1000, turns, sqlite=800.0)
    assert (found.rate, found.ratio, found.p99, found.errors) == (400.0, 0.5, 2.0, 3)
    assert table([found]).splitlines()[1].split()[-8:] == [
        "1,000", "400", "0.50", "1.0", "2.0", "3", "50", "20",
    ]  # fmt: skip


@pytest.mark.long
def test_two_servers_take_the_load() -> None:
    address = shared().new_store()
    with TemporaryDirectory() as folder, started(address, Path(folder)) as (url, _):
        create_bandits(Load(url, bandits=2))
    found = turn(2, address, bandits=2, clients=4, seconds=0.5, postgres=None)
    assert found["errors"] == 0
    assert found["rate"] > 0


def test_desks_on_a_store_have_a_regret() -> None:
    mean, half = served(4, 40, 3, shared().new_store())
    assert 0.0 < mean < 40.0
    assert half > 0.0
