"""The paper's figures from results, and the same as curves over time, which it does not show.

A figure is rows of panels. Drawn together they are one picture, `fig1.png`; on the report's page
each is a picture of its own, so that they find their place on a narrow screen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from handful.plots.panels import plot_pulls
from handful.plots.style import PALETTE, figure, plot_regret
from handful.plots.timeline import plot_memory
from handful.simulation import Result
from handful.studies.paper import experiments
from handful.studies.paper.experiments import (
    CONSTANT_SPACE,
    MEMORIES,
    POLICIES,
    SWEPT,
    TITLES,
    Comparison,
    Sweep,
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
_SHORT = {
    **NAMES,
    "constant-space:c=2": "Const.\nspace\nc = 2",
    "constant-space:c=0.5": "Const.\nspace\nc = 0.5",
}
_BY_MEMORY = ("#440154", "#414487", "#2a788e", "#22a884", "#5cb82f", "#b8a500")
"""Dark to light with M: in order for any kind of colour vision, and dark enough on white."""

PANEL = (4.6, 3.3)
"""Inches of a panel."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes: what it shows, in words too, and how to draw it."""

    title: str
    words: str
    draw: Callable[[Axes], None]

    def alone(self) -> Figure:
        """As a picture of its own."""
        made, ax = figure(1, 1, *PANEL)
        self.draw(ax)
        ax.set_title(self.title, fontsize=10)
        return made


@dataclass(frozen=True)
class Group:
    """Panels that belong side by side, under a heading."""

    heading: str
    panels: tuple[Panel, ...]


def groups(experiment: Comparison | Sweep, results: Results) -> list[Group]:
    """What a figure shows: first in the paper's form, then over time."""
    if isinstance(experiment, Sweep):
        return _sweep(experiment, results)
    return _comparison(experiment, results)


def timeline(result: Result) -> Figure:
    """The arm memory of the recorded run."""
    made, ax = figure(1, 1, 7.0, 3.9)
    plot_memory(result, ax=ax)
    return made


def together(title: str, parts: list[Group]) -> Figure:
    """All panels in one picture, a row for each group."""
    columns = max(len(group.panels) for group in parts)
    width, height = PANEL
    made, axes = figure(len(parts), columns, width * columns, height * len(parts), squeeze=False)
    for row, group in zip(axes, parts, strict=True):
        for ax, panel in zip(row, group.panels, strict=False):
            panel.draw(ax)
            ax.set_title(panel.title, fontsize=10)
        for ax in row[len(group.panels) :]:
            ax.set_visible(False)
    made.suptitle(title, fontsize=11)
    return made


def caption(experiment: Comparison | Sweep, results: Results) -> str:
    """What a figure shows, with the number of runs that it has."""
    runs = min(results.at(planned).settings["runs"] for planned in experiment.cells(1, 0))
    many = f"{runs} run{'s' * (runs != 1)}"
    if isinstance(experiment, Sweep):
        return (
            f"Regret by arm memory M on {TITLES[experiment.instance]} "
            f"(mean ± standard error of {many}; at M = {MEMORIES[-1]} the plain rule; bands 95%)"
        )
    return (
        "Regret with M = 2, and of UCBConstantSpace (reconstructed) with M = 4 "
        f"(mean ± standard error of {many}; bands 95%)"
    )


def _power(t: int) -> str:
    return f"$10^{{{len(str(t)) - 1}}}$"


def _comparison(experiment: Comparison, results: Results) -> list[Group]:
    bars, curves, pulls = [], [], []
    found = {
        instance: {
            policy: results.of(policy, instance, None if policy in CONSTANT_SPACE else 2)
            for policy in (*POLICIES, *CONSTANT_SPACE)
        }
        for instance in experiment.instances
    }
    means = [result.regret.mean for mine in found.values() for result in mine.values()]
    limits = min(means) / 3, max(means) * 2.5
    for instance, mine in found.items():
        title = TITLES[instance]
        said = ", ".join(f"{NAMES[p]} {r.regret.mean:,.0f}" for p, r in mine.items())
        bars.append(Panel(title, f"Regret on {instance}: {said}.", partial(_bars, mine, limits)))
        words = f"Regret over time on {instance}, on log axes, for {', '.join(map(_name, mine))}."
        curves.append(Panel(title, words, partial(_curves, mine)))
        words = f"Mean pulls of each arm of {instance}, best arm first, by policy."
        pulls.append(Panel(title, words, partial(_pulls, mine)))
    horizon = _power(experiments.HORIZON)
    parts = [
        Group(f"After {horizon} pulls, as in the paper", tuple(bars)),
        Group("Over time", tuple(curves)),
    ]
    if experiment.pulls_by_arm:
        parts.append(Group("Pulls by arm", tuple(pulls)))
    return parts


