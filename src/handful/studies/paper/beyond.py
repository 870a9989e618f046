"""Beyond the paper: Race beside the best of the paper's policies, with the same memory.

Race is handful's own policy (docs/mathematics.md). It is simulated on the paper's ten instances
with the paper's memories and horizon; the paper's policies are those of its tables and figures.
The best of them is chosen on each instance in hindsight, which favours the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING

from handful.plots.style import PALETTE, figure
from handful.simulation.intervals import half_width
from handful.simulation.plan import Cell, cell
from handful.simulation.result import Estimate
from handful.studies.paper import experiments
from handful.studies.paper.experiments import (
    EXPERIMENTS,
    POLICIES,
    SWEPT,
    TITLES,
    ByMemory,
    ByPolicy,
    Table,
)
from handful.studies.paper.figures import NAMES
from handful.studies.paper.published import INSTANCES
from handful.studies.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RACE = "race"
RUNS = 100
SAME_MEMORY = (2, 10)
"""Both are in Table 1; the figures have 10 only with 100 arms."""


@dataclass(frozen=True)
class Pair:
    """Race and the best of the paper's policies on an instance, both with the same memory."""

    instance: str
    memory: int
    race: Estimate
    best_name: str
    best: Estimate

    @property
    def title(self) -> str:
        """The instance as figures write it."""
        return TITLES.get(self.instance, self.instance)

    @property
    def ratio(self) -> float:
        """Race's mean regret over the other's."""
        return self.race.mean / self.best.mean


def cells(runs: int, seed: int) -> Iterator[Cell]:
    """Yield Race's cells, in the order in which they are run."""
    for instance, memory in _paper_policies():
        yield cell(RACE, instance, memory, experiments.HORIZON, runs, seed)


def pairs(results: Results) -> list[Pair]:
    """Compare on every instance and memory. Needs the results of all experiments and of `cells`."""
    found = []
    for (instance, memory), policies in _paper_policies().items():
        regrets = {name: results.regret(spec, instance, memory) for name, spec in policies.items()}
        best = min(regrets, key=lambda name: regrets[name].mean)
        race = results.regret(RACE, instance, memory)
        found.append(Pair(instance, memory, race, best, regrets[best]))
    return found


def mean_ratio(found: list[Pair], memory: int) -> float:
    """Return the geometric mean of Race's regret over the best of the paper's, at a memory."""
    return geometric_mean(pair.ratio for pair in found if pair.memory == memory)


def draw(found: list[Pair]) -> Figure:
    """Draw both regrets on each instance with 95% intervals, a panel for each memory."""
    made, axes = figure(1, len(SAME_MEMORY), 9.0, 4.0)
    for ax, memory in zip(axes, SAME_MEMORY, strict=True):
        mine = [pair for pair in found if pair.memory == memory]
        for row, pair in enumerate(mine):
            means = pair.race.mean, pair.best.mean
            ax.plot(means, [row, row], color="#c8c8c8", linewidth=1.2, zorder=1)
            for estimate, colour, marker in (
                (pair.race, PALETTE[1], "D"),
                (pair.best, PALETTE[0], "o"),
            ):
                half = float(half_width(estimate.per_run))
                ax.errorbar(
                    [estimate.mean], [row], xerr=[[min(half, 0.999 * estimate.mean)], [half]],
                    fmt=marker, color=colour, markersize=6, capsize=2,
                )  # fmt: skip
        ax.set_xscale("log")
        shown = [estimate.mean for pair in mine for estimate in (pair.race, pair.best)]
        ax.set_xlim(min(shown) / 2, max(shown) * 2)
        ax.set_ylim(len(mine) - 0.4, -0.6)
        ax.set_yticks(range(len(mine)), [pair.title for pair in mine])
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
        ax.set_xlabel("regret")
        ax.set_title(f"M = {memory}", fontsize=10.5)
    for label, colour, marker in (
        ("Race", PALETTE[1], "D"),
        ("the best of the paper's policies", PALETTE[0], "o"),
    ):
        axes[0].plot([], [], marker, color=colour, label=label)
    handles, labels = axes[0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
    return made


def _paper_policies() -> dict[tuple[str, int], dict[str, str]]:
    """Return the paper's policies that are simulated, name to spec, by instance and memory."""
    found: dict[tuple[str, int], dict[str, str]] = {}
    for experiment in EXPERIMENTS.values():
        if isinstance(experiment, ByMemory):
            for memory in SAME_MEMORY:
                policies = {NAMES[policy]: policy for policy in SWEPT}
                found.setdefault((experiment.instance, memory), {}).update(policies)
        elif isinstance(experiment, ByPolicy):
            for instance in experiment.instances:
                policies = {NAMES[policy]: policy for policy in POLICIES}
                found.setdefault((instance, 2), {}).update(policies)
    table = EXPERIMENTS["table1"]
    assert isinstance(table, Table)
    for row in table.rows():
        if row.name.startswith("Q"):
            for instance in INSTANCES:
                name = row.name.replace(" (eta=0.2)", ", η = 0.2")
                found.setdefault((instance, row.memory), {})[name] = row.policy
    order = [*TITLES, *INSTANCES]
    return dict(sorted(found.items(), key=lambda item: (item[0][1], order.index(item[0][0]))))
