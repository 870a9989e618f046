"""Automata as a kernel: one loop for all, the step function compiled from its own source."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from handful import shuffle
from handful.policies.automaton import NEXT, Automaton
from handful.policies.schedule import round_key
from handful.simulation.kernels.block import Memory
from handful.simulation.kernels.exact import plus, plus_all, times
from handful.simulation.kernels.jit import family, kernel, use
from handful.simulation.kernels.world import (
    Batch,
    Floats,
    Words,
    World,
    as_int,
    as_word,
    grid_of,
    mean_in,
    reward_law,
)

use(round_key)

CHUNK = 2**20
"""Pulls between two looks at whether to stop."""


@cache
def automaton_kernel(automaton: Automaton, bernoulli: bool) -> Callable[..., None]:
    """The kernel of run r of a policy with this automaton."""
    step = use(automaton.step)
    credit = use(automaton.credit)
    registers = automaton.registers
    clairvoyant = automaton.clairvoyant
    reward, centre_of = reward_law(bernoulli)

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
                    x, y = times(float(n[slot]), gaps[slot])
                    high, low = plus(high, low, x, y)
                    if batch.pulls.shape[1] > 0 and n[slot] > 0:
                        batch.pulls[r, arms[slot]] += n[slot]
                    arms[slot] = arm
                    mus[slot] = mean_in(world, arm, batch.arms[r], scratch)
                    centres[slot] = centre_of(world.law, mus[slot], world.spread)
                    gaps[slot] = world.best_mean - mus[slot]
                    n[slot] = 0
                    s[slot] = 0.0
                    if clairvoyant:
                        reg[registers - M + slot] = mus[slot]
                    tried += 1
                x = reward(
                    world.law, arms[slot], mus[slot], centres[slot], world.spread,
                    batch.on_tape, tape, t, state,
                )  # fmt: skip
                x = credit(x, choices)
                n[slot] += 1
                s[slot] += x
                t += 1
                slot, action = step(slot, x, tried, K, n, s, reg, horizon, p)
            if t == batch.grid[g]:
                batch.regret[r, g] = plus_all(high, low, n, gaps, M)[0]
                g += 1
            if batch.stop[0] != 0:
                return
        if batch.pulls.shape[1] > 0:
            for i in range(M):
                if n[i] > 0:
                    batch.pulls[r, arms[i]] += n[i]

    kind = "automaton_bernoulli" if bernoulli else "automaton_any_law"
    return kernel(run, family(kind, automaton.name, automaton.step, automaton.credit, clairvoyant))
