"""Any policy in traffic as a kernel: rewards come late or never, and means drift.

The policy's `propose` and `observe` are compiled from their own source, as in `record`, and every
decision is made one by one. Rewards under way wait in a binary heap, ordered by the decision after
which they arrive, then by their own.

What is true of an arm is looked up when a slot is first pulled in a stay, and again whenever means
change. Until then the gap of a slot is constant, so that regret is still an exact sum of pulls
times gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from handful.core import flight
from handful.core.state import fields
from handful.instances import drift, traffic
from handful.policies.base import Policy
from handful.policies.definition import parameters_with
from handful.simulation.kernels.arrays import Floats, Ints, Words
from handful.simulation.kernels.exact import plus, plus_all, times
from handful.simulation.kernels.jit import family, kernel, use
from handful.simulation.kernels.record import (
    CHUNK,
    WRONG_ARM,
    WRONG_SLOT,
    RecordSpace,
    record_space,
)
from handful.simulation.kernels.state import bind
from handful.simulation.kernels.world import Batch, Build, World, arm_facts, reward_of

for _function in (
    flight.issue,
    flight.turn_if_due,
    flight.answer,
    traffic.arrival,
    drift.change_time,
    drift.best_arm,
    drift.change,
):
    use(_function)

FULL = WRONG_ARM + 1
"""What ended a run before its time, besides what `record` knows: too many rewards under way."""
NO_WINDOW = 0


class Waiting(NamedTuple):
    """Rewards under way: a binary heap, ordered by arrival, then by decision."""

    arrivals: Ints
    decisions: Ints
    slots: Ints
    rewards: Floats


class TrafficSpace(NamedTuple):
    """All that the kernel writes to besides its results."""

    record: RecordSpace
    waiting: Waiting
    means: Floats
    """Of all arms, if they drift."""
    delays: Words
    """The generator of delays and losses."""
    drifts: Words
    """The generator of drifting means."""


def traffic_space(policy: type[Policy], slots: int, waiting: int, arms: int) -> TrafficSpace:
    """Return the space for runs with so many slots, rewards under way and drifting means."""
    ints = np.zeros((3, waiting), dtype=np.int64)
    words = np.zeros((2, 2), dtype=np.uint64)
    return TrafficSpace(
        record_space(policy, slots),
        Waiting(ints[0], ints[1], ints[2], np.zeros(waiting)),
        np.zeros(arms),
        words[0],
        words[1],
    )


@use
def before(waiting: Waiting, i: int, j: int) -> bool:
    """Whether the reward at i is delivered before the one at j."""
    if waiting.arrivals[i] != waiting.arrivals[j]:
        return waiting.arrivals[i] < waiting.arrivals[j]
    return waiting.decisions[i] < waiting.decisions[j]


@use
def exchange(waiting: Waiting, i: int, j: int) -> None:
    """Exchange the rewards at i and j."""
    arrival, decision = waiting.arrivals[i], waiting.decisions[i]
    slot, reward = waiting.slots[i], waiting.rewards[i]
    waiting.arrivals[i] = waiting.arrivals[j]
    waiting.decisions[i] = waiting.decisions[j]
    waiting.slots[i] = waiting.slots[j]
    waiting.rewards[i] = waiting.rewards[j]
    waiting.arrivals[j] = arrival
    waiting.decisions[j] = decision
    waiting.slots[j] = slot
    waiting.rewards[j] = reward


@use
def push(
    waiting: Waiting, size: int, arrival: int, decision: int, slot: int, reward: float
) -> None:
    """Add a reward to a heap of this size, which has room for it."""
    waiting.arrivals[size] = arrival
    waiting.decisions[size] = decision
    waiting.slots[size] = slot
    waiting.rewards[size] = reward
    i = size
    while i > 0 and before(waiting, i, (i - 1) // 2):
        exchange(waiting, i, (i - 1) // 2)
        i = (i - 1) // 2


@use
def drop_first(waiting: Waiting, size: int) -> None:
    """Remove the first reward of a heap of this size."""
    last = size - 1
    exchange(waiting, 0, last)
    i = 0
    while 2 * i + 1 < last:
        child = 2 * i + 1
        if child + 1 < last and before(waiting, child + 1, child):
            child += 1
        if before(waiting, i, child):
            return
        exchange(waiting, i, child)
        i = child


@cache
def traffic_kernel(policy: type[Policy], build: Build) -> Callable[..., None]:
    """Return the kernel of run r of a policy in traffic."""
    start, propose, observe = use(policy.start), use(policy.propose), use(policy.observe)
    clairvoyant = "true_mean" in fields(policy.State)
    reward = reward_of(build)
    mean_in, centre_of = arm_facts(build)
    p = policy.Parameters or parameters_with(tuple(policy.settings))
    parts = (start, propose, observe, clairvoyant, p)
    # As in `record`: functions that a factory made do not show what they were made of.
    owner = (policy,) if any(f.__closure__ for f in (propose, observe)) else ()
    kin = family(f"traffic_{build.world_tag}", policy.name, *parts, *owner)

    def run(
        r: int, p: Any, world: World, flow: traffic.Numbers, batch: Batch, space: TrafficSpace
    ) -> None:
        T = batch.grid[-1]
        record, waiting, means, delays, drifts = space
        scalars, slots, truth, stays, generator, scratch, failed = record
        mus, centres, gaps, n = truth.mus, truth.centres, truth.gaps, truth.n
        now = bind(scalars, slots)
        generator[0] = batch.rewards[r, 0]
        generator[1] = batch.rewards[r, 1]
        delays[0] = batch.delays[r, 0]
        delays[1] = batch.delays[r, 1]
        drifts[0] = batch.drifts[r, 0]
        drifts[1] = batch.drifts[r, 1]
        now.key = batch.order[r]
        now.rng[0] = batch.choices[r, 0]
        now.rng[1] = batch.choices[r, 1]
        start(now, p)
        tape = batch.tape[r]
        best = world.best_mean
        if flow.drift != drift.NONE:
            for arm in range(len(means)):
                means[arm] = mean_in(world, arm, batch.arms[r], scratch)
            best = means[drift.best_arm(means)]
        changes = 0
        next_change = drift.change_time(flow.drift, flow.drift_number, T, 1)
        size = 0
        high = 0.0
        low = 0.0
        t = 0
        g = 0
        while t < T:
            until = min(batch.grid[g], t + CHUNK)
            batch.progress[0] += until - t
            while t < until:
                if t == next_change:
                    while t == next_change:
                        drift.change(
                            flow.drift, flow.drift_number, flow.low, flow.high, means, drifts
                        )
                        changes += 1
                        next_change = drift.change_time(
                            flow.drift, flow.drift_number, T, changes + 1
                        )
                    best = means[drift.best_arm(means)]
                    for i in range(len(slots)):
                        if stays[i] > 0:
                            x, y = times(float(n[i]), gaps[i])
                            high, low = plus(high, low, x, y)
                            arm = truth.arms[i]
                            batch.pulls[r, arm] += n[i]
                            n[i] = 0
                            mus[i] = means[arm]
                            centres[i] = centre_of(world.distribution, mus[i], world.spread)
                            gaps[i] = best - mus[i]
                            if clairvoyant and now.born[i] == stays[i]:
                                now.true_mean[i] = mus[i]
                flight.turn_if_due(now, NO_WINDOW)
                slot = propose(now, p)
                if not 0 <= slot < min(now.held, len(slots)):
                    failed[0] = WRONG_SLOT
                    failed[1] = slot
                    return
                if now.born[slot] != stays[slot]:
                    arm = now.arm[slot]
                    if not 0 <= arm < world.n_arms:
                        failed[0] = WRONG_ARM
                        failed[1] = slot
                        return
                    x, y = times(float(n[slot]), gaps[slot])
                    high, low = plus(high, low, x, y)
                    if batch.pulls.shape[1] > 0 and n[slot] > 0:
                        batch.pulls[r, truth.arms[slot]] += n[slot]
                    mu = (
                        mean_in(world, arm, batch.arms[r], scratch)
                        if flow.drift == drift.NONE
                        else means[arm]
                    )
                    truth.arms[slot] = arm
                    mus[slot] = mu
                    centres[slot] = centre_of(world.distribution, mu, world.spread)
                    gaps[slot] = best - mu
                    n[slot] = 0
                    stays[slot] = now.born[slot]
                    if clairvoyant:
                        now.true_mean[slot] = mu
                value = reward(
                    world.distribution, truth.arms[slot], mus[slot], centres[slot], world.spread,
                    batch.on_tape, tape, t, generator,
                )  # fmt: skip
                flight.issue(now, slot)
                n[slot] += 1
                t += 1
                due = traffic.arrival(flow, t, value, delays)
                # What is due after the horizon is never delivered.
                if due != traffic.LOST and due <= T:
                    if size == len(waiting.arrivals):
                        failed[0] = FULL
                        failed[1] = slot
                        return
                    push(waiting, size, due, t, slot, value)
                    size += 1
                while size > 0 and waiting.arrivals[0] <= t:
                    came, decision = waiting.slots[0], waiting.decisions[0]
                    value = waiting.rewards[0]
                    drop_first(waiting, size)
                    size -= 1
                    if flight.answer(now, came, decision) == flight.CREDITED:
                        observe(now, came, value, p)
            if t == batch.grid[g]:
                batch.regret[r, g] = plus_all(high, low, n, gaps, 0, len(slots), 1)[0]
                g += 1
            if batch.stop[0] != 0:
                return
        if batch.pulls.shape[1] > 0:
            for i in range(len(slots)):
                if n[i] > 0:
                    batch.pulls[r, truth.arms[i]] += n[i]

    return kernel(run, kin)
