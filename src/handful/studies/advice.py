"""Which policy to take: candidates for a number of arms and a memory, each simulated.

The candidates are few, and chosen by what they need: the memory, a horizon that is told, arms that
end or do not. Their regret on instances of different shape is measured, not looked up; the one with
the lowest geometric mean is advised, and where another is better that is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handful.core.reservoir import Reservoir
from handful.errors import SettingError
from handful.instances import Instance
from handful.instances import instance as parse_instance
from handful.instances.means import MIN_TOP, TOP
from handful.policies import Policy
from handful.simulation import Cell, cell, run_cell
from handful.simulation.plan import MAX_HORIZON, parse_policy, whole
from handful.simulation.result import Estimate

USUAL_HORIZON = 10**6
"""If none is known, and the most that is simulated."""
SHAPES = ("linear:{K}", "power:{K}:0.3", "power:{K}:0.6")
TWO_ARMS = ("bernoulli:0.6,0.5", "bernoulli:0.9,0.8", "bernoulli:0.1,0.05")
"""With two arms, the shapes above are all alike."""
ENDLESS = ("I1", "I2", "I4")
ENDLESS_SHAPES = ("beta:0.5:2", "beta:1:1", "beta:1:3")
TOLD = ("sqrt-run", "nonrecalling-run")
"""Candidates that have to be told the horizon."""

SLOW, TOO_SLOW = 100, 2000
"""With more arms than that in memory, a tenth of the pulls is simulated; or none."""
LEAST = 0.01
"""A regret below that counts as this: none at all has no logarithm."""
TOO_CLOSE = 0.95
"""What is not below so many times another's regret counts as equal."""
LOOKED_AT = 10_001
"""Of more arms, so many evenly spaced ones tell the average mean, which changes slowly."""

Told = Callable[[float, str], None]


@dataclass(frozen=True)
class Candidate:
    """A policy, what it takes and what it cost in simulation."""

    policy: str
    title: str
    memory: int
    words: int
    """64-bit words of its whole state, as `to_bytes` saves it."""
    regret: dict[str, Estimate]
    """By instance."""

    @property
    def score(self) -> float:
        """The geometric mean of its regrets."""
        logs = [math.log(max(LEAST, estimate.mean)) for estimate in self.regret.values()]
        return math.exp(sum(logs) / len(logs))


@dataclass(frozen=True)
class Advice:
    """The candidates, the best first, and why the best is that."""

    candidates: list[Candidate]
    chance: dict[str, float]
    """The regret of an arm at random at every pull, by instance."""
    why: str
    horizon: int
    """What was simulated."""
    runs: int
    seed: int

    @property
    def best(self) -> Candidate:
        """What to take."""
        return self.candidates[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "policy": self.best.policy,
            "why": self.why,
            "chance": self.chance,
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "candidates": [
                {
                    "policy": c.policy,
                    "memory": c.memory,
                    "words": c.words,
                    "regret": {name: estimate.mean for name, estimate in c.regret.items()},
                    "sem": {name: _number(e.sem) for name, e in c.regret.items()},
                    "p99": {name: e.quantile(0.99) for name, e in c.regret.items()},
                }
                for c in self.candidates
            ],
        }


