"""The bench of the service: its servers start, and its figures are put together rightly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.serve import BARE, CONTESTANTS, DURABLE, NO_FSYNC, command, row, table, turn


@pytest.mark.parametrize("contestant", CONTESTANTS)
def test_every_contestant_takes_the_load(contestant: str) -> None:
    found = turn(contestant, bandits=2, clients=2, seconds=0.2, warm_up=0.0)
    assert found["errors"] == {}
    assert found["requests"] > 0
    assert (found["store_bytes"] is None) == (contestant == BARE)


def test_only_one_of_the_services_does_without_fsync() -> None:
    durable, quick = (command(name, 1, Path("x")) for name in (DURABLE, NO_FSYNC))
    assert quick == [*durable, "--no-fsync"]


def test_a_row_has_medians_and_the_ratio_to_the_bare_app() -> None:
    def figures(rate: float, p99: float) -> dict[str, Any]:
        return {
            "rate": rate, "p50": 1.0, "p99": p99, "errors": {"x": 1}, "generator_cpu": 0.5,
            "server_us": None, "store_bytes": 100.0,
        }  # fmt: skip

    turns = [figures(500.0, 9.0), figures(100.0, 1.0), figures(400.0, 2.0)]
    found = row(DURABLE, 1, turns, bare=800.0)
    assert (found.rate, found.ratio, found.p99, found.errors) == (400.0, 0.5, 2.0, 3)
    assert found.server_us is None
    assert table([found]).splitlines()[1].split()[2:] == [
        "1", "400", "0.50", "1.0", "2.0", "3", "50%", "-", "100",
    ]  # fmt: skip
