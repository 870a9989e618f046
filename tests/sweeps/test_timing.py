"""The time left, on a clock of its own."""

from __future__ import annotations

from itertools import product

import pytest

from handful.simulation.plan import cell
from handful.sweeps.part import Part
from handful.sweeps.timing import TimeLeft, kind, ordered

SPEED = 2e-9
"""Seconds for a unit of work."""


def small(policy: str, horizon: int = 10**4) -> Part:
    return Part.whole(cell(policy, "linear:9", 2, horizon))


def planned() -> list[Part]:
    """Three kinds; many small cells, then larger ones."""
    return [
        Part.whole(cell(policy, "linear:100", memory, 10**6, runs=runs))
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

    def seconds(one: Part) -> float:
        return SPEED * one.work * (factor if one.cell.policy.name == slow else 1.0)

    timing = TimeLeft(cells, lambda: now)
    truth = sum(map(seconds, cells))
    ratios = []
    for one in cells:
        for step in range(1, 11):  # ten reports a cell
            now += seconds(one) / 10
            truth -= seconds(one) / 10
            timing.running(one, one.work * step / 10)
            found = timing.seconds()
            if found is not None and truth > 1e-9:
                ratios.append(found / truth)
        timing.finished(one, seconds(one))
    assert timing.seconds() == pytest.approx(0.0)
    assert len(ratios) > 0.8 * 10 * len(cells), "there is an estimate most of the time"
    assert min(ratios) > 1 / 1.5
    assert max(ratios) < 1.5


def test_there_is_no_estimate_before_every_kind_was_seen() -> None:
    one, other = small("ucb-m"), small("ts-m")
    timing = TimeLeft([one, other, other], lambda: 0.0)
    assert timing.seconds() is None
    timing.finished(one, 1.0)
    assert timing.seconds() is None
    timing.finished(other, 2.0)
    assert timing.seconds() == pytest.approx(2.0, rel=0.1)


def test_compiling_is_not_taken_for_the_pace_of_pulls() -> None:
    now = 0.0
    one = small("ucb-m")
    timing = TimeLeft([one] * 4, lambda: now)
    now = 60.0  # a kernel was compiled before the first report
    timing.running(one, 0.1 * one.work)
    now += 1.0
    timing.running(one, 0.3 * one.work)
    assert timing.seconds() == pytest.approx(3.7 * 5)


def test_one_cell_of_each_kind_comes_first_and_none_is_lost() -> None:
    cells = [small("ucb-m", 10), *planned()]
    order = ordered(cells)
    kinds = {kind(one) for one in cells}
    assert len({kind(one) for one in order[: len(kinds)]}) == len(kinds) == 3
    assert sorted(map(repr, order)) == sorted(map(repr, cells))
    assert all(one.cell.horizon > 10 for one in order[:3]), "a tiny cell tells little"
    rest = [one for one in cells if one not in order[:3]]
    assert order[3:] == rest


def test_several_workers_share_the_time_and_the_clock_runs_between_their_reports() -> None:
    now = 0.0
    parts = [small("ucb-m")] * 10
    timing = TimeLeft(parts, lambda: now, workers=4)
    now = 2.0
    for part in parts[:2]:
        timing.finished(part, 2.0)
    assert timing.seconds() == pytest.approx(8 * 2.0 / 4)
    now = 3.0
    assert timing.seconds() == pytest.approx(3.0)
    timing.dropped(parts[2])
    assert timing.seconds() == pytest.approx(7 * 2.0 / 4)
    now = 100.0
    assert timing.seconds() == 0.0


def test_cells_that_the_python_engine_runs_are_of_another_kind_and_take_longer() -> None:
    planned = cell("race", "linear:9", 2, 10**4)
    slow, fast = Part.whole(planned, "python"), Part.whole(planned)
    busy = Part.whole(cell("race", "linear:9", 2, 10**4, delay=9))
    assert len({kind(slow), kind(fast), kind(busy)}) == 3
    assert slow.work > 10 * fast.work
