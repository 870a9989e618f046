"""The figure has a panel for each group with something to compare, and no empty place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.contest import OURS, Job, Row
from benchmarks.figure import draw, panels
from benchmarks.report import Report, write
from benchmarks.suites import BY_ARMS, BY_HORIZON, BY_MEMORY, LINEAR, NUMBA, PEERS, POWER, TEXTBOOK

TITLES = {
    TEXTBOOK: "Beside textbook loops, $10^4$ pulls",
    PEERS: "UCB1 on ten arms, beside other packages",
    BY_HORIZON: "As T grows, power:100:0.3",
    BY_MEMORY: "As M grows, linear:100",
    BY_ARMS: "As K grows, linear:K",
}


def row(group: str, by: str, policy: str, world: str, memory: int) -> Row:
    return Row(Job(group, policy, world, memory, 10**4), by, "", 1, 1, 1e-4, 10**4)


ROWS = {
    TEXTBOOK: [row(TEXTBOOK, by, "ucb-m", LINEAR, 2) for by in (OURS, NUMBA)],
    PEERS: [row(PEERS, by, "ucb1", "linear:10", 10) for by in (OURS, "other 1.0")],
    BY_HORIZON: [row(BY_HORIZON, OURS, "ucb1", POWER, 100)],
    BY_MEMORY: [row(BY_MEMORY, OURS, "ucb-m", LINEAR, 2)],
    BY_ARMS: [row(BY_ARMS, OURS, "ucb-m", "linear:1000", 2)],
}


def report(rows: Sequence[Row]) -> Report:
    return Report((), rows, [], [], None, {"processor": "a processor"})


@pytest.mark.parametrize(
    "groups",
    [
        [TEXTBOOK],
        [PEERS],
        [TEXTBOOK, PEERS],
        [BY_HORIZON, BY_MEMORY, BY_ARMS],
        [TEXTBOOK, BY_HORIZON, BY_MEMORY, BY_ARMS],
        list(TITLES),
    ],
)
def test_the_panels_are_those_that_were_measured_and_fill_the_grid(groups: list[str]) -> None:
    made = draw(report([row for group in groups for row in ROWS[group]]))
    assert made is not None
    assert [ax.get_title() for ax in made.axes] == [TITLES[group] for group in groups]
    assert all(ax.has_data() for ax in made.axes)
    places = [ax.get_subplotspec() for ax in made.axes]
    assert all(place is not None for place in places)
    covered = sum(len(place.rowspan) * len(place.colspan) for place in places if place)
    rows, columns = made.axes[0].get_gridspec().get_geometry()  # type: ignore[union-attr]
    assert covered == rows * columns


def test_a_panel_with_nothing_beside_handful_is_left_out(tmp_path: Path) -> None:
    alone = ROWS[PEERS][:1]
    private = replace(ROWS[PEERS][1], documented=False)
    assert list(panels([*alone, private, *ROWS[TEXTBOOK]])) == [TEXTBOOK]
    assert draw(report(alone)) is None
    assert write(report(alone), tmp_path) == [tmp_path / "bench.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]