def _name(policy: str) -> str:
    return NAMES[policy]


def _bars(found: dict[str, Result], limits: tuple[float, float], ax: Axes) -> None:
    places = np.arange(len(found))
    regrets = [result.regret for result in found.values()]
    ax.bar(
        places,
        [regret.mean for regret in regrets],
        yerr=[np.nan_to_num(regret.sem) for regret in regrets],
        color=[COLOURS[policy] for policy in found],
        width=0.62,
        capsize=3,
    )
    ax.set_yscale("log")
    ax.set_ylim(*limits)
    ax.set_xticks(places, [_SHORT[policy] for policy in found], fontsize=8)
    ax.grid(axis="x", visible=False)
    ax.set_ylabel("regret")
    for place, regret in zip(places, regrets, strict=True):
        ax.annotate(
            f"{regret.mean:,.0f}",
            (float(place), regret.mean + float(np.nan_to_num(regret.sem))),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )


def _curves(found: dict[str, Result], ax: Axes) -> None:
    plot_regret(
        list(found.values()),
        ax,
        names=[_at_the_end(policy) for policy in found],
        styles=[(COLOURS[policy], "-") for policy in found],
    )


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
    """A name that is short enough for the end of a line."""
    return NAMES[policy].replace("UCBConstantSpace", "Const. space")


def _sweep(experiment: Sweep, results: Results) -> list[Group]:
    instance = experiment.instance
    bars, curves = [], []
    everything = [
        results.regret(policy, instance, memory, horizon).mean
        for policy in SWEPT
        for memory in MEMORIES
        for horizon in experiments.HORIZONS
    ]
    limits = min(everything) / 2, max(everything) * 6
    for horizon in experiments.HORIZONS:
        words = f"Regret on {instance} after {horizon} pulls, by memory and policy."
        draw = partial(_memory_bars, results, instance, horizon, limits)
        bars.append(Panel(f"after {_power(horizon)} pulls", words, draw))
    for policy in SWEPT:
        words = f"Regret of {NAMES[policy]} over time on {instance}, a line for each memory."
        curves.append(
            Panel(NAMES[policy], words, partial(_memory_curves, results, instance, policy))
        )
    return [Group("By memory, as in the paper", tuple(bars)), Group("Over time", tuple(curves))]


def _memory_bars(
    results: Results, instance: str, horizon: int, limits: tuple[float, float], ax: Axes
) -> None:
    places = np.arange(len(MEMORIES))
    wide = 0.8 / len(SWEPT)
    for index, policy in enumerate(SWEPT):
        regrets = [results.regret(policy, instance, memory, horizon) for memory in MEMORIES]
        ax.bar(
            places + (index - (len(SWEPT) - 1) / 2) * wide,
            [regret.mean for regret in regrets],
            yerr=[np.nan_to_num(regret.sem) for regret in regrets],
            width=wide,
            color=COLOURS[policy],
            label=NAMES[policy],
            error_kw={"elinewidth": 0.8},
        )
    ax.set_xticks(places, [str(memory) for memory in MEMORIES])
    ax.set_xlabel("arm memory M")
    ax.set_ylabel("regret")
    ax.set_yscale("log")
    ax.set_ylim(*limits)
    ax.grid(axis="x", visible=False)
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="upper left")


def _memory_curves(results: Results, instance: str, policy: str, ax: Axes) -> None:
    plot_regret(
        [results.of(policy, instance, memory) for memory in MEMORIES],
        ax,
        names=[f"M = {memory}" for memory in MEMORIES],
        styles=[(colour, "-") for colour in _BY_MEMORY],
    )
