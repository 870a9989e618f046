"""Advice on a policy: the candidates for a number of arms and a memory bound are simulated.

The few candidates are chosen by their requirements: the memory, a given horizon, finite or endless
arms. Their regret is measured on instances of different shape; the one with the lowest geometric
mean is recommended, and the instances where another is better are named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean
from typing import Any

from handful.core.reservoir import Reservoir
from handful.errors import SettingError
from handful.instances import Instance
from handful.instances import instance as parse_instance
from handful.instances.means import MIN_TOP, TOP
from handful.instances.traffic import traffic as make_traffic
from handful.policies import Policy
from handful.simulation import Cell, cell, run_cell
from handful.simulation.plan import MAX_HORIZON, parse_policy, whole
from handful.simulation.result import Estimate

USUAL_HORIZON = 10**6
"""The horizon if none is given, and the longest that is simulated."""
SHAPES = ("linear:{K}", "power:{K}:0.3", "power:{K}:0.6")
TWO_ARMS = ("bernoulli:0.6,0.5", "bernoulli:0.9,0.8", "bernoulli:0.1,0.05")
"""With two arms, the shapes above are all the same."""
ENDLESS = ("I1", "I2", "I4")
ENDLESS_SHAPES = ("beta:0.5:2", "beta:1:1", "beta:1:3")
NEED_HORIZON = ("sqrt-run", "nonrecalling-run")
"""Candidates that must be given the horizon."""

IN_TRAFFIC = 10**5
"""The longest horizon that is simulated in traffic, which is simulated pull by pull."""
SLOW, TOO_SLOW = 100, 2000
"""Above SLOW arms in memory a tenth of the pulls is simulated; above TOO_SLOW nothing."""
TURNS = 5
"""Where means drift, Race is also tried with arms that come up so often in the horizon."""
LEAST = 0.01
"""A lower regret counts as this much: 0 has no logarithm."""
TOO_CLOSE = 0.95
"""A ratio of two regrets above this counts as equal."""
LOOKED_AT = 10_001
"""Of more arms, the average mean is taken over so many evenly spaced ones."""

Report = Callable[[float, str], None]
"""Called with the share of the work done so far and what is being done."""


@dataclass(frozen=True)
class Candidate:
    """A policy, the memory that it needs and its regret in simulation."""

    policy: str
    title: str
    memory: int
    words: int
    """64-bit words of its whole state, as `to_bytes` saves it."""
    regret: dict[str, Estimate]
    """By instance."""

    @property
    def score(self) -> float:
        """The geometric mean of its regrets over the instances."""
        logs = [math.log(max(LEAST, estimate.mean)) for estimate in self.regret.values()]
        return math.exp(sum(logs) / len(logs))


@dataclass(frozen=True)
class Advice:
    """The candidates, the best first, and why the best is recommended."""

    candidates: list[Candidate]
    random_regret: dict[str, float]
    """The regret of pulling an arm at random every time, by instance."""
    why: str
    horizon: int
    """How many pulls were simulated."""
    runs: int
    seed: int
    asked_horizon: int | None = None
    """How many pulls there will be, if that was given."""
    traffic: str = ""
    """How rewards come and arms change, such as `delay=200 lost=0.2`; empty: at once, and not."""

    @property
    def best(self) -> Candidate:
        """The recommended policy."""
        return self.candidates[0]

    @property
    def note(self) -> str | None:
        """Say that the simulated horizon is not the one asked for; None if it is."""
        if self.asked_horizon == self.horizon:
            return None
        if self.asked_horizon is None:
            return f"no horizon was given: {self.horizon:,} pulls were simulated"
        return (
            f"only {self.horizon:,} of the {self.asked_horizon:,} pulls were simulated: with more "
            "pulls the regrets grow and their order may change"
        )

    @property
    def caption(self) -> str:
        """What the numbers are."""
        traffic = f", {self.traffic}" if self.traffic else ""
        return f"Mean regret after {self.horizon:,} pulls{traffic}, {self.runs} runs"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and rows of a table: each candidate, and an arm at random."""
        worlds = list(self.best.regret)
        rows = [
            [
                candidate.policy,
                str(candidate.memory),
                f"{candidate.words:,}",
                *(f"{candidate.regret[world]!r}" for world in worlds),
            ]
            for candidate in self.candidates
        ]
        at_random = [f"{self.random_regret[world]:,.0f}" for world in worlds]
        rows.append(["an arm at random", "-", "-", *at_random])
        return ["policy", "arms in memory", "64-bit words", *worlds], rows

    def __repr__(self) -> str:
        others = len(self.candidates) - 1
        return (
            f"Advice: take {self.best.policy} (M = {self.best.memory}), the best of {others + 1} "
            f"after {self.horizon:,} simulated pulls: {self.why}"
        )

    def _repr_html_(self) -> str:
        heads, rows = self.table()
        head = "".join(f"<th>{escape(text)}</th>" for text in heads)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows
        )
        note = "" if self.note is None else f"<p><strong>Note: {escape(self.note)}</strong></p>"
        return (
            f"<p>Take <b>{escape(self.best.policy)}</b> (M = {self.best.memory}): "
            f"{escape(self.why)}</p>{note}"
            f"<table><caption>{escape(self.caption)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "policy": self.best.policy,
            "why": self.why,
            "random_regret": self.random_regret,
            "horizon": self.horizon,
            "asked_horizon": self.asked_horizon,
            "traffic": self.traffic,
            "note": self.note,
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
    delay: str | float | None = None,
    lost: float | None = None,
    drift: str | None = None,
    clicks_only: int | None = None,
    churn: int | None = None,
    n_jobs: int | None = None,
    progress: Report | None = None,
) -> Advice:
    """Recommend a policy for `arms` arms (None: endless) with statistics of at most `memory`.

    Args:
        arms: how many arms there are.
        memory: how many of them may have statistics.
        horizon: how many pulls there will be, if known; at most 10^6 are simulated.
        best: about the mean of the best arm, if known.
        instances: names of instances like yours; otherwise a few of different shape.
        runs: independent runs of each simulation.
        seed: any integer.
        delay: how late rewards come, as in `simulate`; then at most 10^5 pulls are simulated.
        lost: the probability that a reward is lost.
        drift: how means change, as in `simulate`.
        clicks_only: rewards of 0 are never reported, and are waited for so long; as in `simulate`.
        churn: every how many decisions an arm is replaced, as in `simulate`.
        n_jobs: workers.
        progress: called with the share of the work done and what is being done.
    """
    M = whole("memory", memory, 2**20)
    K = None if arms is None else whole("arms", arms, 2**62)
    asked = None if horizon is None else whole("horizon", horizon, MAX_HORIZON)
    if K == 1:
        raise SettingError("with one arm there is nothing to choose")
    busy = make_traffic(delay, lost, clicks_only, drift, churn)
    drifts = drift is not None or any(_periods(world) > 1 for world in instances)
    usual = IN_TRAFFIC if busy is not None or drifts else USUAL_HORIZON
    simulated = min(asked or usual, usual)
    if K is not None and M >= K > SLOW:
        if K > TOO_SLOW:
            raise SettingError(
                f"simulating policies with all of {K} arms in memory would take too long: give a "
                "smaller memory; with all arms in memory race is IMED"
            )
        simulated = min(simulated, USUAL_HORIZON // 10)
    runs = whole("runs", runs, 10**6)
    if best is not None and instances:
        raise SettingError("instances have their own best means: give instances or best, not both")
    if not all(isinstance(world, str) for world in instances):
        raise SettingError("instances are names, such as linear:100 or bernoulli:0.9,0.8")
    worlds = list(instances) or _instances(K, best)
    names = [name for name in candidates(K, M) if asked or name not in NEED_HORIZON]
    if drifts and "race" in names and K is not None and M < K:
        names.insert(1, f"race:every={max(1, simulated // TURNS)}")
    given = {
        "delay": delay, "lost": lost, "drift": drift, "clicks_only": clicks_only, "churn": churn,
    }  # fmt: skip
    plan = [
        (name, {w: _cell(name, K, M, w, simulated, runs, seed, given) for w in worlds})
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
        stored = one.memory if K is None else min(one.memory, K)
        found.append(Candidate(name, one.label, stored, _words(one, stored, K), regret))
    found.sort(key=lambda candidate: candidate.score)
    at_random = {world: simulated * _gap_at_random(parse_instance(world)) for world in worlds}
    why = _why(found, at_random, K, M)
    return Advice(found, at_random, why, simulated, runs, seed, asked, busy.name if busy else "")


def candidates(K: int | None, M: int) -> list[str]:
    """Return the candidates for K arms (None: endless) and a memory of M."""
    if K is None:
        if M == 1:
            return ["nonrecalling-run", "herschkorn"]
        return ["race", "qts-m", "qucb-m:eta=0.2", "qmoss-m", "sqrt-run"]
    if M == 1:
        return ["robbins"]
    if M >= K:
        return ["race", "ts", "moss-anytime", "ucb1"]
    return ["race", "ts-m", "ucb-m:eta=0.2", "moss-m", "imed-m"]


def _periods(world: object) -> int:
    return parse_instance(world).periods if isinstance(world, str) else 1


def _gap_at_random(world: Instance) -> float:
    """Return the mean gap of an arm at random to the best."""
    if world.endless:
        return world.best_mean - world.top * world.a / (world.a + world.b)
    if world.periods > 1:
        K, periods = world.n_arms, range(world.periods)
        by_period = [world.listed[period * K : (period + 1) * K] for period in periods]
        return fmean(max(means) - fmean(means) for means in by_period)
    step = max(1, -(-world.n_arms // LOOKED_AT))
    means = [world.mean(arm) for arm in range(0, world.n_arms, step)]
    return world.best_mean - sum(means) / len(means)


def _instances(K: int | None, best: float | None) -> list[str]:
    """Return a few instances of different shape; with a best mean, all with about that one."""
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
    name: str,
    K: int | None,
    M: int,
    instance: str,
    horizon: int,
    runs: int,
    seed: int,
    traffic: Mapping[str, Any],
) -> Cell:
    world = parse_instance(instance)
    if world.endless is not (K is None):
        has = "is endless" if world.endless else f"has {world.n_arms} arms"
        asked = "endless arms were" if K is None else f"{K} arms were"
        raise SettingError(f"{instance} {has}, and {asked} asked for")
    if K is not None and world.n_arms != K:
        raise SettingError(f"{instance} has {world.n_arms} arms, and not {K}")
    cls = parse_policy(name)[0]
    memory = M if cls.takes_memory() else None
    return cell(name, world, memory, horizon, runs, seed, **traffic)


def _words(planned: Cell, stored: int, K: int | None) -> int:
    arms: Any = Reservoir(lambda index: index) if K is None else K
    memory = max(2, stored) if planned.policy.takes_memory() else None
    clicks_only = None if planned.traffic is None else planned.traffic.clicks_only
    made: Policy = planned.policy(
        arms, memory, seed=0, clicks_only=clicks_only, **planned.policy_settings()
    )
    return made.memory_words


def _why(found: Sequence[Candidate], at_random: Mapping[str, float], K: int | None, M: int) -> str:
    best = found[0]
    parts = []
    if all(e.mean > TOO_CLOSE * at_random[world] for world, e in best.regret.items()):
        more = "take two arms in memory" if M == 1 else "that takes more pulls"
        parts.append(f"here it is hardly better than an arm at random: {more}")
    if K is not None and M >= K:
        parts.append(f"all {K} arms fit in memory, so nothing has to be forgotten")
        if best.policy == "race":
            parts.append("there Race is IMED")
    elif best.policy == "race":
        parts.append(
            "it keeps the statistics of its incumbent and ends a comparison as soon as it is "
            "decided; the paper's policies forget all statistics after every sub-phase"
        )
    elif M == 1:
        parts.append("with one arm in memory no two can be compared: an arm stays or goes")
    elif best.policy in NEED_HORIZON:
        parts.append("it is given the horizon, and drops an arm at its first failure")
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
    """Return None in place of NaN, which JSON lacks: one run has no standard error."""
    return None if math.isnan(x) else x
