"""The bench of fleets: who takes part, and its table."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.fleet import PEERS, ROOT, Row, as_table, columns, loop


def test_every_peer_has_a_driver() -> None:
    for peer in PEERS:
        assert (ROOT / "benchmarks" / "drivers" / f"fleet_{peer.name.lower()}.py").is_file()


def test_the_table_compares_all_with_the_first() -> None:
    rows = [
        Row("ours", 10_000_000, 101.0, 0.01, 1e7, 200.0, first=1e6),
        Row("a loop", 1000, 3332.4, 0.1, 4e4, 25_000.0),
    ]
    table = as_table(rows)
    assert "| a loop |      1,000 |      3,332 |         40,000 |        25,000 |" in table
    assert table.splitlines()[3].endswith("125.0 |")
    assert "- ours: built in 0.01 s; while members begin, 1,000,000 pairs a second." in table
    assert len({len(line) for line in table.splitlines()[:4]}) == 1


def test_columns_and_single_policies_are_measured() -> None:
    assert columns(100, 10).bytes_each == 80
    row = loop(Path(sys.executable), "benchmarks.singles", "ucb-m")
    assert row.name == "handful ucb-m, M = 2, single policies, a loop, K = 10"
    assert row.bytes_each > 100
