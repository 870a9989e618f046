"""Which cells the paper's figures are made of.

    fig1   regret of each policy at M = 2 on the three instances with K = 100
    fig2   regret by M and horizon on B_L^100
    fig3   K = 10: regret, and pulls by arm, at M = 2
    fig4   as fig2 on B_0.3^100
    fig5   as fig2 on B_0.6^100

T = 10^6 and 100 runs, as in the paper. A run to 10^6 pulls passes through 10^4 and 10^5 exactly as
a shorter run would, so shorter horizons cost nothing, except for MOSS with all arms in memory,
which is told the horizon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from handful.simulation.plan import Cell, cell

HORIZON = 10**6
HORIZONS = (10**4, 10**5, 10**6)
MEMORIES = (2, 5, 10, 20, 50, 100)
POLICIES = ("ucb-m", "ts-m", "moss-m")
SWEPT = ("ucb-m", "ucb-m:eta=0.2", "ts-m", "moss-m")

TITLES = {
    "linear:10": "$B_L^{10}$",
    "power:10:0.3": "$B_{0.3}^{10}$",
    "power:10:0.6": "$B_{0.6}^{10}$",
    "linear:100": "$B_L^{100}$",
    "power:100:0.3": "$B_{0.3}^{100}$",
    "power:100:0.6": "$B_{0.6}^{100}$",
}


@dataclass(frozen=True)
class Comparison:
    """Policies at M = 2 on several instances."""

    instances: tuple[str, ...]
    pulls_by_arm: bool = False

    def cells(self, runs: int, seed: int) -> Iterator[Cell]:
        """The cells, in the order in which they are run."""
        for instance in self.instances:
            for policy in POLICIES:
                yield cell(policy, instance, 2, HORIZON, runs, seed)


@dataclass(frozen=True)
class Sweep:
    """Policies by memory and horizon on one instance."""

    instance: str

    def cells(self, runs: int, seed: int) -> Iterator[Cell]:
        """The cells, in the order in which they are run."""
        for policy in SWEPT:
            for memory in MEMORIES:
                for horizon in self.horizons_to_run(policy, memory):
                    yield cell(policy, self.instance, memory, horizon, runs, seed)

    def horizons_to_run(self, policy: str, memory: int) -> tuple[int, ...]:
        """One run to the end serves all horizons unless the policy is told the horizon."""
        n_arms = cell(policy, self.instance, memory, 1).instance.n_arms
        return HORIZONS if policy == "moss-m" and memory >= n_arms else (HORIZON,)


FIGURES: dict[str, Comparison | Sweep] = {
    "fig1": Comparison(("linear:100", "power:100:0.3", "power:100:0.6")),
    "fig2": Sweep("linear:100"),
    "fig3": Comparison(("linear:10", "power:10:0.3", "power:10:0.6"), pulls_by_arm=True),
    "fig4": Sweep("power:100:0.3"),
    "fig5": Sweep("power:100:0.6"),
}
