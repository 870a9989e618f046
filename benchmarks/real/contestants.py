"""Who takes part, with which settings, and how long a decision takes, which limits the runs."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import fleet
from benchmarks.peers import Peer

LEAST_RUNS = 3
"""The fewest for which an interval is shown."""


@dataclass(frozen=True)
class Contestant:
    """A policy of handful, or of another package if `peer` is given."""

    key: str
    title: str
    group: str
    """A heading of the tables: one of `GROUPS`."""
    policy: str
    """The name of a policy of handful; empty for those of other packages."""
    memory: int | None
    cost: tuple[float, float]
    """Microseconds of a decision: without arms, and for each arm. On a busy core; a plan only."""
    cost_late: tuple[float, float]
    """The same with late rewards."""
    runs: int
    """At most."""
    budget: float
    """Seconds of processor time for a cell; at least `LEAST_RUNS` runs are made."""
    limit: float
    """A cell whose least runs take longer than so many seconds is left out."""
    peer: Peer | None = None

    def seconds(self, n_arms: int, horizon: int, delay: int) -> float:
        """Estimate the processor time of a run."""
        fixed, each = self.cost_late if delay else self.cost
        return 1e-6 * (fixed + each * n_arms) * horizon

    def planned(self, n_arms: int, horizon: int, delay: int) -> int:
        """Return how many runs are made; 0: the cell is left out."""
        one = self.seconds(n_arms, horizon, delay)
        if LEAST_RUNS * one > self.limit:
            return 0
        return min(self.runs, max(LEAST_RUNS, int(self.budget / one)))


GROUPS = ("a handful of arms", "all arms, handful's code", "all arms, other packages")
BOUNDED, ALL_ARMS, OTHERS = GROUPS


def _bounded(key: str, title: str, policy: str, memory: int) -> Contestant:
    return Contestant(
        key, title, BOUNDED, policy, memory, (0.15, 0.0), (0.15, 0.0), 200, 60.0, 300.0
    )


def _all_arms(
    key: str, title: str, cost: tuple[float, float], late: tuple[float, float],
    budget: float = 15.0, limit: float = 120.0,
) -> Contestant:  # fmt: skip
    return Contestant(key, title, ALL_ARMS, key, None, cost, late, 200, budget, limit)


_PEERS = {peer.name: peer for peer in fleet.PEERS}


def _other(name: str, policy: str, fixed: float, each: float, budget: float = 15.0) -> Contestant:
    cost = (fixed, each)
    return Contestant(
        name.lower(), f"{name}, {policy}", OTHERS, "", None, cost, cost, 20, budget, 50.0,
        _PEERS[name],
    )  # fmt: skip


CONTESTANTS = (
    _bounded("race-2", "Race, M = 2", "race", 2),
    _bounded("race-8", "Race, M = 8", "race", 8),
    _bounded("race-32", "Race, M = 32", "race", 32),
    _bounded("ucb-m-8", "UCB-M, M = 8", "ucb-m", 8),
    _all_arms("subsampled-greedy", "Subsampled greedy", (0.05, 0.0), (0.1, 0.0)),
    _all_arms("imed", "IMED", (0.0, 0.011), (1.0, 0.008)),
    _all_arms("ts", "Thompson sampling", (0.0, 0.008), (0.0, 0.043)),
    _all_arms("kl-ucb", "KL-UCB", (0.0, 0.008), (8.0, 0.012), 10.0, 20.0),
    _all_arms("ucb1", "UCB1", (0.0, 0.003), (0.2, 0.004), 10.0, 20.0),
    _other("gittins", "its own engine", 5.0, 0.28, 70.0),
    _other("pymab", "Thompson", 7.0, 0.042),
    _other("river", "Thompson", 30.0, 0.7),
    _other("SMPyBandits", "Thompson", 10.0, 0.7),
    _other("MABWiser", "Thompson", 40.0, 4.1),
)
"""Settings are the defaults everywhere; none was tried on these data."""
