"""A contest: contestants do the same job in turn, several rounds of it, and the best time counts.

Times are noisy, and what slows one contestant down for a while slows down the next, too. So they
take turns, and ratios are reported. The figure compared is the time of a pull. handful simulates
several runs of a cell side by side, so its turn is many runs; a turn of a loop is a few runs, one
after another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.loops import Loop
from handful.instances import instance
from handful.policies.settings import check_settings
from handful.simulation import cell, run_cell
from handful.simulation.plan import parse_policy

OURS = "handful"


@dataclass(frozen=True)
class Job:
    """What is measured: a policy on an instance up to a horizon, for a group of rows."""

    group: str
    policy: str
    instance: str
    memory: int
    horizon: int

    @property
    def n_arms(self) -> int:
        """The number of arms, K."""
        return instance(self.instance).n_arms


@dataclass(frozen=True)
class Row:
    """The best turn of a contestant."""

    job: Job
    by: str
    how: str
    """The engine, the command that built it, or the peer's loop or runner."""
    runs: int
    turns: int
    seconds: float
    pulls: int
    documented: bool = True
    """Whether the documentation of a peer shows this way of doing the job."""

    @property
    def ns_per_pull(self) -> float:
        """Nanoseconds that a pull takes."""
        return 1e9 * self.seconds / self.pulls

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        own = asdict(self)
        del own["job"]
        return {
            **asdict(self.job),
            "n_arms": self.job.n_arms,
            **own,
            "ns_per_pull": self.ns_per_pull,
        }


@dataclass(frozen=True)
class Contestant:
    """Who does a job: `turn` takes the number of the round and returns seconds and `Row.how`."""

    job: Job
    by: str
    runs: int
    turn: Callable[[int], tuple[float, str]]


def contest(contestants: Sequence[Contestant], rounds: int, enough: float) -> list[Row]:
    """Return the best turn of each; one that has used `enough` seconds gets no more turns."""
    best = [(float("inf"), "")] * len(contestants)
    spent = [0.0] * len(contestants)
    turns = [0] * len(contestants)
    for number in range(rounds):
        for who, contestant in enumerate(contestants):
            if number and spent[who] >= enough:
                continue
            turn = contestant.turn(number)
            best[who] = min(best[who], turn)
            spent[who] += turn[0]
            turns[who] += 1
    return [
        Row(c.job, c.by, how, c.runs, turns[who], seconds, c.runs * c.job.horizon)
        for who, (c, (seconds, how)) in enumerate(zip(contestants, best, strict=True))
    ]


def ours(job: Job, runs: int) -> Contestant:
    """Return the simulator on one core; loading and compiling kernels is not counted."""
    memory = job.memory if parse_policy(job.policy)[0].takes_memory() else None

    def turn(number: int) -> tuple[float, str]:
        planned = cell(job.policy, job.instance, memory, job.horizon, runs, seed=number)
        settings = run_cell(planned, engine="auto", n_jobs=1).settings
        return settings["seconds"], settings["engine"]

    return Contestant(job, OURS, runs, turn)


def theirs(job: Job, runs: int, by: str, how: str, loop: Loop) -> Contestant:
    """Return a textbook loop on a job of UCB1 or UCB-M."""
    cls, settings = parse_policy(job.policy)
    eta = float(check_settings(cls, settings)["eta"])

    def turn(number: int) -> tuple[float, str]:
        means = means_of(job.instance)
        loop(means, job.memory, min(job.horizon, 1000), eta, number)  # compile; warm the caches
        began = time.perf_counter()
        for run in range(runs):
            loop(means, job.memory, job.horizon, eta, number * runs + run)
        return time.perf_counter() - began, how

    return Contestant(job, by, runs, turn)


@lru_cache(maxsize=2)
def means_of(spec: str) -> NDArray[np.float64]:
    """Return the means of an instance as an array, as the textbook loops take them."""
    world = instance(spec)
    return np.array([world.mean(arm) for arm in range(world.n_arms)])
