"""The figure of a benchmark: one panel for each group that has something to compare.

Comparisons with others are dots on a log axis, where a bar would have no base. Growth with T, M or
K is drawn as lines. A contestant has the same colour in all panels. The grid has no empty place: a
panel that is alone in its row takes the whole row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.contest import OURS, Row
from benchmarks.suites import (
    BY_ARMS,
    BY_HORIZON,
    BY_MEMORY,
    GROWTH,
    NUMBA,
    PEERS,
    TEXTBOOK,
    C,
)
from handful.plots.style import (
    DASHES,
    PALETTE,
    STYLE,
    figure,
    label_ends,
    line_with_band,
    log_ticks,
    set_scales,
)
from handful.policies import policy_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from benchmarks.report import Report

BLUE, VERMILION, GREEN, PINK, ORANGE, _, BLACK = PALETTE
_COLOURS = {OURS: BLUE, C: VERMILION, NUMBA: ORANGE}
_RULES = {"moss-m": GREEN, "ts-m": PINK}


def panels(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Group the rows by panel, without groups that were not measured or hold only handful."""
    by_group = {group: [row for row in rows if row.job.group == group] for group in _PANELS}
    return {
        group: found
        for group, found in by_group.items()
        if len({row.by for row in found if row.documented}) > 1 or (found and group in GROWTH)
    }


