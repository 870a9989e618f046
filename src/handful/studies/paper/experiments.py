"""The cells of which the paper's tables and figures are made.

    table1  endless arms, I1 to I4, alpha = 0.347, beside older rules for them
    table2  the same with alpha = 0.205
    fig1    K = 100: regret at M = 2, beside UCBConstantSpace at M = 4
    fig2    regret by M and horizon on B_L^100
    fig3    K = 10: as fig1, and pulls by arm
    fig4    as fig2 on B_0.3^100
    fig5    as fig2 on B_0.6^100

Also one run of UCB-M and one of Race whose memory is recorded, to show which arms are in it when.

T = 10^6; 20 runs in the tables and 100 in the figures, as in the paper. A run to 10^6 pulls passes
through 10^4 and 10^5 exactly as a shorter run would, so shorter horizons cost nothing, except for
MOSS with all arms in memory, which is given the horizon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from handful.simulation.plan import Cell, cell
from handful.studies.paper import published
from handful.studies.paper.published import INSTANCES, Numbers

HORIZON = 10**6
HORIZONS = (10**4, 10**5, 10**6)
RECORDED = 10**5
MEMORIES = (2, 5, 10, 20, 50, 100)
POLICIES = ("ucb-m", "ts-m", "moss-m")
CONSTANT_SPACE = ("constant-space:c=2", "constant-space:c=0.5")
SWEPT = ("ucb-m", "ucb-m:eta=0.2", "ts-m", "moss-m")

TITLES = {
    "linear:10": "$B_L^{10}$",
    "power:10:0.3": "$B_{0.3}^{10}$",
    "power:10:0.6": "$B_{0.6}^{10}$",
    "linear:100": "$B_L^{100}$",
    "power:100:0.3": "$B_{0.3}^{100}$",
    "power:100:0.6": "$B_{0.6}^{100}$",
}
"""The instances as the figures write them."""

TABULATED = " (as tabulated)"
"""What follows the name of a rule that is as the paper's table has it, not as it was defined."""

ROWS: dict[str, tuple[tuple[str, str], ...]] = {
    "Non-stationary policy": (("Non-stationary policy", "herschkorn"),),
    "sqrt(T)-run": (
        ("sqrt(T)-run", "sqrt-run"),
        (f"sqrt(T)-run{TABULATED}", "sqrt-run-tabulated"),
    ),
    "sqrt(T) ln T-learning": (
        ("sqrt(T) ln T-learning", "sqrt-log-learning"),
        (f"sqrt(T) ln T-learning{TABULATED}", "sqrt-log-tabulated"),
    ),
    "Non-recalling sqrt(T)-run": (("Non-recalling sqrt(T)-run", "nonrecalling-run"),),
    "QUCB-M": (("QUCB-M", "qucb-m:alpha={alpha}"),),
    "QUCB-M (eta=0.2)": (("QUCB-M (eta=0.2)", "qucb-m:eta=0.2,alpha={alpha}"),),
    "QTS-M": (("QTS-M", "qts-m:alpha={alpha}"),),
    "QMoss-M": (("QMoss-M", "qmoss-m:alpha={alpha}"),),
}
"""Our rows, each with its policy, for a row of the paper: two where a definition is in doubt."""


@dataclass(frozen=True)
class Row:
    """A row of a table: a policy on the four endless instances."""

    name: str
    memory: int
    policy: str
    published: Numbers


@dataclass(frozen=True)
class Table:
    """The QR-M family and older rules on endless arms."""

    alpha: float
    published: dict[tuple[str, int], Numbers]
    default_runs: ClassVar[int] = 20

    def rows(self) -> Iterator[Row]:
        """Return our rows in the order of the paper's."""
        for (printed, memory), numbers in self.published.items():
            for name, policy in ROWS[printed]:
                yield Row(name, memory, policy.format(alpha=self.alpha), numbers)

    def cells(self, runs: int, seed: int) -> Iterator[Cell]:
        """Yield the cells, in the order in which they are run."""
        for row in self.rows():
            for instance in INSTANCES:
                yield cell(row.policy, instance, row.memory, HORIZON, runs, seed)


@dataclass(frozen=True)
class ByPolicy:
    """Policies at M = 2 on several instances, beside UCBConstantSpace."""

    instances: tuple[str, ...]
    pulls_by_arm: bool = False
    default_runs: ClassVar[int] = 100

    def cells(self, runs: int, seed: int) -> Iterator[Cell]:
        """Yield the cells, in the order in which they are run."""
        for instance in self.instances:
            for policy in POLICIES:
                yield cell(policy, instance, 2, HORIZON, runs, seed)
            for policy in CONSTANT_SPACE:
                yield cell(policy, instance, None, HORIZON, runs, seed)


@dataclass(frozen=True)
class ByMemory:
    """Policies by memory and horizon on one instance."""

    instance: str
    default_runs: ClassVar[int] = 100

    def cells(self, runs: int, seed: int) -> Iterator[Cell]:
        """Yield the cells, in the order in which they are run."""
        for policy in SWEPT:
            for memory in MEMORIES:
                for horizon in self.horizons_to_run(policy, memory):
                    yield cell(policy, self.instance, memory, horizon, runs, seed)

    def horizons_to_run(self, policy: str, memory: int) -> tuple[int, ...]:
        """Return the longest horizon, whose run serves all, or all if the policy is given it."""
        n_arms = cell(policy, self.instance, memory, 1).instance.n_arms
        return HORIZONS if policy == "moss-m" and memory >= n_arms else (HORIZON,)


Experiment: TypeAlias = Table | ByPolicy | ByMemory

EXPERIMENTS: dict[str, Experiment] = {
    "table1": Table(0.347, published.TABLE_1),
    "table2": Table(0.205, published.TABLE_2),
    "fig1": ByPolicy(("linear:100", "power:100:0.3", "power:100:0.6")),
    "fig2": ByMemory("linear:100"),
    "fig3": ByPolicy(("linear:10", "power:10:0.3", "power:10:0.6"), pulls_by_arm=True),
    "fig4": ByMemory("power:100:0.3"),
    "fig5": ByMemory("power:100:0.6"),
}


def recorded(seed: int) -> list[Cell]:
    """Return one run of Algorithm 1, and one of Race, with a record of their memory."""
    return [
        cell(policy, "linear:10", 2, RECORDED, 1, seed, record=True) for policy in ("ucb-m", "race")
    ]
