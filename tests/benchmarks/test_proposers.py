"""The table of proposers: its kernel makes the runs of the library."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from benchmarks import proposers
from benchmarks.proposers import (
    APART,
    BEST,
    DECEPTIVE,
    HILL,
    LOWER,
    PROPOSERS,
    ROUGH,
    WORLDS,
    mean_at,
    places_of,
    run,
    run_fast,
    table,
)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("proposer", PROPOSERS)
def test_the_kernel_makes_the_run_that_the_library_makes(world: int, proposer: int) -> None:
    for number in (0, 1):
        assert run_fast(world, proposer, number, (200, 2000)) == run(
            world, proposer, number, (200, 2000)
        )


def test_the_worlds_are_as_they_are_described() -> None:
    draw = random.Random(1)
    for number in range(20):
        places = places_of(number)
        a, b, c, x, y, z = places
        assert mean_at(HILL, a, b, c, places, []) == BEST
        assert mean_at(DECEPTIVE, a, b, c, places, []) == LOWER
        assert mean_at(DECEPTIVE, x, y, z, places, []) == BEST
        assert (a - x) ** 2 + (b - y) ** 2 + (c - z) ** 2 >= APART**2
        draws = [draw.getrandbits(64), draw.getrandbits(64) | 1]
        for _ in range(100):
            point = draw.random(), draw.random(), draw.random()
            for world in WORLDS:
                assert 0.0 <= mean_at(world, *point, places, draws) <= BEST
    rough = [mean_at(ROUGH, 0.5, 0.5, 0.5, [], draws) for _ in range(4000)]
    assert sum(rough) / 4000 == pytest.approx(BEST / 2, abs=4 * 0.26 / 4000**0.5)


def test_the_table_has_a_line_for_each_world_and_proposer(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(world: int, proposer: int, number: int, horizons: Sequence[int]) -> proposers.Run:
        return proposers.Run((10.0 + number, 100.0 + 2 * number), 0.5, 7 + number)

    monkeypatch.setattr(proposers, "run_fast", of)
    head, rule, *rows = table(runs=2, horizon=1000)
    assert "T = 100 " in head
    assert "T = 1,000 " in head
    assert rule.count("|") == head.count("|")
    assert len(rows) == 12
    assert rows[1] == "| hill | mutate | 10 ± 0 | 101 ± 1 | 0.500 ± 0.000 | 8 |"
