"""Any policy in traffic as a kernel: rewards come late or never, means drift, arms come and go.

The policy's `propose` and `observe` are compiled from their own source, as in `record`, and every
decision is made one by one. Delays are bounded, also random ones, since uniform numbers have 53
bits. So rewards under way fit into a ring, and none takes longer to be put there or to be found if
more are under way.

What is true of an arm is looked up when a slot is first pulled in a stay, and again whenever means
change. Until then the gap of a slot is constant, so that regret is still an exact sum of pulls
times gaps.

Where arms come and go, an arm of the policy is a number that may change (`handful.core.change`),
and `places` says where it is in the world. Kernels for other cells have nothing of this.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import family, kernel, named, use
from handful.compiling.state import bind
from handful.core import change, flight
from handful.core.state import fields
from handful.instances import churn, drift, traffic
from handful.policies.base import Policy
from handful.policies.definition import parameters_with
from handful.simulation.kernels.exact import plus, plus_all, times
from handful.simulation.kernels.record import (
    CHUNK,
    WRONG_ARM,
    WRONG_SLOT,
    RecordSpace,
)
from handful.simulation.kernels.world import Batch, Build, World, arm_facts, reward_of

for _function in (
    flight.issue,
    flight.turn_is_due,
    flight.turn,
    flight.close,
    flight.answer,
    flight.keep,
    traffic.arrival,
    drift.change_time,
    drift.best_arm,
    drift.change,
    drift.as_logged,
    churn.newcomer,
):
    use(_function)

NOWHERE = -1


class Waiting(NamedTuple):
    """Rewards under way, in a ring of W places, where W - 1 is the longest delay.

    The reward of decision t waits in place t mod W, and is delivered before decision t + W needs
    the place. The rewards that arrive after decision t are a list: its first and its last place are
    in `first` and `last` at t mod W. Decisions are added in their order, so lists have that order.
    """

    slots: Ints
    rewards: Floats
    following: Ints
    """The next place of the same list, or `NOWHERE`."""
    first: Ints
    last: Ints


class TrafficSpace(NamedTuple):
    """All that the kernel writes to besides its results."""

    record: RecordSpace
    waiting: Waiting
    means: Floats
    """Of all arms, if they change."""
    places: Ints
    """Where each arm of the policy is among the means, if arms come and go."""
    delays: Words
    """The generator of delays and losses."""
    drifts: Words
    """The generator of drifting means."""
    churns: Words
    """The generator of arms that come and go."""


def traffic_space(record: RecordSpace, longest: int, arms: int) -> TrafficSpace:
    """Return the space for runs of a record, delays up to `longest`, and changing means."""
    places = np.zeros((4, longest + 1), dtype=np.int32)
    words = np.zeros((3, 2), dtype=np.uint64)
    return TrafficSpace(
        record,
        Waiting(places[0], np.zeros(longest + 1), places[1], places[2], places[3]),
        np.zeros(arms),
        np.zeros(arms, dtype=np.int64),
        words[0],
        words[1],
        words[2],
    )


@use
def send(waiting: Waiting, here: int, delay: int, slot: int, reward: float) -> None:
    """Put the reward of the decision whose place is `here` on its way."""
    there = here + delay
    if there >= len(waiting.first):
        there -= len(waiting.first)
    waiting.slots[here] = slot
    waiting.rewards[here] = reward
    waiting.following[here] = NOWHERE
    if waiting.first[there] == NOWHERE:
        waiting.first[there] = here
    else:
        waiting.following[waiting.last[there]] = here
    waiting.last[there] = here


def _replacer(policy: type[Policy], kin: str) -> Any:
    """Return the function that gives a place in the world to a new arm of a policy."""
    functions = (policy.start, policy.withdraw, policy.resized)
    change_arms = named(change.changer(*functions, policy.news_first), "change_arms", kin)

    def replace_arm(now: Any, place: int, places: Ints, p: Any) -> None:
        arm = 0
        while places[arm] != place:
            arm += 1
        change_arms(now, (arm,), 1, p.K, p)
        for after in range(arm + 1, p.K):
            places[after - 1] = places[after]
        places[-1] = place

    return named(replace_arm, "replace_arm", kin)


@cache
def traffic_kernel(policy: type[Policy], build: Build, churning: bool) -> Callable[..., None]:
    """Return the kernel of run r of a policy in traffic; `churning` if arms come and go."""
    start, propose, observe = use(policy.start), use(policy.propose), use(policy.observe)
    clairvoyant = "true_mean" in fields(policy.State)
    reward = reward_of(build)
    mean_in, centre_of = arm_facts(build)
    waited = use(policy.waited)
    p = policy.Parameters or parameters_with(tuple(policy.settings))
    parts: tuple[Any, ...] = (start, propose, observe, waited, clairvoyant, p)
    # As in `record`: functions that a factory made do not show what they were made of.
    owner = (policy,) if any(f.__closure__ for f in (propose, observe)) else ()
    kind = "traffic"
    if churning:
        kind = "churn"
        parts = (*parts, use(policy.withdraw), use(policy.resized), policy.news_first)
    kin = family(f"{kind}_{build.world_tag}", policy.name, *parts, *owner)
    replace_arm: Any = _replacer(policy, kin) if churning else None
    end_window = named(flight.turner(observe, waited), "end_window", kin)

    def run(
        r: int, p: Any, world: World, flow: traffic.Numbers, batch: Batch, space: TrafficSpace
    ) -> None:
        T = batch.grid[-1]
        record, waiting, means, places, delays, drifts, churns = space
        scalars, slots, history, truth, stays, generator, scratch, failed = record
        mus, centres, gaps, n = truth.mus, truth.centres, truth.gaps, truth.n
        now = bind(scalars, slots, history)
        generator[0] = batch.rewards[r, 0]
        generator[1] = batch.rewards[r, 1]
        delays[0] = batch.delays[r, 0]
        delays[1] = batch.delays[r, 1]
        drifts[0] = batch.drifts[r, 0]
        drifts[1] = batch.drifts[r, 1]
        churns[0] = batch.churns[r, 0]
        churns[1] = batch.churns[r, 1]
        now.key = batch.order[r]
        now.rng[0] = batch.choices[r, 0]
        now.rng[1] = batch.choices[r, 1]
        start(now, p)
        tape = batch.tape[r]
        best = world.best_mean
        if len(means) > 0:
            for arm in range(len(means)):
                means[arm] = mean_in(world, arm, batch.arms[r], scratch)
                places[arm] = arm
            best = means[drift.best_arm(means)]
        changes = 0
        next_change = drift.change_time(flow.drift, flow.drift_number, T, 1)
        next_churn = flow.churn
        window = flow.clicks_only  # 0, the window of a policy that is given none, unless given
        default = 0.0 if window > 0 else math.nan
        ring = len(waiting.first)
        for i in range(ring):
            waiting.first[i] = NOWHERE
        here = 0
        high = 0.0
        low = 0.0
        t = 0
        g = 0
        while t < T:
            until = min(batch.grid[g], t + CHUNK)
            batch.progress[0] += until - t
            while t < until:
                if t == next_change or (churning and t == next_churn):
                    while t == next_change:
                        changes += 1
                        if flow.drift == drift.LOGGED:
                            drift.as_logged(changes, world.listed, means)
                        else:
                            drift.change(
                                flow.drift, flow.drift_number, flow.low, flow.high, means, drifts
                            )
                        next_change = drift.change_time(
                            flow.drift, flow.drift_number, T, changes + 1
                        )
                    if churning and t == next_churn:
                        place, origin = churn.newcomer(world.n_arms, churns)
                        means[place] = mean_in(world, origin, batch.arms[r], scratch)
                        replace_arm(now, place, places, p)
                        next_churn += flow.churn
                        if clairvoyant:
                            for i in range(now.held):
                                now.true_mean[i] = means[places[now.arm[i]]]
                    best = means[drift.best_arm(means)]
                    for i in range(len(slots)):
                        if stays[i] > 0:
                            x, y = times(float(n[i]), gaps[i])
                            high, low = plus(high, low, x, y)
                            arm = truth.arms[i]
                            batch.pulls[r, arm] += n[i]
                            n[i] = 0
                            mus[i] = means[arm]
                            group = changes * world.n_arms + arm
                            centres[i] = centre_of(world.distribution, mus[i], group)
                            gaps[i] = best - mus[i]
                            if clairvoyant and now.born[i] == stays[i]:
                                now.true_mean[i] = mus[i]
                if flight.turn_is_due(now, window):
                    end_window(now, default, p)
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
                    if churning:
                        arm = places[arm]
                    mu = (
                        means[arm]
                        if len(means) > 0
                        else mean_in(world, arm, batch.arms[r], scratch)
                    )
                    truth.arms[slot] = arm
                    mus[slot] = mu
                    group = changes * world.n_arms + arm
                    centres[slot] = centre_of(world.distribution, mu, group)
                    gaps[slot] = best - mu
                    n[slot] = 0
                    stays[slot] = now.born[slot]
                    if clairvoyant:
                        now.true_mean[slot] = mu
                value = reward(
                    world.distribution, truth.arms[slot], mus[slot], centres[slot],
                    batch.on_tape, tape, t, generator,
                )  # fmt: skip
                flight.issue(now, slot)
                n[slot] += 1
                t += 1
                here += 1
                if here == ring:
                    here = 0
                due = traffic.arrival(flow, t, value, delays)
                # What is due after the horizon is never delivered.
                if due != traffic.LOST and due <= T:
                    send(waiting, here, due - t, slot, value)
                came = waiting.first[here]
                waiting.first[here] = NOWHERE
                while came != NOWHERE:
                    age = here - came
                    if age < 0:
                        age += ring
                    slot = waiting.slots[came]
                    if window > 0:
                        flight.keep(now, slot, t - age, waiting.rewards[came])
                    elif flight.answer(now, slot, t - age) == flight.CREDITED:
                        observe(now, slot, waiting.rewards[came], p)
                    came = waiting.following[came]
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
