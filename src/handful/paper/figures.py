"""The paper's figures from results, and the same as curves over time, which it does not show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from handful.paper.experiments import HORIZONS, MEMORIES, SWEPT, TITLES, Comparison, Sweep
from handful.paper.store import key
from handful.simulation import Result
from handful.simulation.plan import cell
from handful.simulation.plot import PALETTE, figure, plot_regret
from handful.simulation.result import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Results = Mapping[str, Result]

COLOURS = {
    "UCB-M": PALETTE[0],
    "TS-M": PALETTE[1],
    "MOSS-M": PALETTE[2],
    "UCB-M (eta=0.2)": PALETTE[5],
}
"""One colour for each policy in all figures."""


def draw(name: str, experiment: Comparison | Sweep, results: Results, runs: int) -> Figure:
    """A figure by what it shows."""
    if isinstance(experiment, Sweep):
        return _sweep(name, experiment, results, runs)
    return _comparison(name, experiment, results, runs)


def _comparison(name: str, experiment: Comparison, results: Results, runs: int) -> Figure:
    count = len(experiment.instances)
    rows = 3 if experiment.pulls_by_arm else 2
    made, axes = figure(rows, count, 4.2 * count, 3.0 * rows, squeeze=False)
    means = [r.regret.mean for r in results.values()]
    for column, instance in enumerate(experiment.instances):
        mine = [r for r in results.values() if r.settings["instance"] == instance]
        _bars(axes[0][column], mine)
        axes[0][column].set_ylim(min(means) / 3, max(means) * 2.2)
        axes[0][column].set_title(TITLES[instance])
        plot_regret(mine, axes[1][column], memory=False)
        if experiment.pulls_by_arm:
            _pulls(axes[2][column], mine)
    made.suptitle(
        f"{name}: regret after $10^6$ pulls with statistics of M = 2 arms "
        f"(mean ± standard error of {runs} run{'s' * (runs != 1)}; bands 95%)",
        fontsize=11,
    )
    return made


def _bars(ax: Axes, results: list[Result]) -> None:
    places = np.arange(len(results))
    ax.bar(
        places,
        [r.regret.mean for r in results],
        yerr=[np.nan_to_num(r.regret.sem) for r in results],
        color=[COLOURS[r.settings["label"]] for r in results],
        width=0.62,
        capsize=3,
    )
    ax.set_yscale("log")
    ax.set_xticks(places, [r.settings["label"] for r in results])
    ax.grid(axis="x", visible=False)
    ax.set_ylabel("regret")
    for place, result in zip(places, results, strict=True):
        top = result.regret.mean + float(np.nan_to_num(result.regret.sem))
        ax.annotate(
            f"{result.regret.mean:,.0f}",
            (float(place), top),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )


def _pulls(ax: Axes, results: list[Result]) -> None:
    for result in results:
        colour = COLOURS[result.settings["label"]]
        if result.pulls is not None:
            arms = np.arange(1, result.pulls.shape[1] + 1)
            ax.plot(arms, result.pulls.mean(axis=0), "o-", color=colour, markersize=4)
            ax.annotate(
                result.settings["label"],
                (1.0, float(result.pulls.mean(axis=0)[-1])),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                color=colour,
                va="center",
            )
    ax.set_yscale("log")
    ax.set_xlabel("arm, best first")
    ax.set_ylabel("pulls")


def _sweep(name: str, experiment: Sweep, results: Results, runs: int) -> Figure:
    made, axes = figure(1, len(HORIZONS), 4.4 * len(HORIZONS), 4.0, sharey=True)
    places = np.arange(len(MEMORIES))
    wide = 0.8 / len(SWEPT)
    for ax, horizon in zip(axes, HORIZONS, strict=True):
        for index, policy in enumerate(SWEPT):
            found = [_at(experiment, results, policy, memory, horizon) for memory in MEMORIES]
            ax.bar(
                places + (index - (len(SWEPT) - 1) / 2) * wide,
                [regret.mean for _, regret in found],
                yerr=[np.nan_to_num(regret.sem) for _, regret in found],
                width=wide,
                color=COLOURS[found[0][0]],
                label=found[0][0],
                error_kw={"elinewidth": 0.8},
            )
        ax.set_xticks(places, [str(memory) for memory in MEMORIES])
        ax.set_xlabel("arm memory M")
        ax.set_title(f"after $10^{len(str(horizon)) - 1}$ pulls")
        ax.set_yscale("log")
        ax.grid(axis="x", visible=False)
    axes[0].set_ylabel("regret")
    axes[0].legend(frameon=False, fontsize=8, ncols=2, loc="upper left")
    bottom, top = axes[0].get_ylim()
    axes[0].set_ylim(bottom, top * 2.5)
    made.suptitle(
        f"{name}: regret by arm memory on {TITLES[experiment.instance]}; at M = 100 the plain rule "
        f"(mean ± standard error of {runs} runs)",
        fontsize=11,
    )
    return made


def _at(
    experiment: Sweep, results: Results, policy: str, memory: int, horizon: int
) -> tuple[str, Estimate]:
    """A policy's name and its regret at a horizon, from the run to it or through it."""
    horizons = experiment.horizons_to_run(policy, memory)
    ran = horizon if horizon in horizons else horizons[-1]
    result = results[key(cell(policy, experiment.instance, memory, ran))]
    return result.settings["label"], result.regret_at(horizon)
