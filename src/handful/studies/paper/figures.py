"""The paper's figures from our results, and the same as curves over time, which it lacks.

A figure is groups of panels. Drawn together they are one picture, `fig1.png`; on the report's page
each panel is a picture of its own, so that the page fits a narrow screen. The paper draws bars on
a log axis, whose length means nothing; here they are points with 95% intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from handful.plots.panels import plot_final, plot_pulls
from handful.plots.style import PALETTE, figure, label_ends, line_with_band, set_scales
from handful.plots.timeline import plot_memory
from handful.simulation import Result
from handful.studies.paper import experiments
from handful.studies.paper.experiments import (
    CONSTANT_SPACE,
    MEMORIES,
    POLICIES,
    SWEPT,
    TITLES,
    ByMemory,
    ByPolicy,
)
from handful.studies.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "ucb-m": PALETTE[0],
    "ts-m": PALETTE[1],
    "moss-m": PALETTE[2],
    "ucb-m:eta=0.2": PALETTE[5],
    "constant-space:c=2": PALETTE[6],
    "constant-space:c=0.5": PALETTE[3],
}
"""One colour for each policy in all figures."""
NAMES = {
    "ucb-m": "UCB-M",
    "ts-m": "TS-M",
    "moss-m": "MOSS-M",
    "ucb-m:eta=0.2": "UCB-M, η = 0.2",
    "constant-space:c=2": "UCBConstantSpace, c = 2",
    "constant-space:c=0.5": "UCBConstantSpace, c = 0.5",
}
_BY_MEMORY = ("#440154", "#414487", "#2a788e", "#22a884", "#5cb82f", "#b8a500")
"""Dark to light with M: in order for any kind of colour vision, and dark enough on white."""

PANEL = (4.6, 3.0)
"""Inches of a panel."""
FROM = 1e-4
"""Curves over time start at this share of the horizon."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes: what it shows, in words too, and how to draw it."""

    title: str
    words: str
    draw: Callable[[Axes], None]

    def alone(self) -> Figure:
        """Draw the panel as a picture of its own."""
        made, ax = figure(1, 1, *PANEL)
        self.draw(ax)
        ax.set_title(self.title, fontsize=10)
        return made


@dataclass(frozen=True)
class Group:
    """Panels that belong side by side, under a heading."""

    heading: str
    panels: tuple[Panel, ...]


def groups(experiment: ByPolicy | ByMemory, results: Results) -> list[Group]:
    """Return what a figure shows: first in the paper's form, then over time."""
    if isinstance(experiment, ByMemory):
        return _memory_groups(experiment, results)
    return _policy_groups(experiment, results)


def timeline(result: Result) -> Figure:
    """Return the arm memory of the recorded run."""
    made, ax = figure(1, 1, 7.0, 3.9)
    plot_memory(result, ax=ax)
    return made


def together(title: str, parts: list[Group]) -> Figure:
    """Draw all panels in one picture.

    Groups of equal size are columns, with an instance in each row; others follow one another, two
    panels to a row. Two columns stay readable at the width of a README.
    """
    placed = _columns(parts) if len({len(g.panels) for g in parts}) == 1 else _wrapped(parts)
    rows, columns = 1 + max(row for row, _, _ in placed), 1 + max(at for _, at, _ in placed)
    width, height = PANEL
    made, axes = figure(rows, columns, width * columns, height * rows, squeeze=False)
    unused = set(axes.flat)
    for row, column, panel in placed:
        ax = axes[row, column]
        panel.draw(ax)
        ax.set_title(panel.title, fontsize=10.5)
        unused.remove(ax)
    for ax in unused:
        ax.remove()
    made.suptitle(title, fontsize=11)
    return made


def _columns(parts: list[Group]) -> list[tuple[int, int, Panel]]:
    return [
        (
            row,
            column,
            replace(panel, title=f"{panel.title}, {group.heading[0].lower()}{group.heading[1:]}"),
        )
        for column, group in enumerate(parts)
        for row, panel in enumerate(group.panels)
    ]