def draw(report: Report) -> Figure | None:
    """Draw all panels that the report has rows for; None if there is none."""
    shown = panels(report.rows)
    if not shown:
        return None
    columns = min(2, len(shown))
    lines = -(-len(shown) // columns)
    made, grid = figure(lines, columns, 5.6 * columns, 3.3 * lines, squeeze=False)
    axes = list(grid.flat)
    if len(shown) < len(axes):
        axes[-2:] = [_widened(made, *axes[-2:])]
    for ax, (group, rows) in zip(axes, shown.items(), strict=True):
        _PANELS[group](ax, rows)
    made.suptitle(f"One core of {report.machine['processor']}", fontsize=10, color="#444444")
    return made


def _widened(made: Figure, left: Axes, right: Axes) -> Axes:
    """Replace the two panels of the last row by one."""
    import matplotlib as mpl

    place = left.get_subplotspec()
    assert place is not None
    left.remove()
    right.remove()
    with mpl.rc_context(STYLE):
        return made.add_subplot(place.get_gridspec()[-1, :])


def _textbook(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw handful and the loops, with the speed of handful relative to the C loop."""
    compared = [row for row in rows if row.job.policy in ("ucb-m", "ucb1")]
    jobs = list(dict.fromkeys(row.job for row in compared))
    for place, job in enumerate(jobs):
        times = {row.by: row.ns_per_pull for row in compared if row.job == job}
        ax.plot(list(times.values()), [place] * len(times), color="#bbbbbb", zorder=1)
        for by, ns in times.items():
            label = by if place == 0 else None
            ax.plot([ns], [place], "o", color=_COLOURS[by], markersize=7, label=label)
        if C in times:
            _note(ax, place, f"{times[C] / times[OURS]:.1f}x as fast as C")
    _dots(ax, [_job(job.policy, job.memory, job.instance) for job in jobs], "time per pull, ns")
    ax.legend(loc="upper right", fontsize=9, frameon=False, borderaxespad=0.0)
    ax.set_title(f"Beside textbook loops, {_power(jobs[0].horizon)} pulls", fontsize=10.5)


def _peers(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw each package at its fastest documented way."""
    best: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.ns_per_pull):
        if row.documented:
            best.setdefault(row.by, row)
    own = best[OURS].ns_per_pull
    for place, (by, row) in enumerate(best.items()):
        ax.plot([row.ns_per_pull], [place], "o", color=_COLOURS.get(by, BLACK), markersize=7)
        if by != OURS:
            _note(ax, place, f"{row.ns_per_pull / own:,.0f}x the time")
    _dots(ax, list(best), "time per pull, ns")
    ax.set_title("UCB1 on ten arms, beside other packages", fontsize=10.5)


def _by_horizon(ax: Axes, rows: Sequence[Row]) -> None:
    set_scales(ax, "log", "log")
    for policy, dash in (("ucb1", DASHES[0]), ("ucb-m", DASHES[1])):
        for by in (OURS, C):
            line = [row for row in rows if (row.job.policy, row.by) == (policy, by)]
            name = f"{_title(policy)}{', M = 2' if policy == 'ucb-m' else ''}{_loop(by)}"
            times = [row.seconds / row.runs for row in line]
            _line(ax, [row.job.horizon for row in line], times, name, (_COLOURS[by], dash))
    label_ends(ax)
    ax.set_xlabel("pulls of a run, T")
    ax.set_ylabel("time of a run, s")
    ax.set_title(f"As T grows, {rows[0].job.instance}", fontsize=10.5)


def _by_memory(ax: Axes, rows: Sequence[Row]) -> None:
    set_scales(ax, "log", "log")
    for policy, by in dict.fromkeys((row.job.policy, row.by) for row in rows):
        line = [row for row in rows if (row.job.policy, row.by) == (policy, by)]
        colour = _RULES.get(policy, _COLOURS[by])
        xs, ys = [row.job.memory for row in line], [row.ns_per_pull for row in line]
        _line(ax, xs, ys, f"{_title(policy)}{_loop(by)}", (colour, DASHES[0]))
    label_ends(ax)
    ax.set_xlabel("arms in memory, M")
    ax.set_ylabel("time per pull, ns")
    ax.set_title(f"As M grows, {rows[0].job.instance}", fontsize=10.5)


def _by_arms(ax: Axes, rows: Sequence[Row]) -> None:
    set_scales(ax, "log", "log")
    for who in dict.fromkeys((row.job.policy, row.job.memory, row.by) for row in rows):
        policy, memory, by = who
        line = [row for row in rows if (row.job.policy, row.job.memory, row.by) == who]
        xs, ys = [row.job.n_arms for row in line], [row.ns_per_pull for row in line]
        colour = _RULES.get(policy, _COLOURS[by])
        look = (colour, DASHES[0 if memory == 2 else 1])
        _line(ax, xs, ys, f"{_title(policy)}, M = {memory}{_loop(by)}", look)
    label_ends(ax)
    ax.set_xlabel("arms, K")
    ax.set_ylabel("time per pull, ns")
    ax.set_title("As K grows, linear:K", fontsize=10.5)


_PANELS: dict[str, Callable[[Axes, Sequence[Row]], None]] = {
    TEXTBOOK: _textbook,
    PEERS: _peers,
    BY_HORIZON: _by_horizon,
    BY_MEMORY: _by_memory,
    BY_ARMS: _by_arms,
}


def _line(
    ax: Axes, xs: Sequence[int], ys: Sequence[float], name: str, look: tuple[str, object]
) -> None:
    if xs:
        line_with_band(ax, np.array(xs), np.array([ys]), name, look, marker="o")


def _dots(ax: Axes, names: Sequence[str], label: str) -> None:
    """Label the rows from the top, and give the log axis some room at its ends."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ax.set_xlim(low / 1.4, high * 1.4)
    log_ticks(ax.xaxis)
    ax.set_ylim(len(names) - 0.5, -0.75)
    ax.set_yticks(range(len(names)), list(names))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(label)


def _note(ax: Axes, place: int, text: str) -> None:
    ax.annotate(
        text, (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=9,
        annotation_clip=False,
    )  # fmt: skip


def _job(policy: str, memory: int, world: str) -> str:
    name = _title(policy)
    return f"{name}, M = {memory}\n{world}" if policy == "ucb-m" else f"{name}\n{world}"


def _title(policy: str) -> str:
    return policy_class(policy).title


def _loop(by: str) -> str:
    return "" if by == OURS else f", {by}"


def _power(number: int) -> str:
    digits = len(str(number)) - 1
    return f"$10^{digits}$" if number == 10**digits else f"{number:,}"
