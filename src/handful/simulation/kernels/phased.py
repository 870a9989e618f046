"""Algorithm 1 as a kernel: a block of runs, the schedule compiled from its own source.

The runs walk `policies.schedule` in lockstep. A sub-phase is cut into segments that end at the
times of the grid; what happens inside a segment is the affair of `step`, `monotone` and `thompson`,
among which `segments` chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from handful.compiling.arrays import Ints
from handful.compiling.jit import kernel, use
from handful.core import shuffle
from handful.policies import schedule as phases
from handful.rules import Rule
from handful.simulation.kernels import segments
from handful.simulation.kernels.block import BEGAN, LANE, M_NOW, Luck, Memory, Space, entry
from handful.simulation.kernels.exact import plus_all, plus_lanes
from handful.simulation.kernels.lanes import challengers, most_played_lanes
from handful.simulation.kernels.world import Batch, Build, World, as_int, as_word, grid_of

for _function in (
    phases.schedule,
    phases.sub_phases,
    phases.challenger,
    phases.rounds,
    phases.round_key,
):
    use(_function)

CHUNK, LONG_CHUNK = 2**22, 2**32
"""Pulls times arms between two looks at whether to stop; and if pulls are skipped."""


def slots(K: int, M: int, B: float, alpha: float, T: int) -> int:
    """The most arms that are in memory at once in T pulls: M, or the whole set or pool."""
    t = 0
    most = 1
    for lap in phases.rounds(K, B, alpha, 1):
        most = max(most, lap.arms)
        t += min(lap.pulls, T)
        if t >= T:
            break
    return min(M, most)


@use
def put_down(
    stay: int, began: int, m: int, L: int, used: int,
    memory: Memory, best: Ints, runs: Ints, batch: Batch,
) -> None:  # fmt: skip
    """Record what was asked for of a sub-phase besides regret."""
    for lane in range(used):
        r = runs[lane]
        if batch.pulls.shape[1] > 0:
            for at in range(lane, m * L, L):
                batch.pulls[r, memory.arms[at]] += memory.n[at]
        if batch.stay_start.shape[1] > 0:
            batch.stay_start[r, stay] = began
            batch.stay_recommended[r, stay] = memory.arms[best[lane] * L + lane]
            for i in range(m):
                batch.stay_arms[r, stay, i] = memory.arms[i * L + lane]
                batch.stay_pulls[r, stay, i] = memory.n[i * L + lane]


@cache
def phased_kernel(rule: Rule, build: Build) -> Callable[..., None]:
    """The kernel of Algorithm 1 with this rule.

    It runs the runs first, ..., first + used - 1 in a block of L lanes; lanes to spare repeat the
    last run and leave nothing behind. A horizon of 0 is one that the policy is not given.
    """
    segment, kin = segments.segment(rule, build)
    enter = entry(build)
    long_skips = build.skipping and not rule.posterior
    chunk = LONG_CHUNK if long_skips else CHUNK

    def run(
        first: int,
        used: int,
        L: int,
        M: int,
        eta: float,
        horizon: int,
        B: float,
        alpha: float,
        world: World,
        batch: Batch,
        space: Space,
    ) -> None:
        K = world.n_arms
        T = batch.grid[-1]
        memory, choices, rewards, tape, walk, scratch, tables = space
        runs, keys, starts, high, low = walk
        for lane in range(L):
            r = first + min(lane, used - 1)
            runs[lane] = r
            for part in range(2):
                choices[part * L + lane] = batch.choices[r, part]
                rewards[part * L + lane] = batch.rewards[r, part]
            tape[lane] = batch.tape[r]
            high[lane] = 0.0
            low[lane] = 0.0
        luck = Luck(choices, rewards, tape, batch.on_tape, world.distribution)
        t = 0
        g = 0
        stay = 0
        for lap in phases.rounds(K, B, alpha, 1):
            lap_end = min(T, t + lap.pulls)
            k, rows, columns, rounds = grid_of(lap.arms)
            for lane in range(L):
                keys[lane] = phases.round_key(batch.order[runs[lane]], as_word(lap.r))
                first_arm = shuffle.forward(as_word(0), k, rows, columns, rounds, keys[lane])
                key = batch.arms[runs[lane]]
                enter(lane, as_int(first_arm), key, world, memory, scratch.generator)
                starts[lane] = 0
            for now in phases.schedule(lap.arms, M, 1, 1):
                m = now.hi - now.lo + 1
                if now.j == 1 and now.w > 1:
                    for lane in range(L):
                        arm = as_word(memory.arms[lane])
                        starts[lane] = as_int(
                            shuffle.backward(arm, k, rows, columns, rounds, keys[lane])
                        )
                for i in range(1, m):
                    challengers(
                        now.lo + i - 1, starts, i * L, L, k, rows, columns, rounds, keys,
                        memory.arms, scratch.halves,
                    )  # fmt: skip
                    for lane in range(L):
                        at = i * L + lane
                        key = batch.arms[runs[lane]]
                        enter(at, memory.arms[at], key, world, memory, scratch.generator)
                # The incumbent is known, but its statistics are fresh too.
                for lane in range(L):
                    memory.n[lane] = 0
                    memory.s[lane] = 0.0
                b = now.b
                if b == phases.FOREVER:
                    b = lap.pulls if lap.pulls < phases.FOREVER else horizon
                began = t
                scratch.numbers[M_NOW] = m
                scratch.numbers[LANE] = 0.0
                scratch.numbers[BEGAN] = began
                end = min(lap_end, t + now.b)
                while t < end:
                    until = min(end, batch.grid[g], t + max(1, chunk // (m * L)))
                    segment(
                        until - began, t - began, t, until == began + now.b, m, L, b, eta,
                        memory, luck, scratch, tables,
                    )  # fmt: skip
                    batch.progress[0] += (until - t) * used
                    t = until
                    if t == batch.grid[g]:
                        for lane in range(used):
                            batch.regret[runs[lane], g] = plus_all(
                                high[lane], low[lane], memory.n, memory.gaps, lane, m * L, L
                            )[0]
                        g += 1
                    if batch.stop[0] != 0:
                        return
                plus_lanes(high, low, memory.n, memory.gaps, m, L)
                most_played_lanes(memory.n, m, L, scratch.best)
                if batch.pulls.shape[1] > 0 or batch.stay_start.shape[1] > 0:
                    put_down(stay, began, m, L, used, memory, scratch.best, runs, batch)
                # The incumbent of the next sub-phase stands in slot 0.
                for lane in range(L):
                    at = scratch.best[lane] * L + lane
                    memory.arms[lane] = memory.arms[at]
                    memory.mus[lane] = memory.mus[at]
                    memory.centres[lane] = memory.centres[at]
                    memory.gaps[lane] = memory.gaps[at]
                stay += 1
                if t >= lap_end:
                    break
            if t >= T:
                break

    return kernel(run, kin)
