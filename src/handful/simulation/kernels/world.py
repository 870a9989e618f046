"""What a kernel knows of the simulated world and of the batch of runs it works on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import use
from handful.core import rng, shuffle
from handful.instances import Instance, distributions, means

as_word: Any = np.uint64
as_int: Any = np.int64
as_float: Any = np.float64

for _function in (
    rng.mix,
    rng.next_word,
    rng.unit,
    rng.uniform,
    rng.positive_uniform,
    rng.tape_word,
    rng.normal,
    rng.beta,
    rng.beta_from_one,
    rng._ratio,
    rng._beta_bc,
    shuffle.grid,
    shuffle._added,
    shuffle.stirred,
    shuffle._taken,
    shuffle.forward,
    shuffle.backward,
    means.mean_of,
    means.reservoir_mean,
    distributions.bernoulli,
    distributions.resampled,
    distributions.draw,
    distributions.centre_of,
):
    use(_function)


class Distribution(NamedTuple):
    """What rewards are drawn from.

    Of data, `rows` has the rewards; those of group g are from `starts[g]` to before `stops[g]`. A
    group is an arm, or an arm in a period (`handful.instances.data`).
    """

    code: int
    spread: float
    rows: Floats
    starts: Ints
    stops: Ints

    @classmethod
    def of(cls, instance: Instance) -> Distribution:
        """The distribution of an instance as a kernel takes it."""
        code, spread = instance.distribution, float(instance.spread)
        if instance.rows is None:
            return cls(code, spread, np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
        rewards, starts, stops = instance.rows
        return cls(
            code,
            spread,
            np.frombuffer(rewards, dtype=np.float64),
            np.frombuffer(starts, dtype=np.int64),
            np.frombuffer(stops, dtype=np.int64),
        )


class World(NamedTuple):
    """An instance, flat."""

    kind: int
    n_arms: int
    a: float
    b: float
    top: float
    listed: Floats
    distribution: Distribution
    best_mean: float

    @classmethod
    def of(cls, instance: Instance) -> World:
        """The instance as a kernel takes it."""
        return cls(
            instance.kind,
            instance.n_arms,
            float(instance.a),
            float(instance.b),
            float(instance.top),
            np.array(instance.listed, dtype=np.float64),
            Distribution.of(instance),
            instance.best_mean,
        )


class Batch(NamedTuple):
    """The runs of one kernel call, one row each, and what they leave behind.

    Streams: `choices` and `rewards` are generators, `order` the key of the shuffle, `arms` the key
    of a reservoir's arms, `tape` the key of the reward tape (used when `on_tape`). Results: regret
    at each time of `grid`; pulls by arm, and which arms were in memory when, where those arrays are
    not empty. `progress` counts pulls; a kernel stops soon after `stop[0]` is set. `delays`,
    `drifts` and `churns` are generators, and empty without traffic.
    """

    choices: Words
    rewards: Words
    order: Words
    arms: Words
    tape: Words
    on_tape: bool
    grid: Ints
    regret: NDArray[np.float64]
    pulls: NDArray[np.int64]
    stay_arms: NDArray[np.int64]
    stay_pulls: NDArray[np.int64]
    stay_start: NDArray[np.int64]
    stay_recommended: NDArray[np.int64]
    progress: Ints
    stop: Ints
    delays: Words
    drifts: Words
    churns: Words


class Build(NamedTuple):
    """What a kernel is specialised for. A kernel that covers fewer cases compiles faster."""

    bernoulli: bool
    endless: bool
    skipping: bool
    slots: int
    """How many arms are in memory, where it matters: `PAIR` or `MANY`; else `FEW`."""

    @property
    def tag(self) -> str:
        """A part of the kernel's name."""
        engine = "skip" if self.skipping else "step"
        return f"{engine}_{self.world_tag}_{('pair', 'few', 'many')[self.slots]}"

    @property
    def world_tag(self) -> str:
        """The part that concerns the simulated world only."""
        rewards = "bernoulli" if self.bernoulli else "any_rewards"
        return f"{rewards}_{'endless' if self.endless else 'finite'}"


PAIR, FEW, MANY = range(3)


@use
def finite_mean(world: World, arm: int, key: int, generator: Words) -> float:
    """The mean of an arm of a finite set."""
    return means.mean_of(world.kind, arm, world.n_arms, world.a, world.top, world.listed)


@use
def endless_mean(world: World, arm: int, key: int, generator: Words) -> float:
    """The mean of an arm of a reservoir in the run with this key; the generator is overwritten."""
    return means.reservoir_mean(as_word(arm), world.a, world.b, world.top, key, generator)


@use
def grid_of(n_arms: int) -> tuple[int, int, int, int]:
    """The size, rows, columns and rounds of the shuffle of so many arms, as words."""
    rows, columns, rounds = shuffle.grid(n_arms)
    return as_word(n_arms), as_word(rows), as_word(columns), as_word(rounds)


@use
def tape_uniform(key: int, t: int, arm: int) -> float:
    """The uniform number in cell (t, arm) of a tape: the first that `reward` draws there."""
    word = rng.tape_word(key, as_word(t), as_word(arm))
    return rng.unit(rng.mix((word + rng.GOLDEN) & rng.MASK))


@use
def bernoulli_reward(
    distribution: Distribution, arm: int, mean: float, centre: float,
    on_tape: bool, key: int, t: int, generator: Any,
) -> float:  # fmt: skip
    """The Bernoulli reward of an arm at pull t (from 0): from the tape, or the stream's next."""
    if on_tape:
        return 1.0 if tape_uniform(key, t, arm) < mean else 0.0
    return distributions.bernoulli(mean, generator)


@use
def any_reward(
    distribution: Distribution, arm: int, mean: float, centre: float,
    on_tape: bool, key: int, t: int, generator: Any,
) -> float:  # fmt: skip
    """The reward of an arm at pull t, from any distribution."""
    if on_tape:
        generator[0] = rng.tape_word(key, as_word(t), as_word(arm))
        generator[1] = as_word(rng.GOLDEN)
    code, spread, rows, starts, stops = distribution
    if code == distributions.ROWS:
        group = int(centre)
        return distributions.resampled(rows, starts[group], stops[group], generator)
    return distributions.draw(code, mean, centre, spread, generator)


@use
def any_centre(distribution: Distribution, mean: float, group: int) -> float:
    """Return the centre of a distribution; for data, the group of rows, as a number."""
    if distribution.code == distributions.ROWS:
        return float(group)
    return distributions.centre_of(distribution.code, mean, distribution.spread)


@use
def no_centre(distribution: Distribution, mean: float, group: int) -> float:
    """Return the centre of distributions that have none."""
    return 0.0


def reward_of(build: Build) -> Callable[..., float]:
    """Return how a kernel draws rewards: Bernoulli or from any distribution."""
    return bernoulli_reward if build.bernoulli else any_reward


def arm_facts(build: Build) -> tuple[Callable[..., float], Callable[..., float]]:
    """Return the functions that find the mean and the centre of an arm."""
    return (
        endless_mean if build.endless else finite_mean,
        no_centre if build.bernoulli else any_centre,
    )
