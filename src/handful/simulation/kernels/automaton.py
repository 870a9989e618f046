"""Automata as a kernel: one loop for all, the step function compiled from its own source.

A skipping kernel asks the automaton how long it is calm. Pulls that keep the slot whatever they
give are one Binomial draw; successes that keep it, up to the first failure, one geometric draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from handful.core import binomial, rng, shuffle
from handful.policies.automaton import KEEP, NEXT, Automaton
from handful.policies.schedule import round_key
from handful.simulation.kernels.block import Memory, entry
from handful.simulation.kernels.exact import plus, plus_all, times
from handful.simulation.kernels.jit import family, kernel, use
from handful.simulation.kernels.world import (
    Batch,
    Build,
    Floats,
    Ints,
    Words,
    World,
    as_int,
    as_word,
    grid_of,
    reward_law,
)

use(round_key)
use(binomial.binomial)

CHUNK = 2**20
"""Pulls between two looks at whether to stop."""


WORTH = 8
"""Fewer pulls than this are not worth a Binomial draw."""


def restless(
    slot: int, i: int, K: int, n: Ints, s: Floats, reg: Floats, T: float, p: Floats
) -> tuple[int, int]:
    """For automata that do not say when they are calm."""
    return 0, 0


@cache
def automaton_kernel(automaton: Automaton, build: Build) -> Callable[..., None]:
    """The kernel of run r of a policy with this automaton."""
    step = use(automaton.step)
    credit = use(automaton.credit)
    registers = automaton.registers
    clairvoyant = automaton.clairvoyant
    keeps_held = automaton.keeps_held
    reward = reward_law(build)
    enter = entry(build)
    skipping = build.skipping
    calm = use(automaton.calm or restless)
    absorb = use(automaton.absorb)

    def run(
        r: int, M: int, horizon: float, p: Floats, endless: bool, world: World, batch: Batch,
        memory: Memory, reg: Floats, state: Words, scratch: Words,
    ) -> None:  # fmt: skip
        K = world.n_arms
        T = batch.grid[-1]
        key = batch.order[r]
        k, rows, columns, rounds = grid_of(K)
        arms, mus, centres, gaps, n, s, _, _ = memory
        for i in range(M):
            arms[i] = -1
            n[i] = 0
            s[i] = 0.0
        for i in range(registers):
            reg[i] = 0.0
        state[0] = batch.rewards[r, 0]
        state[1] = batch.rewards[r, 1]
        choices = batch.choices[r]
        tape = batch.tape[r]
        high = 0.0
        low = 0.0
        tried = 0
        slot = 0
        action = NEXT
        t = 0
        g = 0
        while t < T:
            until = min(batch.grid[g], t + CHUNK)
            batch.progress[0] += until - t
            while t < until:
                if action == NEXT:
                    arm = tried % K
                    if not endless:
                        arm = as_int(shuffle.forward(as_word(arm), k, rows, columns, rounds, key))
                    for held in range(M):
                        if arms[held] == arm:
                            slot = held
                    tried += 1
                    if not keeps_held or arms[slot] != arm:
                        x, y = times(float(n[slot]), gaps[slot])
                        high, low = plus(high, low, x, y)
                        if batch.pulls.shape[1] > 0 and n[slot] > 0:
                            batch.pulls[r, arms[slot]] += n[slot]
                        enter(slot, arm, batch.arms[r], world, memory, scratch)
                        if clairvoyant:
                            reg[registers - M + slot] = mus[slot]
                fails = False
                if skipping:
                    action = KEEP
                    mu = mus[slot]
                    still, good = calm(slot, tried, K, n, s, reg, horizon, p)
                    still = min(still, until - t)
                    if still >= WORTH:
                        wins = as_int(binomial.binomial(still, mu, state))
                        absorb(slot, still, wins, tried, K, n, s, reg, horizon, p)
                        n[slot] += still
                        s[slot] += wins
                        t += still
                        continue
                    good = min(good, until - t)
                    if good > 0 and mu > 0.5:
                        wins = good
                        if mu < 1.0:
                            run = math.log(rng.positive_uniform(state)) / math.log(mu)
                            fails = run < good
                            wins = as_int(run) if fails else good
                        if wins > 0:
                            absorb(slot, wins, wins, tried, K, n, s, reg, horizon, p)
                            n[slot] += wins
                            s[slot] += wins
                            t += wins
                        if t == until or not fails:
                            continue
                x = 0.0 if fails else reward(
                    world.law, arms[slot], mus[slot], centres[slot], world.spread,
                    batch.on_tape, tape, t, state,
                )  # fmt: skip
                x = credit(x, choices)
                n[slot] += 1
                s[slot] += x
                t += 1
                slot, action = step(slot, x, tried, K, n, s, reg, horizon, p)
            if t == batch.grid[g]:
                batch.regret[r, g] = plus_all(high, low, n, gaps, 0, M, 1)[0]
                g += 1
            if batch.stop[0] != 0:
                return
        if batch.pulls.shape[1] > 0:
            for i in range(M):
                if n[i] > 0:
                    batch.pulls[r, arms[i]] += n[i]

    kind = f"automaton_{build.tag}"
    name = f"{automaton.name}{registers}"
    return kernel(run, family(kind, name, step, credit, clairvoyant, keeps_held, calm, absorb))
