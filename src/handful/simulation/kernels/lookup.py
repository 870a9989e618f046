"""Sub-phases so short that each is played once for each sequence of rewards, and then looked up.

With M = 2 the first phase has sub-phases of 8 pulls, and with very many arms no other phase is ever
reached. A pull takes the next uniform number, whichever arm it is of; so 8 numbers and two means
say what either arm would give at each pull, two bits a pull, and the choices follow from these.
What they come to is computed when they first occur, with the scores of the step engine, and stored.
"""

from __future__ import annotations

import math

from handful.compiling.arrays import Floats
from handful.compiling.jit import use
from handful.core import rng
from handful.simulation.kernels.block import PULLS, Luck, Memory, Scratch, Tables
from handful.simulation.kernels.world import as_float, as_int, as_word


@use
def play_whole(L: int, memory: Memory, luck: Luck, scratch: Scratch, tables: Tables) -> None:
    """A whole sub-phase of two arms with Bernoulli rewards in each of L lanes.

    It leaves the pulls of each arm behind; nothing else outlives a sub-phase that ends here.
    """
    happened, below = scratch.best, scratch.slots
    for lane in range(L):
        happened[lane] = 0
    # A uniform number is a multiple of 2^-53: whether it is below a mean is asked in integers.
    for i in range(2 * L):
        below[i] = as_int(math.ceil(memory.mus[i] / rng.ULP))
    positions, steps = luck.rewards[:L], luck.rewards[L:]
    for _ in range(PULLS):
        for lane in range(L):
            position = (positions[lane] + steps[lane]) & rng.MASK
            positions[lane] = position
            u = as_int(rng.mix(position) >> as_word(11))
            both = 2 * as_int(u < below[lane]) + as_int(u < below[L + lane])
            happened[lane] = 4 * happened[lane] + both
    for lane in range(L):
        sequence = as_word(happened[lane])
        second = as_int(tables.wholes[sequence])
        if second == 0:
            second = pulls_of_second(sequence, tables.growths, tables.widths)
            tables.wholes[sequence] = second
        memory.n[lane] = PULLS - second
        memory.n[L + lane] = second


@use
def pulls_of_second(sequence: int, growths: Floats, widths: Floats) -> int:
    """Return the pulls of the second arm, given the rewards: two bits a pull, the last lowest.

    The first pull is the first arm's, the second the second's; never 0, therefore.
    """
    one = as_word(1)
    n0 = n1 = 1
    s0 = as_float(sequence >> as_word(2 * PULLS - 1) & one)
    s1 = as_float(sequence >> as_word(2 * PULLS - 4) & one)
    for t in range(2, PULLS):
        now = sequence >> as_word(2 * (PULLS - 1 - t))
        g = growths[t]
        if s1 / n1 + g * widths[n1] > s0 / n0 + g * widths[n0]:
            n1 += 1
            s1 += as_float(now & one)
        else:
            n0 += 1
            s0 += as_float(now >> one & one)
    return n1
