"""Thompson sampling without the draws: the same distribution at a fraction of the cost.

Whatever the distribution of the rewards, the rule sees Bernoulli trials of the arm's mean, so that
is what is simulated (`contest`).

**Two arms.** With shapes a, b of arm 0 and c, d of arm 1, all integers,

    h = B(a + c, b + d) / (B(a, b) B(c, d)),    P = P(X_1 > X_0),

one more success or failure changes P by h over the shape that grows, and h by a rational factor
(Cook, "Exact calculation of beta inequalities", 2005). So a pull takes one uniform number for the
choice and one for the reward, and one division. Only the probability `q` of the less likely arm,
the minor, is stored. Adding up loses digits when q falls by orders of magnitude. Then q is summed
anew from h, which loses none: q is the sum over k < c of h(k)/k, terms of one sign that soon become
negligible. `renew` does this when q has left the range [q/2^14, 64 q] of its last sum. Relative
errors stay below about 10^-9 (a test goes to 10^7 pulls).

**More arms.** As in `contest`, for a leader l and a level x that X_l hardly ever falls
below: the other arms' tails beyond x, and here also the leader's below x, lie under exponentials,
of masses G_i and G. If one uniform number is less than (1 - G) prod (1 - G_i), no arm has a
proposal beyond x and the leader none below: the leader is pulled, and nothing was drawn. Otherwise
the contest of `contest` decides. The distribution is exact for any choice of l, x and of bounds G,
so l and x are not changed while they are good enough: a pull of the leader updates f, its density
at x, by one division, and checks that f is still below the exponential of mass G.

**Few pulls.** As long as no arm has had many pulls, `few_pulls` looks up what draws decide.
"""

from __future__ import annotations

import math

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import use
from handful.core import rng
from handful.core.binomial import log_binomial
from handful.simulation.kernels import contest
from handful.simulation.kernels.block import AHEAD, PULLS, Luck, Memory, Scratch, Tables
from handful.simulation.kernels.few_pulls import pull_by_cells, short_duel
from handful.simulation.kernels.posteriors import probability_above
from handful.simulation.kernels.step import draw_uniforms
from handful.simulation.kernels.world import as_float, as_int, as_word

for _function in (contest.contest, contest.draw, contest.tail, log_binomial):
    use(_function)

FALL = 2.0**-14
RISE = 64.0
FLIP = 0.75
"""The minor becomes the major when its probability exceeds this."""
TINY = 1e-250
"""h stays above this: what it stands for will not be seen."""


@use
def duels(
    until: int, t: int, clock: int, last: bool, m: int, L: int, b: int, eta: float,
    memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
) -> None:  # fmt: skip
    """The segment of two arms; of a single one there is nothing to choose."""
    if m == 2 and last and t == 0 and until == PULLS:
        short_duel(L, memory, luck, scratch.best, scratch.uniforms, tables.growths)
    elif m == 2:
        duel(until, t, L, memory, luck, scratch)
    else:
        for lane in range(L):
            memory.n[lane] += until - t


@use
def squeezes(
    until: int, t: int, clock: int, last: bool, m: int, L: int, b: int, eta: float,
    memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
) -> None:  # fmt: skip
    """The segment of any number of arms."""
    t = pull_by_cells(until, t, m, memory, luck, scratch.slots, tables.widths)
    squeeze(until, t, m, memory, luck)


# Two arms.


