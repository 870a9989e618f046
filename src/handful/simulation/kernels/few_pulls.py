"""Thompson sampling while arms have few pulls: what their draws decide is looked up.

The exponentials of `thompson` are of use where one arm is far ahead. While all have few pulls, any
may have the highest draw; but then there are few posteriors, and a table can hold them.

**Two arms, 8 pulls.** The probability that the second arm is pulled, for each record of both.

**More arms.** The posterior of each record is cut into cells of equal probability. A word of random
bits says in which cells the draws of ten arms are. Mostly one arm's cell lies above all others, and
no draw is made. Where cells overlap, the draws are made inside them, by rejection.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import use
from handful.core import rng
from handful.simulation.kernels import contest
from handful.simulation.kernels.block import PULLS, Luck, Memory
from handful.simulation.kernels.posteriors import height, probability_above, quantiles
from handful.simulation.kernels.step import draw_uniforms
from handful.simulation.kernels.world import as_float, as_int, as_word

use(contest.proposal)

BITS = 6
CELLS = 2**BITS
"""Cells of equal probability of a posterior."""
ROW = CELLS + 1
A_WORD = 64 // BITS
"""The number of arms whose cells are in one word."""
LONGEST = 95
"""The most pulls of an arm whose posterior is looked up."""


@use
def short_duel(
    L: int, memory: Memory, luck: Luck, records: Ints, uniforms: Floats, probabilities: Floats
) -> None:
    """A whole sub-phase of two arms in each of L lanes; with a `probability_table`.

    It leaves the pulls of each arm behind; nothing else outlives a sub-phase that ends here. A
    record is four numbers below 8: failures and successes of slot 0, then of slot 1.
    """
    for lane in range(L):
        records[lane] = 0
        memory.n[L + lane] = 0
    draw_uniforms(uniforms, 0, PULLS * L, L, luck.choices)
    for start in range(0, PULLS * L, L):
        for lane in range(L):
            # Whom, and whether it wins: one number falls into one of four parts of [0, 1).
            record = as_word(records[lane])
            u = uniforms[start + lane]
            q = probabilities[record]
            slot = as_word(u < q)
            wins_1 = as_word(u < q * memory.mus[L + lane])
            wins_0 = as_word(u < q + (1.0 - q) * memory.mus[lane])
            won = wins_1 ^ slot ^ wins_0
            shift = as_word(3) * (slot + slot + won)
            records[lane] = as_int(record + (as_word(1) << shift))
            memory.n[L + lane] += as_int(slot)
    for lane in range(L):
        memory.n[lane] = PULLS - memory.n[L + lane]


@cache
def probability_table() -> Floats:
    """P(the draw of slot 1 is the higher), for each record of fewer than 8 pulls."""
    probabilities = np.zeros(PULLS**4)
    for place, (s1, f1, s0, f0) in enumerate(product(range(PULLS), repeat=4)):
        if s1 + f1 + s0 + f0 < PULLS:
            shapes = (1.0 + s1, 1.0 + f1, 1.0 + s0, 1.0 + f0)
            probabilities[place] = probability_above(*shapes, height(*shapes))
    return probabilities


@cache
def cell_table() -> Floats:
    """The bounds of the cells of each record, by n and then by s."""
    n, s = np.tril_indices(LONGEST + 1)
    return quantiles(n.astype(np.float64), s.astype(np.float64), CELLS).ravel()


@use
def pull_by_cells(
    until: int, t: int, m: int, memory: Memory, luck: Luck, rows: Ints, cells: Floats
) -> int:
    """Pulls of one run, t to until - 1, or for as long as no arm has more than `LONGEST`.

    `cells` is `cell_table`; `rows` is overwritten, with where in it each slot's posterior stands.
    """
    n, s, mus, lows, highs = memory.n, memory.s, memory.mus, memory.hat, memory.wide
    for i in range(m):
        if n[i] > LONGEST:
            return t
        rows[i] = (n[i] * (n[i] + 1) // 2 + as_int(s[i])) * ROW
    while t < until:
        floor = 0.0
        for first in range(0, m, A_WORD):
            word = rng.next_word(luck.choices)
            for slot in range(first, min(first + A_WORD, m)):
                i = as_word(slot)
                at = as_word(rows[i]) + (word & as_word(CELLS - 1))
                word >>= as_word(BITS)
                low = cells[at]
                lows[i] = low
                highs[i] = cells[at + as_word(1)]
                floor = max(floor, low)
        # If a single cell reaches above the floor, the sum of slots is that slot.
        above = best = 0
        for i in range(m):
            above += as_int(highs[i] > floor)
            best += i * as_int(highs[i] > floor)
        if above > 1:
            best = highest(n, s, m, lows, highs, floor, luck.choices)
        won = as_int(rng.uniform(luck.rewards) < mus[best])
        n[best] += 1
        s[best] += as_float(won)
        rows[best] += (n[best] + won) * ROW
        t += 1
        if n[best] > LONGEST:
            return t
    return t


@use
def highest(
    n: Ints, s: Floats, m: int, lows: Floats, highs: Floats, floor: float, generator: Words
) -> int:
    """The slot with the highest draw, given the cells; some draw is no less than `floor`."""
    best = 0
    for i in range(m):
        if highs[i] > floor:
            x = draw_within(n[i], s[i], lows[i], highs[i], generator)
            if x >= floor:
                floor = x
                best = i
    return best


@use
def draw_within(n: int, s: float, low: float, high: float, generator: Words) -> float:
    """A draw from the posterior that is known to be between low and high.

    The outermost cells are long: there the proposals are those of `contest`.
    """
    first = low == 0.0 and s - n * high > 1.0 - high
    if first or (high == 1.0 and n * low - s > low):
        x = -1.0
        while x < 0.0:
            if first:
                x = contest.proposal(n, n - s, 1.0 - high, generator)
            else:
                x = contest.proposal(n, s, low, generator)
        return 1.0 - x if first else x
    mode = min(max(low, s / n), high) if n > 0 else low
    while True:
        x = low + (high - low) * rng.uniform(generator)
        if not low < x < high:
            continue
        log_ratio = 0.0
        if s > 0.0:
            log_ratio += s * math.log(x / mode)
        if s < n:
            log_ratio += (n - s) * math.log((1.0 - x) / (1.0 - mode))
        if math.log(rng.positive_uniform(generator)) <= log_ratio:
            return x