def _wrapped(parts: list[Group]) -> list[tuple[int, int, Panel]]:
    placed = []
    first = 0
    for group in parts:
        placed += [(first + i // 2, i % 2, panel) for i, panel in enumerate(group.panels)]
        first = placed[-1][0] + 1
    return placed


def caption(experiment: ByPolicy | ByMemory, results: Results) -> str:
    """Return what a figure shows, with the number of runs that it has."""
    runs = min(results.at(planned).settings["runs"] for planned in experiment.cells(1, 0))
    many = f"{runs} run{'s' * (runs != 1)}"
    if isinstance(experiment, ByMemory):
        return (
            f"regret by arm memory M on {TITLES[experiment.instance]} (M = {MEMORIES[-1]}: "
            f"the plain rule); mean of {many}, 95% bands"
        )
    return (
        "regret with M = 2, and of UCBConstantSpace (reconstructed) with M = 4; "
        f"mean of {many}, 95% intervals"
    )


def _power(t: int) -> str:
    return f"$10^{{{len(str(t)) - 1}}}$"


def _policy_groups(experiment: ByPolicy, results: Results) -> list[Group]:
    points, curves, pulls = [], [], []
    found = {
        instance: {
            policy: results.of(policy, instance, None if policy in CONSTANT_SPACE else 2)
            for policy in (*POLICIES, *CONSTANT_SPACE)
        }
        for instance in experiment.instances
    }
    means = [result.regret.mean for mine in found.values() for result in mine.values()]
    limits = min(means) / 1.6, max(means) * 1.6
    for instance, mine in found.items():
        title = TITLES[instance]
        said = ", ".join(f"{NAMES[p]} {r.regret.mean:,.0f}" for p, r in mine.items())
        points.append(
            Panel(title, f"Regret on {instance}: {said}.", partial(_points, mine, limits))
        )
        words = f"Regret over time on {instance}, on log axes, for {', '.join(map(_name, mine))}."
        curves.append(Panel(title, words, partial(_curves, mine)))
        words = f"Mean pulls of each arm of {instance}, best arm first, by policy."
        pulls.append(Panel(title, words, partial(_pulls, mine)))
    horizon = _power(experiments.HORIZON)
    parts = [
        Group(f"After {horizon} pulls", tuple(points)),
        Group("Over time", tuple(curves)),
    ]
    if experiment.pulls_by_arm:
        parts.append(Group("Pulls by arm", tuple(pulls)))
    return parts


def _name(policy: str) -> str:
    return NAMES[policy]


def _points(found: dict[str, Result], limits: tuple[float, float], ax: Axes) -> None:
    names = [_at_the_end(policy) for policy in found]
    styles = [(COLOURS[policy], "-") for policy in found]
    plot_final(list(found.values()), ax, names, styles, x="log")
    ax.set_xlim(*limits)
    # Few enough to be written in full beside each other.
    digits = (1, 3) if limits[1] < 30 * limits[0] else (1,)
    ticks = [digit * 10**power for power in range(7) for digit in digits]
    ticks = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])


def _curves(found: dict[str, Result], ax: Axes) -> None:
    _over_time(
        list(found.values()),
        [_at_the_end(policy) for policy in found],
        [COLOURS[policy] for policy in found],
        ax,
    )


def _over_time(
    results: Sequence[Result], names: Sequence[str], colours: Sequence[str], ax: Axes
) -> None:
    """Draw mean regret with 95% bands on log axes, without the first pulls, where all agree."""
    set_scales(ax, "log", "log")
    for result, name, colour in zip(results, names, colours, strict=True):
        shown = result.curve.t >= result.settings["horizon"] * FROM
        line_with_band(
            ax, result.curve.t[shown], result.curve.per_run[:, shown], name, (colour, "-")
        )
    label_ends(ax)
    ax.set_xlabel("pulls")
    ax.set_ylabel("regret")


def _pulls(found: dict[str, Result], ax: Axes) -> None:
    plot_pulls(
        list(found.values()),
        ax,
        [_at_the_end(policy) for policy in found],
        [(COLOURS[policy], "-") for policy in found],
        x="linear",
        y="log",
    )


def _at_the_end(policy: str) -> str:
    """Return a name that is short enough for the end of a line."""
    return NAMES[policy].replace("UCBConstantSpace", "Const. space")


def _memory_groups(experiment: ByMemory, results: Results) -> list[Group]:
    instance = experiment.instance
    by_memory, curves = [], []
    for horizon in experiments.HORIZONS:
        words = f"Regret on {instance} after {horizon} pulls, by memory and policy."
        draw = partial(_by_memory, results, instance, horizon)
        by_memory.append(Panel(f"after {_power(horizon)} pulls", words, draw))
    for policy in SWEPT:
        words = f"Regret of {NAMES[policy]} over time on {instance}, a line for each memory."
        curves.append(
            Panel(NAMES[policy], words, partial(_memory_curves, results, instance, policy))
        )
    return [Group("By memory", tuple(by_memory)), Group("Over time", tuple(curves))]


def _by_memory(results: Results, instance: str, horizon: int, ax: Axes) -> None:
    places = np.arange(len(MEMORIES))
    set_scales(ax, "linear", "log")
    for policy in SWEPT:
        regrets = [results.regret(policy, instance, memory, horizon) for memory in MEMORIES]
        per_run = np.stack([regret.per_run for regret in regrets], axis=1)
        line_with_band(ax, places, per_run, NAMES[policy], (COLOURS[policy], "-"), marker="o")
    label_ends(ax)
    ax.set_xticks(places, [str(memory) for memory in MEMORIES])
    ax.set_xlabel("arm memory M")
    ax.set_ylabel("regret")


def _memory_curves(results: Results, instance: str, policy: str, ax: Axes) -> None:
    found = [results.of(policy, instance, memory) for memory in MEMORIES]
    _over_time(found, [f"M = {memory}" for memory in MEMORIES], _BY_MEMORY, ax)
