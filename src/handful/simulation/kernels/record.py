"""Any policy as a kernel: its `propose` and `observe`, compiled from their own source.

Without skipping, the choices are those of the policy itself. A skipping kernel asks the policy how
long it is calm: pulls that keep the slot whatever they give are one Binomial draw; successes that
keep it, up to the first failure, one geometric draw. The distribution is the same.

What is true of an arm (its mean, its gap) is looked up when a slot is first pulled in a stay. How
often an arm was pulled is counted here and not read off the record, which a policy may change.

A wrong policy of a user's must not write beyond the arrays: a slot that is not in use and an arm
that does not exist end the run here, a full memory in `admit` (see `jit`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from handful.compiling.arrays import Ints, Words
from handful.compiling.jit import family, kernel, named, use
from handful.compiling.state import History, Scalars, Slots, bind, empty_record
from handful.core import binomial, rng
from handful.core.state import fields
from handful.policies.base import Policy
from handful.policies.definition import parameters_with
from handful.simulation.kernels.block import Memory, empty_memory, entry
from handful.simulation.kernels.exact import plus, plus_all, times
from handful.simulation.kernels.world import Batch, Build, World, as_int, reward_of

use(binomial.binomial)

CHUNK = 2**20
"""Pulls between two looks at whether to stop."""
WORTH = 8
"""Fewer pulls than this are not worth a Binomial draw."""
FINE, WRONG_SLOT, WRONG_ARM = range(3)
"""What ended a run before its time, if anything: what the policy proposed."""


class RecordSpace(NamedTuple):
    """All that the kernel writes to besides its results."""

    scalars: Scalars
    slots: Slots
    history: History
    truth: Memory
    """What is true of the arm in each slot."""
    stays: Ints
    """When the stay began that it is true of."""
    generator: Words
    """Of the rewards."""
    scratch: Words
    failed: Ints
    """What ended the run before its time, and the slot that the policy proposed."""

    def cleared(self) -> RecordSpace:
        """Return the space as it is before a run."""
        self.scalars[:] = np.zeros((), dtype=self.scalars.dtype)
        self.slots[:] = np.zeros((), dtype=self.slots.dtype)
        self.history[:] = np.zeros((), dtype=self.history.dtype)
        self.truth.n[:] = 0
        self.truth.gaps[:] = 0.0
        self.stays[:] = 0
        self.failed[:] = FINE
        return self


def record_space(policy: type[Policy], slots: int, entries: int = 0) -> RecordSpace:
    """Return the space for runs of a policy with at most so many slots and entries of history."""
    words = np.zeros((2, 2), dtype=np.uint64)
    counters = np.zeros(slots + 2, dtype=np.int64)
    scalars, columns, history = empty_record(policy.State, slots, entries)
    return RecordSpace(
        scalars, columns, history, empty_memory(slots), counters[2:], words[0], words[1],
        counters[:2],
    )  # fmt: skip


def restless(state: Any, slot: int, p: Any) -> tuple[int, int]:
    """For policies that do not say when they are calm."""
    return 0, 0


def unmoved(state: Any, slot: int, pulls: int, wins: int, p: Any) -> None:
    """For policies whose record does not change while they are calm."""


@cache
def record_kernel(policy: type[Policy], build: Build) -> Callable[..., None]:
    """Return the kernel of run r of a policy."""
    start, propose, observe = use(policy.start), use(policy.propose), use(policy.observe)
    clairvoyant = "true_mean" in fields(policy.State)
    reward = reward_of(build)
    enter = entry(build)
    skipping = build.skipping
    calm = use(policy.calm or restless)
    absorb = use(policy.absorb or unmoved)
    kind = f"record_{build.tag}"
    p = policy.Parameters or parameters_with(tuple(policy.settings))
    parts = (start, propose, observe, clairvoyant, calm, absorb, p)
    # Functions that a factory made do not show what they were made of: whose they are must count.
    owner = (policy,) if any(f.__closure__ for f in (propose, observe)) else ()
    kin = family(kind, policy.name, *parts, *owner)

    def skip(now: Any, slot: int, pulls: int, wins: int, p: Any, n: Ints) -> None:
        absorb(now, slot, pulls, wins, p)
        now.pulls[slot] += pulls
        now.sums[slot] += wins
        now.clock += pulls
        now.rewards += pulls
        n[slot] += pulls

    skip = named(skip, "skip", kin)

    def run(r: int, p: Any, world: World, batch: Batch, space: RecordSpace) -> None:
        T = batch.grid[-1]
        scalars, slots, history, truth, stays, generator, scratch, failed = space
        mus, centres, gaps, n = truth.mus, truth.centres, truth.gaps, truth.n
        now = bind(scalars, slots, history)
        generator[0] = batch.rewards[r, 0]
        generator[1] = batch.rewards[r, 1]
        now.key = batch.order[r]
        now.rng[0] = batch.choices[r, 0]
        now.rng[1] = batch.choices[r, 1]
        start(now, p)
        tape = batch.tape[r]
        high = 0.0
        low = 0.0
        t = 0
        g = 0
        while t < T:
            until = min(batch.grid[g], t + CHUNK)
            batch.progress[0] += until - t
            while t < until:
                slot = propose(now, p)
                if not 0 <= slot < min(now.held, len(slots)):
                    failed[0] = WRONG_SLOT
                    failed[1] = slot
                    return
                if now.born[slot] != stays[slot]:
                    if not 0 <= now.arm[slot] < world.n_arms:
                        failed[0] = WRONG_ARM
                        failed[1] = slot
                        return
                    x, y = times(float(n[slot]), gaps[slot])
                    high, low = plus(high, low, x, y)
                    if batch.pulls.shape[1] > 0 and n[slot] > 0:
                        batch.pulls[r, truth.arms[slot]] += n[slot]
                    enter(slot, now.arm[slot], batch.arms[r], world, truth, scratch)
                    stays[slot] = now.born[slot]
                    if clairvoyant:
                        now.true_mean[slot] = mus[slot]
                fails = False
                if skipping:
                    mu = mus[slot]
                    still, good = calm(now, slot, p)
                    still = min(still, until - t)
                    if still >= WORTH:
                        wins = as_int(binomial.binomial(still, mu, generator))
                        skip(now, slot, still, wins, p, n)
                        t += still
                        continue
                    good = min(good, until - t)
                    if good > 0 and mu > 0.5:
                        wins = good
                        if mu < 1.0:
                            streak = math.log(rng.positive_uniform(generator)) / math.log(mu)
                            fails = streak < good
                            wins = as_int(streak) if fails else good
                        if wins > 0:
                            skip(now, slot, wins, wins, p, n)
                            t += wins
                        if t == until or not fails:
                            continue
                x = 0.0 if fails else reward(
                    world.distribution, truth.arms[slot], mus[slot], centres[slot],
                    batch.on_tape, tape, t, generator,
                )  # fmt: skip
                now.clock += 1
                now.rewards += 1
                n[slot] += 1
                t += 1
                observe(now, slot, x, p)
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
