"""The regret of proposers beside blind drawing: prints the table of docs/proposers.md.

    python -m benchmarks.proposers [--runs 200] [--horizon 100000]

Arms are configurations, points of [0, 1]^3, and a pull succeeds with a probability that depends on
the point. Race has eight arms in memory, and takes new ones from a proposer:

    blind     a point drawn uniformly: what an endless list of configurations would give
    mutate    nine times in ten the recommended arm with a normal step of 0.1 in each coordinate,
              once in ten a point drawn uniformly
    climb     the same without the uniform draws
    greedy    the arm with the highest mean, however few its pulls, with normal steps of 0.02

The worlds differ in what the proposers assume. In each run their places are drawn anew, the same
for all proposers:

    hill        0.9 exp(-|x - c|^2 / (2 0.3^2)): near a good point all are good
    deceptive   such a hill but only 0.6 high, and elsewhere a cone 0.9 high with the radius 0.35
    rough       0.9 times a uniform number for each point, whatever is near it

Regret is the sum of 0.9 - the probability of the arm that was pulled. It is printed after a tenth
of the pulls and after all, with standard errors.

A run on `handful.Proposed`, as a user would write it, is `run`. The table is made by a kernel of
the same functions, which is much faster; the tests compare the two bit for bit.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import handful
from handful import ArmStats
from handful.compiling.jit import family, use
from handful.compiling.jit import kernel as compiled
from handful.compiling.state import bind, empty_record
from handful.core import rng
from handful.core.rng import generator_from, normal, uniform, words

MEMORY = 8
BEST = 0.9
WIDTH = 0.3
LOWER = 0.6
"""The top of the hill of the deceptive world."""
RADIUS = 0.35
"""That of its cone."""
APART = 0.5
"""The least distance of the two."""
FRESH = 0.1
"""How often `mutate` draws a point uniformly."""
FAR, CLOSE = 0.1, 0.02
"""The steps of `mutate` and `climb`, and of `greedy`."""

WORLDS = HILL, DECEPTIVE, ROUGH = 0, 1, 2
WORLD_NAMES = ("hill", "deceptive", "rough")
PROPOSERS = BLIND, MUTATE, CLIMB, GREEDY = 0, 1, 2, 3
PROPOSER_NAMES = ("blind", "mutate", "climb", "greedy")


# What `run` and the kernel share: functions of numbers, which Numba compiles as they are.


def mean_at(world: int, x: float, y: float, z: float, places: Any, draws: Any) -> float:
    """Return the mean of a point; `places` has the hill and the cone."""
    if world == ROUGH:
        return BEST * uniform(draws)
    away = (x - places[0]) ** 2 + (y - places[1]) ** 2 + (z - places[2]) ** 2
    wide = math.exp(-away / (2.0 * WIDTH * WIDTH))
    if world == HILL:
        return BEST * wide
    away = (x - places[3]) ** 2 + (y - places[4]) ** 2 + (z - places[5]) ** 2
    return max(LOWER * wide, BEST * (1.0 - math.sqrt(away) / RADIUS))


def near(x: float, step: float, draws: Any) -> float:
    """Return a coordinate a normal step away, between 0 and 1."""
    return min(1.0, max(0.0, x + step * normal(draws)))


def proposed(proposer: int, x: float, y: float, z: float, draws: Any) -> tuple[float, float, float]:
    """Return the next point, given the one that the proposer looks at."""
    if proposer == BLIND or (proposer == MUTATE and uniform(draws) < FRESH):
        return uniform(draws), uniform(draws), uniform(draws)
    step = CLOSE if proposer == GREEDY else FAR
    return near(x, step, draws), near(y, step, draws), near(z, step, draws)


# One run by the library.


class Run(NamedTuple):
    """What became of one run."""

    regrets: tuple[float, ...]
    """The regret after each of some numbers of pulls."""
    recommended: float
    """The true mean of the arm that is recommended at the end."""
    tried: int
    """How many arms came up."""


def places_of(number: int) -> list[float]:
    """Return where the hill and the cone of a run are, not too near each other."""
    draw = random.Random(number)
    while True:
        places = [draw.random() for _ in range(6)]
        if math.dist(places[:3], places[3:]) >= APART:
            return places


def draws_of(world: int, proposer: int, number: int) -> list[int]:
    """Return the generator of what is drawn in a run."""
    name = f"{WORLD_NAMES[world]} {PROPOSER_NAMES[proposer]}"
    return generator_from(words(name, number, count=1)[0])


def looked_at(proposer: int, memory: tuple[ArmStats, ...]) -> tuple[float, float, float]:
    """Return the point that the next one is made from."""
    if proposer == GREEDY:
        tried = [arm for arm in memory if arm.pulls]
        found = max(tried, key=lambda arm: arm.mean) if tried else memory[0]
    else:
        found = next(arm for arm in memory if arm.recommended)
    point: tuple[float, float, float] = found.arm
    return point


def run(world: int, proposer: int, number: int, horizons: Sequence[int]) -> Run:
    """Run a policy on proposed arms to the last horizon."""
    places, draws = places_of(number), draws_of(world, proposer, number)
    means: dict[tuple[float, float, float], float] = {}

    def propose(memory: tuple[ArmStats, ...]) -> tuple[float, float, float]:
        for gone in set(means) - {arm.arm for arm in memory}:
            del means[gone]
        point = proposed(proposer, *looked_at(proposer, memory), draws)
        means[point] = mean_at(world, *point, places, draws)
        return point

    first = proposed(BLIND, 0.0, 0.0, 0.0, draws)
    means[first] = mean_at(world, *first, places, draws)
    arms = handful.Proposed(propose, [first])
    policy = handful.Race(arms, MEMORY, seed=number)
    regret, regrets = 0.0, []
    for t in range(1, horizons[-1] + 1):
        point = policy.select()
        mean = means[point]
        policy.update(point, 1.0 if uniform(draws) < mean else 0.0)
        regret += BEST - mean
        if t in horizons:
            regrets.append(regret)
    return Run(tuple(regrets), means[policy.recommend()], arms.proposed + 1)


# The same as a kernel.


def watched(proposer: int, state: Any) -> int:
    """Return the slot of the arm that the next one is made from."""
    if proposer != GREEDY:
        return int(state.incumbent)
    best = -1
    for slot in range(state.held):
        if state.pulls[slot] > 0 and (
            best < 0 or state.sums[slot] / state.pulls[slot] > state.sums[best] / state.pulls[best]
        ):
            best = slot
    return max(0, best)


@cache
def kernel_of_a_run() -> Callable[..., Any]:
    """Return the compiled loop of a run."""
    race = handful.Race
    start, propose, observe = use(race.start), use(race.propose), use(race.observe)
    for function in (rng.uniform, rng.normal, mean_at, near, proposed, watched):
        use(function)

    def loop(
        world: int, proposer: int, places: Any, horizons: Any, p: Any, record: Any, key: Any,
        draws: Any, points: Any, means: Any, stays: Any, regrets: Any, found: Any,
    ) -> None:  # fmt: skip
        state = bind(record[0], record[1], record[2])
        state.key = key[0]
        state.rng[0] = key[1]
        state.rng[1] = key[2]
        start(state, p)
        tried = 0
        regret = 0.0
        g = 0
        for t in range(1, horizons[-1] + 1):
            at = watched(proposer, state)
            x, y, z = points[at, 0], points[at, 1], points[at, 2]
            slot = 0
            if t > 1:
                slot = propose(state, p)
            if state.born[slot] != stays[slot]:
                kind = proposer if tried > 0 else BLIND
                x, y, z = proposed(kind, x, y, z, draws)
                points[slot, 0], points[slot, 1], points[slot, 2] = x, y, z
                means[slot] = mean_at(world, x, y, z, places, draws)
                stays[slot] = state.born[slot]
                tried += 1
            if t == 1:
                slot = propose(state, p)
            reward = 1.0 if uniform(draws) < means[slot] else 0.0
            state.clock += 1
            state.rewards += 1
            observe(state, slot, reward, p)
            regret += BEST - means[slot]
            if t == horizons[g]:
                regrets[g] = regret
                g += 1
        found[0] = means[state.incumbent]
        found[1] = tried

    return compiled(loop, family("proposers", "race", start, propose, observe, loop))


def run_fast(world: int, proposer: int, number: int, horizons: Sequence[int]) -> Run:
    """Do what `run` does, compiled."""
    policy: Any = handful.Race(iter([0]), MEMORY, seed=number)
    state = policy._state
    regrets = np.zeros(len(horizons))
    found = np.zeros(2)
    kernel_of_a_run()(
        world, proposer, np.array(places_of(number)), np.array(horizons), policy._p,
        empty_record(type(state), MEMORY, 0), np.array([state.key, *state.rng], np.uint64),
        np.array(draws_of(world, proposer, number), np.uint64), np.zeros((MEMORY, 3)),
        np.zeros(MEMORY), np.zeros(MEMORY, np.int64), regrets, found,
    )  # fmt: skip
    return Run(tuple(map(float, regrets)), float(found[0]), int(found[1]))


def table(runs: int, horizon: int) -> Iterator[str]:
    """Yield the lines of the table, each as soon as its runs are finished."""
    horizons = (horizon // 10, horizon)
    heads = [f"regret, T = {t:,}" for t in horizons] + ["recommended", "arms tried"]
    yield f"| world | proposer | {' | '.join(heads)} |"
    yield f"|---|---|{'--:|' * len(heads)}"
    for world, proposer in product(WORLDS, PROPOSERS):
        found = [run_fast(world, proposer, number, horizons) for number in range(runs)]
        shown = [
            _with_error([one.regrets[k] for one in found], ",.0f") for k in range(len(horizons))
        ]
        shown.append(_with_error([one.recommended for one in found], ".3f"))
        shown.append(f"{statistics.fmean(one.tried for one in found):,.0f}")
        yield f"| {WORLD_NAMES[world]} | {PROPOSER_NAMES[proposer]} | {' | '.join(shown)} |"


def _with_error(values: Sequence[float], form: str) -> str:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.fmean(values):{form}} ± {error:{form}}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--horizon", type=int, default=100_000)
    options = parser.parse_args()
    for line in table(options.runs, options.horizon):
        print(line, flush=True)


if __name__ == "__main__":
    main()