def advise(
    arms: int | None,
    memory: int,
    horizon: float | None = None,
    *,
    best: float | None = None,
    instances: Sequence[str] = (),
    runs: int = 50,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Told | None = None,
) -> Advice:
    """Advice for `arms` arms (None: endless) with statistics of at most `memory` of them.

    `horizon` is how many pulls there will be and `best` about the mean of the best arm, if they are
    known. `instances` are those that the advice shall be good for; otherwise a few of different
    shape.
    """
    M = whole("memory", memory, 2**20)
    K = None if arms is None else whole("arms", arms, 2**62)
    told = None if horizon is None else whole("horizon", horizon, MAX_HORIZON)
    if K == 1:
        raise SettingError("with one arm there is nothing to choose")
    simulated = min(told or USUAL_HORIZON, USUAL_HORIZON)
    if K is not None and M >= K > SLOW:
        if K > TOO_SLOW:
            raise SettingError(
                f"to simulate policies that keep all of {K} arms would take too long: ask for less "
                "memory; with all arms in memory race is IMED"
            )
        simulated = min(simulated, USUAL_HORIZON // 10)
    runs = whole("runs", runs, 10**6)
    if best is not None and instances:
        raise SettingError("instances have their own best means: give them, or best, not both")
    if not all(isinstance(world, str) for world in instances):
        raise SettingError("instances are names, such as linear:100 or bernoulli:0.9,0.8")
    worlds = list(instances) or _instances(K, best)
    names = [name for name in candidates(K, M) if told or name not in TOLD]
    plan = [
        (name, {world: _cell(name, K, M, world, simulated, runs, seed) for world in worlds})
        for name in names
    ]
    found = []
    total = sum(len(cells) for _, cells in plan)
    done = 0
    for name, cells in plan:
        regret = {}
        for world, planned in cells.items():
            if progress is not None:
                progress(done / total, f"{planned.policy.title} on {world}")
            regret[world] = run_cell(planned, n_jobs=n_jobs).regret
            done += 1
        one = next(iter(cells.values()))
        kept = one.memory if K is None else min(one.memory, K)
        found.append(Candidate(name, one.label, kept, _words(one, kept, K), regret))
    found.sort(key=lambda candidate: candidate.score)
    chance = {world: simulated * _gap_at_random(parse_instance(world)) for world in worlds}
    return Advice(found, chance, _why(found, chance, K, M), simulated, runs, seed)


def candidates(K: int | None, M: int) -> list[str]:
    """Who can serve so many arms with so much memory."""
    if K is None:
        if M == 1:
            return ["nonrecalling-run", "herschkorn"]
        return ["race", "qts-m", "qucb-m:eta=0.2", "qmoss-m", "sqrt-run"]
    if M == 1:
        return ["robbins"]
    if M >= K:
        return ["race", "ts", "moss-anytime", "ucb1"]
    return ["race", "ts-m", "ucb-m:eta=0.2", "moss-m", "imed-m"]


def _gap_at_random(world: Instance) -> float:
    """How far an arm at random is below the best on average."""
    if world.endless:
        return world.best_mean - world.top * world.a / (world.a + world.b)
    step = max(1, -(-world.n_arms // LOOKED_AT))
    means = [world.mean(arm) for arm in range(0, world.n_arms, step)]
    return world.best_mean - sum(means) / len(means)


def _instances(K: int | None, best: float | None) -> list[str]:
    """A few that differ; with a best mean, all with about that one."""
    if best is None:
        if K is None:
            return list(ENDLESS)
        return list(TWO_ARMS) if K == 2 else [shape.format(K=K) for shape in SHAPES]
    top = _mean(best, TOP if K is not None and K > 2 else 1.0)
    if K is None:
        return [f"{shape}:{top:g}" for shape in ENDLESS_SHAPES]
    if K == 2:
        return [f"bernoulli:{top:g},{share * top:.6g}" for share in (0.5, 0.8, 0.9)]
    return [f"{shape.format(K=K)}:{top:g}" for shape in SHAPES]


def _mean(best: float, most: float) -> float:
    try:
        mean = float(best)
    except (TypeError, ValueError):
        raise SettingError(f"best={best!r} is not a number") from None
    if not MIN_TOP <= mean <= most:
        raise SettingError(f"best={best!r} must be from {MIN_TOP:g} to {most:g}")
    return mean


def _cell(
    name: str, K: int | None, M: int, instance: str, horizon: int, runs: int, seed: int
) -> Cell:
    world = parse_instance(instance)
    if world.endless is not (K is None):
        told = "is endless" if world.endless else f"has {world.n_arms} arms"
        asked = "endless arms were" if K is None else f"{K} arms were"
        raise SettingError(f"{instance} {told}, and {asked} asked for")
    if K is not None and world.n_arms != K:
        raise SettingError(f"{instance} has {world.n_arms} arms, and not {K}")
    cls = parse_policy(name)[0]
    return cell(name, world, M if cls.takes_memory() else None, horizon, runs, seed)


def _words(planned: Cell, kept: int, K: int | None) -> int:
    arms: Any = Reservoir(lambda index: index) if K is None else K
    memory = max(2, kept) if planned.policy.takes_memory() else None
    made: Policy = planned.policy(arms, memory, seed=0, **planned.policy_settings())
    return made.memory_words


def _why(found: Sequence[Candidate], chance: Mapping[str, float], K: int | None, M: int) -> str:
    best = found[0]
    parts = []
    if all(e.mean > TOO_CLOSE * chance[world] for world, e in best.regret.items()):
        more = "take two arms in memory" if M == 1 else "that takes more pulls"
        parts.append(f"here it is hardly better than an arm at random: {more}")
    if K is not None and M >= K:
        parts.append(f"all {K} arms fit in memory, so nothing has to be forgotten")
        if best.policy == "race":
            parts.append("there Race is IMED")
    elif best.policy == "race":
        parts.append(
            "it keeps the statistics of its incumbent, and ends a comparison as soon as it is "
            "decided; the paper's policies forget both after every sub-phase"
        )
    elif M == 1:
        parts.append("with one arm in memory there is no comparing two: an arm stays or goes")
    elif best.policy in TOLD:
        parts.append("it is told the horizon, and drops an arm at its first failure")
    if len(found) > 1:
        second = found[1]
        ratio = best.score / second.score
        if ratio > TOO_CLOSE:
            parts.append(f"{second.title} is about as good")
        else:
            over = f" (geometric mean over {len(best.regret)} instances)"
            parts.append(
                f"its regret is {ratio:.2f} times that of {second.title}, the next"
                + (over if len(best.regret) > 1 else "")
            )
    parts += [
        f"but on {world} {other.title} is better"
        for world, estimate in best.regret.items()
        for other in [min(found, key=lambda candidate: candidate.regret[world].mean)]
        if other.regret[world].mean < TOO_CLOSE * estimate.mean
    ]
    return "; ".join(parts)


def _number(x: float) -> float | None:
    """For JSON, which has no word for what is not a number: one run has no standard error."""
    return None if math.isnan(x) else x
