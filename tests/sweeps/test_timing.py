"""The time left, on a clock of its own."""

from __future__ import annotations

from itertools import product

import pytest

from handful.simulation import Cell
from handful.simulation.plan import cell
from handful.studies.timing import TimeLeft, kind, ordered, work

SPEED = 2e-9
"""Seconds for a unit of work."""


def planned() -> list[Cell]:
    """Three kinds; many small cells, then larger ones."""
    return [
        cell(policy, "linear:100", memory, 10**6, runs=runs)
        for policy, memory, runs in product(
            ("ucb-m", "moss-m", "ts-m"), (2, 5, 10, 20, 50), (20, 100)
        )
    ]


@pytest.mark.parametrize("slow", ["ucb-m", "moss-m", "ts-m", None])
@pytest.mark.parametrize("factor", [3.0, 1 / 3])
def test_the_estimate_is_near_the_truth_though_the_model_is_off(
    slow: str | None, factor: float
) -> None:
    now = 100.0
    cells = ordered(planned())

    def seconds(one: Cell) -> float:
        return SPEED * work(one) * (factor if one.policy.name == slow else 1.0)

    timing = TimeLeft(cells, lambda: now)
    truth = sum(map(seconds, cells))
    ratios = []
    for one in cells:
        for step in range(1, 11):  # ten reports a cell
            now += seconds(one) / 10
            truth -= seconds(one) / 10
            timing.running(one, work(one) * step / 10)
            found = timing.seconds()
            if found is not None and truth > 1e-9:
                ratios.append(found / truth)
        timing.finished(one, seconds(one))
    assert timing.seconds() == pytest.approx(0.0)
    assert len(ratios) > 0.8 * 10 * len(cells), "there is an estimate most of the time"
    assert min(ratios) > 1 / 1.5
    assert max(ratios) < 1.5


def test_there_is_no_estimate_before_every_kind_was_seen() -> None:
    one, other = cell("ucb-m", "linear:9", 2, 10**4), cell("ts-m", "linear:9", 2, 10**4)
    timing = TimeLeft([one, other, other], lambda: 0.0)
    assert timing.seconds() is None
    timing.finished(one, 1.0)
    assert timing.seconds() is None
    timing.finished(other, 2.0)
    assert timing.seconds() == pytest.approx(2.0, rel=0.1)


def test_compiling_is_not_taken_for_the_pace_of_pulls() -> None:
    now = 0.0
    one = cell("ucb-m", "linear:9", 2, 10**4)
    timing = TimeLeft([one] * 4, lambda: now)
    now = 60.0  # a kernel was compiled before the first report
    timing.running(one, 0.1 * work(one))
    now += 1.0
    timing.running(one, 0.3 * work(one))
    assert timing.seconds() == pytest.approx(3.7 * 5)


def test_one_cell_of_each_kind_comes_first_and_none_is_lost() -> None:
    cells = [cell("ucb-m", "linear:9", 2, 10), *planned()]
    order = ordered(cells)
    kinds = {kind(one) for one in cells}
    assert len({kind(one) for one in order[: len(kinds)]}) == len(kinds) == 3
    assert sorted(map(repr, order)) == sorted(map(repr, cells))
    assert all(one.horizon > 10 for one in order[:3]), "a tiny cell tells little"
    rest = [one for one in cells if one not in order[:3]]
    assert order[3:] == rest