@use
def duel(until: int, t: int, L: int, memory: Memory, luck: Luck, scratch: Scratch) -> None:
    """Two arms, L runs in lockstep.

    `shapes` has four rows of L: failures and successes, plus one, of slot 0, then of slot 1. A
    lane's probability of the minor, h, and the range of that probability are in hat and wide.
    """
    shapes = scratch.shapes
    minors = scratch.best
    probabilities = memory.hat
    lows = memory.hat[L:]
    hs = memory.wide
    highs = memory.wide[L:]
    for lane in range(L):
        if t == 0:
            minors[lane] = 1
            probabilities[lane] = 0.5
            hs[lane] = 1.0 / 6.0
            lows[lane] = 0.5 * FALL
            highs[lane] = FLIP
        for i in range(2):
            n = float(memory.n[i * L + lane])
            s = memory.s[i * L + lane]
            shapes[2 * i * L + lane] = 1.0 + n - s
            shapes[(2 * i + 1) * L + lane] = 1.0 + s
    half = AHEAD // 2 * L
    drawn = t
    while t < until:
        row = t % (AHEAD // 2) * L
        if t >= drawn:
            drawn = min(until, t - t % (AHEAD // 2) + AHEAD // 2)
            draw_uniforms(scratch.uniforms, row, (drawn - t) * L, L, luck.choices)
            draw_uniforms(scratch.uniforms, half + row, (drawn - t) * L, L, luck.rewards)
        pull_pairs(t, row, half + row, L, memory, scratch)
        t += 1
    for lane in range(L):
        for i in range(2):
            failures = shapes[2 * i * L + lane] - 1.0
            successes = shapes[(2 * i + 1) * L + lane] - 1.0
            memory.n[i * L + lane] = as_int(failures + successes)
            memory.s[i * L + lane] = successes


@use
def pull_pairs(t: int, choice: int, reward: int, L: int, memory: Memory, scratch: Scratch) -> None:
    """Pull t of all lanes."""
    shapes, minors, uniforms = scratch.shapes, scratch.best, scratch.uniforms
    probabilities = memory.hat
    hs = memory.wide
    lanes = as_word(L)
    share = 1.0 / (t + 4.0)
    for index in range(L):
        lane = as_word(index)
        q = probabilities[lane]
        minor = as_word(minors[lane])
        lost = as_word(uniforms[as_word(choice) + lane] >= q)
        slot = minor ^ lost
        won = as_word(uniforms[as_word(reward) + lane] < memory.mus[slot * lanes + lane])
        two = as_word(2)
        grows = (two * slot + won) * lanes + lane
        other = (two * (slot ^ as_word(1)) + won) * lanes + lane
        twin = (two * slot + (won ^ as_word(1))) * lanes + lane
        shape = shapes[grows]
        step = hs[lane] / shape
        h = step * (shape + shapes[other]) * ((shape + shapes[twin]) * share)
        hs[lane] = max(h, TINY)
        shapes[grows] = shape + 1.0
        q += step * (1.0 - 2.0 * as_float(lost == won))
        probabilities[lane] = q
        if q < memory.hat[lanes + lane] or q > memory.wide[lanes + lane]:
            renew(index, L, memory, scratch)


@use
def renew(lane: int, L: int, memory: Memory, scratch: Scratch) -> None:
    """Sum up the probability of the minor anew, or make the other arm the minor."""
    shapes, minors = scratch.shapes, scratch.best
    q = memory.hat[lane]
    if q > FLIP:
        minors[lane] = 1 - minors[lane]
        q = 1.0 - q
    else:
        i = 2 * minors[lane] * L + lane
        k = 2 * (1 - minors[lane]) * L + lane
        h = memory.wide[lane]
        q = probability_above(shapes[i + L], shapes[i], shapes[k + L], shapes[k], h)
    memory.hat[lane] = q
    memory.hat[L + lane] = q * FALL
    memory.wide[L + lane] = min(q * RISE, FLIP)


# More arms.


@use
def squeeze(until: int, t: int, m: int, memory: Memory, luck: Luck) -> None:
    """Any number of arms, one run."""
    n, s, mus, tails = memory.n, memory.s, memory.mus, memory.wide
    choices, rewards = luck.choices, luck.rewards
    leader = as_int(-1)
    x = lower = f = none = quiet = scale = 0.0
    fresh = 0
    while t < until:
        if leader < 0:
            leader, x, f, lower = set_level(n, s, m, tails)
            none = 1.0
            for i in range(m):
                none *= 1.0 - tails[i]
            quiet = none * (1.0 - lower)
            scale = x * (1.0 - x)
            fresh = n[leader] + n[leader] // 4 + 16
        u = rng.uniform(choices)
        best = leader
        if u >= quiet:
            if u >= none:
                highest = contest.draw(n[leader], s[leader], choices)
            else:
                highest = _below(n[leader], s[leader], x, f, lower, choices)
            best = as_int(contest.contest(n, s, m, tails, leader, x, none, highest, u, choices))
            lower = bound(n[leader], s[leader], x, f)
            quiet = none * (1.0 - lower)
        won = rng.uniform(rewards) < mus[best]
        n[best] += 1
        if won:
            s[best] += 1.0
        t += 1
        if best == leader:
            # From Beta(a, b) to the next: the density at x.
            if won:
                f *= x * (n[best] + 1.0) / s[best]
            else:
                f *= (1.0 - x) * (n[best] + 1.0) / (n[best] - s[best])
            if n[best] > fresh:
                leader = as_int(-1)
            elif not f * scale <= lower * (s[best] - n[best] * x):
                lower = bound(n[best], s[best], x, f)
                quiet = none * (1.0 - lower)
        elif (1.0 + s[best]) * (2.0 + n[leader]) > (1.0 + s[leader]) * (2.0 + n[best]):
            leader = as_int(-1)
        else:
            tails[best] = contest.tail(n[best], s[best], x)
            none = 1.0
            for i in range(m):
                none *= 1.0 - tails[i]
            quiet = none * (1.0 - lower)


MARGIN = 1.4
"""How far the leader's exponential lies above its density at first, so that it serves longer."""


@use
def set_level(n: Ints, s: Floats, m: int, tails: Floats) -> tuple[int, float, float, float]:
    """The leader, the level x, the leader's density there, and G; the G_i are written to `tails`.

    The level is as many deviations below the leader's mean as above that of its nearest rival.
    """
    leader = 0
    top = (1.0 + s[0]) / (2.0 + n[0])
    for i in range(1, m):
        mean = (1.0 + s[i]) / (2.0 + n[i])
        if mean > top:
            top = mean
            leader = i
    spread = math.sqrt(top * (1.0 - top) / (3.0 + n[leader]))
    depth = 6.0
    for i in range(m):
        if i != leader:
            mean = (1.0 + s[i]) / (2.0 + n[i])
            other = math.sqrt(mean * (1.0 - mean) / (3.0 + n[i]))
            depth = min(depth, (top - mean) / (spread + other))
    x = top - max(1.0, depth) * spread
    f = 0.0
    if x > 0.0:
        f = (n[leader] + 1.0) * math.exp(log_binomial(n[leader], s[leader], x))
    for i in range(m):
        tails[i] = 0.0 if i == leader else contest.tail(n[i], s[i], x)
    return leader, x, f, bound(n[leader], s[leader], x, f)


@use
def bound(n: int, s: float, x: float, f: float) -> float:
    """G, the mass of an exponential over the posterior below x, where its density is f."""
    slope = s - n * x
    if x <= 0.0 or slope <= 0.0:
        return 1.0
    return min(1.0, MARGIN * f * x * (1.0 - x) / slope)


@use
def _below(n: int, s: float, x: float, f: float, lower: float, generator: Words) -> float:
    """The leader's draw if it has an accepted proposal below x, or else x, which it exceeds."""
    if lower >= 1.0:
        return contest.draw(n, s, generator)
    slope = (s - n * x) / (x * (1.0 - x))
    d = -math.log(rng.positive_uniform(generator)) / slope
    if d >= x:
        return x
    # The density at x - d over the exponential's, whose height at x is lower * slope.
    log_ratio = s * math.log1p(-d / x) + (n - s) * math.log1p(d / (1.0 - x)) + slope * d
    if math.log(rng.positive_uniform(generator)) > log_ratio + math.log(f / (lower * slope)):
        return x
    return x - d
