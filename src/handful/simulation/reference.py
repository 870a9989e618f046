"""The `python` engine, the reference: drives the policy object that users use, pull by pull.

It is slow and simple. Every faster engine is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from multiprocessing.synchronize import Event
from signal import SIG_IGN, SIGINT, signal

import numpy as np

from handful.core.arms import FiniteArms
from handful.core.reservoir import Reservoir
from handful.core.rng import GOLDEN, tape_word
from handful.instances.churn import newcomer
from handful.instances.drift import LOGGED, as_logged, change, change_time
from handful.instances.traffic import LOST, Traffic, arrival
from handful.policies.base import Policy
from handful.policies.mistakes import wrong_arm, wrong_slot
from handful.policies.phased import PhasedPolicy
from handful.simulation.mistakes import RAISED, raise_from_python
from handful.simulation.outcome import Outcome, Stays
from handful.simulation.plan import FEW_ARMS, Cell
from handful.simulation.seeds import (
    churn_stream,
    delay_stream,
    drift_stream,
    policy_seed,
    reward_stream,
    tape_key,
    world_key,
)

_stop: Event | None = None
"""In a worker process: set when the parent wants all workers to end."""


def watch(stop: Event) -> None:
    """Make this process, a worker, end when `stop` is set; the parent handles interrupts."""
    global _stop
    _stop = stop
    signal(SIGINT, SIG_IGN)


class ExactSum:
    """A sum of doubles without rounding, as an integer multiple of 2^-1074."""

    def __init__(self) -> None:
        self.units = 0

    def add(self, x: float) -> None:
        """Add a finite double."""
        numerator, denominator = x.as_integer_ratio()
        self.units += numerator << (1075 - denominator.bit_length())

    def value(self) -> float:
        """Return the sum, correctly rounded."""
        return self.units / (1 << 1074)


def simulate_run(
    cell: Cell, run: int, grid: list[int], progress: Callable[[int], None] | None = None
) -> Outcome:
    """Simulate one run of a cell."""
    if cell.traffic is not None:
        return _simulate_in_traffic(cell, cell.traffic, run, grid, progress)
    world = cell.instance
    policy = _policy(cell, run)
    best = world.best_mean
    rng = reward_stream(cell.seed, cell.id, run)
    key = tape_key(cell.seed, run)
    arms_key = world_key(cell.seed, cell.id, run, cell.tape)
    policy.reveal(lambda arm: world.mean(arm, arms_key))
    total = ExactSum()
    regret = np.empty((1, len(grid)))
    pulls = np.zeros((1, world.n_arms), dtype=np.int64) if world.n_arms <= FEW_ARMS else None
    stays = _StayLog(policy) if cell.record else None
    point = 0
    for t in range(cell.horizon):
        if t & 1023 == 0 and _stop is not None and _stop.is_set():
            raise KeyboardInterrupt
        try:
            arm = policy.select()
        except RAISED as error:
            raise_from_python(error, policy)
        record = policy._state
        if record.pending >= record.held:
            raise wrong_slot(cell.policy, t, record.pending, record.held)
        if not 0 <= arm < world.n_arms:
            raise wrong_arm(cell.policy, t, arm, world.n_arms)
        if stays is not None:
            stays.selected(t)
        if cell.tape:
            rng = _tape_generator(key, t, arm)
        reward = world.draw(arm, rng, arms_key)
        try:
            policy.update(arm, reward)
        except RAISED as error:
            raise_from_python(error, policy)
        total.add(best - world.mean(arm, arms_key))
        if pulls is not None:
            pulls[0, arm] += 1
        if stays is not None:
            stays.pulled(t, arm)
        if t + 1 == grid[point]:
            regret[0, point] = total.value()
            point += 1
            if progress is not None:
                progress(t + 1)
    return Outcome(regret, pulls, None if stays is None else [stays.finish()])


def _simulate_in_traffic(
    cell: Cell,
    traffic: Traffic,
    run: int,
    grid: list[int],
    progress: Callable[[int], None] | None = None,
) -> Outcome:
    """Simulate a run of a cell whose rewards come late or never, or whose means or arms change."""
    world, T = cell.instance, cell.horizon
    flow = traffic.numbers(world)
    policy = _policy(cell, run)
    rng = reward_stream(cell.seed, cell.id, run)
    late = delay_stream(cell.seed, cell.id, run, cell.tape)
    drifting = drift_stream(cell.seed, cell.id, run, cell.tape)
    churning = churn_stream(cell.seed, cell.id, run, cell.tape)
    key = tape_key(cell.seed, run)
    arms_key = world_key(cell.seed, cell.id, run, cell.tape)
    means = [world.mean(arm) for arm in range(world.n_arms)] if traffic.changes_means else []
    best = max(means, default=world.best_mean)

    def mean_now(arm: int) -> float:
        return means[arm] if means else world.mean(arm, arms_key)

    def reveal() -> None:
        # A policy knows arms by their index, and the world by their label.
        policy.reveal(lambda index: mean_now(policy._label(index)))

    reveal()
    waiting: list[tuple[int, int, int, float]] = []
    """(arrival, decision, ticket, reward) of the rewards under way."""
    changes = 0
    total = ExactSum()
    regret = np.empty((1, len(grid)))
    pulls = np.zeros((1, world.n_arms), dtype=np.int64) if world.n_arms <= FEW_ARMS else None
    stays = _StayLog(policy, at_once=False) if cell.record else None
    point = 0
    for t in range(1, T + 1):
        if t & 1023 == 0 and _stop is not None and _stop.is_set():
            raise KeyboardInterrupt
        while change_time(flow.drift, flow.drift_number, T, changes + 1) == t - 1:
            changes += 1
            if flow.drift == LOGGED:
                as_logged(changes, world.listed, means)
            else:
                change(flow.drift, flow.drift_number, flow.low, flow.high, means, drifting)
            best = max(means)
            reveal()
        if flow.churn and t > 1 and (t - 1) % flow.churn == 0:
            place, origin = newcomer(world.n_arms, churning)
            means[place] = world.mean(origin)
            best = max(means)
            _replace(policy, place)
            reveal()
        try:
            arm, ticket = policy.decide()
        except RAISED as error:
            raise_from_python(error, policy)
        if stays is not None:
            stays.selected(t - 1)
        if cell.tape:
            rng = _tape_generator(key, t - 1, arm)
        mean = mean_now(arm)
        reward = world.draw_at(mean, rng, changes * world.n_arms + arm)
        total.add(best - mean)
        if pulls is not None:
            pulls[0, arm] += 1
        due = arrival(flow, t, reward, late)
        if due != LOST:
            heappush(waiting, (due, t, ticket, reward))
        while waiting and waiting[0][0] <= t:
            _, _, ticket, reward = heappop(waiting)
            try:
                policy.reward(ticket, reward)
            except RAISED as error:
                raise_from_python(error, policy)
        if stays is not None:
            stays.pulled(t - 1, arm)
        if t == grid[point]:
            regret[0, point] = total.value()
            point += 1
            if progress is not None:
                progress(t)
    return Outcome(regret, pulls, None if stays is None else [stays.finish()])


def _policy(cell: Cell, run: int) -> Policy:
    """Return the policy of a run, as it starts."""
    world = cell.instance
    arms: Reservoir | list[int] | int = Reservoir(_own_index) if world.endless else world.n_arms
    clicks_only = None
    if cell.traffic is not None:
        clicks_only = cell.traffic.clicks_only
        if cell.traffic.churn:
            arms = list(range(world.n_arms))
    return cell.policy(
        arms,
        None if cell.policy.own_memory or cell.policy.unbounded else cell.memory,
        seed=policy_seed(cell.seed, cell.id, run),
        clicks_only=clicks_only,
        **cell.policy_settings(),
    )


def _replace(policy: Policy, place: int) -> None:
    """Remove an arm and add a new one with the same label, which says where it is in the world."""
    arms = policy._arms
    assert isinstance(arms, FiniteArms)
    policy._change([place], arms.indices_of([place]))


def _own_index(index: int) -> int:
    """Return the index: it is the label of an arm of a simulated reservoir."""
    return index


def _tape_generator(key: int, t: int, arm: int) -> list[int]:
    return [tape_word(key, t, arm), GOLDEN]


class _StayLog:
    """Watches when stays in memory begin.

    Policies that change what they recommend in the middle of a stay have a new entry then, too.
    """

    def __init__(self, policy: Policy, at_once: bool = True) -> None:
        self.policy = policy
        self.at_once = at_once
        """Whether every pull is a reward, so that pulls say what a sub-phase recommends."""
        self.rows: list[tuple[int, list[int], list[int], int]] = []
        self._open(0)

    def _open(self, t: int) -> None:
        state = self.policy._state
        self.start = t
        self.born = self._born()
        self.arms = [self.policy._label(arm) for arm in state.arm[: state.held]]
        self.counts = dict.fromkeys(self.arms, 0)
        self.recommended = self._recommended()

    def _born(self) -> list[int]:
        state = self.policy._state
        return list(state.born[: state.held])

    def _recommended(self) -> int | None:
        return None if isinstance(self.policy, PhasedPolicy) else self.policy.recommend()

    def selected(self, t: int) -> None:
        """See whether arms came or went for the pull at time t."""
        if self._born() != self.born:
            if sum(self.counts.values()):
                self._close()
            self._open(t)

    def pulled(self, t: int, arm: int) -> None:
        """Count the pull at time t."""
        self.counts[arm] += 1
        if self._recommended() != self.recommended:
            self._close()
            self._open(t + 1)

    def _close(self) -> None:
        counts = [self.counts[arm] for arm in self.arms]
        self.rows.append((self.start, self.arms, counts, self.policy.recommend()))

    def finish(self) -> Stays:
        if sum(self.counts.values()):
            self._close()
            if isinstance(self.policy, PhasedPolicy) and self.at_once:
                # A sub-phase cut by the horizon is read as its end would be.
                start, arms, counts, _ = self.rows[-1]
                self.rows[-1] = (start, arms, counts, arms[counts.index(max(counts))])
        slots = max(len(row[1]) for row in self.rows)

        def padded(lists: list[list[int]]) -> list[list[int]]:
            return [[*values, *[-1] * (slots - len(values))] for values in lists]

        return Stays(
            start=np.array([row[0] for row in self.rows], dtype=np.int64),
            arms=np.array(padded([row[1] for row in self.rows]), dtype=np.int64),
            pulls=np.maximum(np.array(padded([row[2] for row in self.rows]), dtype=np.int64), 0),
            recommended=np.array([row[3] for row in self.rows], dtype=np.int64),
        )
