"""Segments that go pull by pull and make the very choices of the policy itself.

`of_bonus` serves rules of the form mean + growth width, both factors tabulated as they are needed
(an entry is the rule's own value, so no bit of a score changes), in three loops: for a block of
runs, for one run, and for one run with two arms and Bernoulli rewards. `of_scores` serves any rule
by calling its score.

A score that is NaN ends the run, as it does in the policy itself. Growth and width are looked at
when they are computed: the scores of finite ones are numbers, and are not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import named, use, without_memo
from handful.core import rng
from handful.errors import RuleError
from handful.policies.phased import checked_credit
from handful.rules.base import Moment, Rule, Score
from handful.simulation.kernels.block import (
    AHEAD,
    LANE,
    PULLS,
    TABLE,
    Luck,
    Memory,
    Scratch,
    Tables,
)
from handful.simulation.kernels.lanes import best_slots
from handful.simulation.kernels.lookup import play_whole
from handful.simulation.kernels.world import Build, as_float, as_word, reward_of, tape_uniform

Segment: TypeAlias = Callable[..., None]
"""segment(until, t, clock, last, m, L, b, eta, memory, luck, scratch, tables): pulls t, ...,
until - 1 of a sub-phase with m arms in memory and a budget of b. `clock` is t from the start of the
run; after the `last` pulls of a sub-phase only the pulls of each arm have to be left right."""


NAN = "a score is NaN"
HUGE = 1e150
"""Scores of factors that are less than this are numbers."""


@use
def is_odd(factor: float) -> bool:
    """Whether a score with this growth or width might be NaN or infinite."""
    return not abs(factor) < HUGE


@use
def check_scores(lane: int, L: int, m: int, g: float, memory: Memory, scratch: Scratch) -> None:
    """Refuse a score of mean + growth width that is NaN, and scores of which none exceeds -inf."""
    highest = -math.inf
    for at in range(lane, m * L, L):
        score = memory.hat[at] + g * memory.wide[at]
        if not score <= highest:
            highest = score
            if score != score:
                break
    if not highest > -math.inf:
        scratch.numbers[LANE] = lane
        raise RuleError(NAN)


def factors(rule: Rule) -> tuple[Callable[..., float], Callable[..., float]]:
    """The growth and the width of a rule that has them, for kernels."""
    assert rule.growth is not None
    assert rule.width is not None
    growth, width = without_memo(rule.growth), without_memo(rule.width)
    return use(growth, tabulated=True), use(width, tabulated=True)


def of_bonus(rule: Rule, kin: str, build: Build) -> Segment:
    """For a score of mean + growth width."""
    growth, width = factors(rule)
    uses_budget = rule.budget_in_width
    block = _bonus_block(rule, kin, build)
    single = _bonus_single(rule, kin, build)
    bernoulli = build.bernoulli
    pair = _bernoulli_pair(rule, kin) if bernoulli else single

    def segment(
        until: int, t: int, clock: int, last: bool, m: int, L: int, b: int, eta: float,
        memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
    ) -> None:  # fmt: skip
        growths, widths, marks = tables.growths, tables.widths, tables.marks
        filled = marks[0]
        for u in range(filled + 1, min(until, TABLE) + 1):
            growths[u] = growth(u, eta)
            marks[0] = u
            # At the first pull there is no score, unless there is a single arm.
            if is_odd(growths[u]) and (u > 1 or m == 1):
                marks[4] = 1
        if uses_budget and (marks[2] != b or marks[3] != m):
            marks[1] = 0
            marks[2] = b
            marks[3] = m
        if L > 1:
            known = marks[1]
            for c in range(known + 1, min(until, TABLE) + 1):
                widths[c] = width(c, b, m)
                marks[1] = c
                if is_odd(widths[c]):
                    marks[4] = 1
            whole = last and t == 0 and until == b == PULLS and marks[4] == 0
            if bernoulli and m == 2 and whole and not luck.on_tape:
                play_whole(L, memory, luck, scratch, tables)
            else:
                block(until, t, clock, m, L, b, eta, memory, luck, scratch, tables)
            return
        if bernoulli and m == 2:
            first = min(max(t, m), until)
            single(first, t, clock, m, b, eta, memory, luck, scratch, tables)
            pair(until, first, clock + first - t, m, b, eta, memory, luck, scratch, tables)
        else:
            single(until, t, clock, m, b, eta, memory, luck, scratch, tables)

    return named(segment, "segment", kin)


def _bonus_block(rule: Rule, kin: str, build: Build) -> Callable[..., None]:
    """Many runs in lockstep. What a run does never waits for what another does."""
    growth, width = factors(rule)
    reward = reward_of(build)
    bernoulli = build.bernoulli

    def block(
        until: int, t: int, clock: int, m: int, L: int, b: int, eta: float,
        memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
    ) -> None:  # fmt: skip
        growths, widths, marks = tables.growths, tables.widths, tables.marks
        n, s, hat, wide = memory.n, memory.s, memory.hat, memory.wide
        best, uniforms, generator = scratch.best, scratch.uniforms, scratch.generator
        quick = bernoulli and until <= TABLE
        drawn = t
        while t < until:
            if t < m:
                for lane in range(L):
                    best[lane] = t
            else:
                g = growths[t] if t <= TABLE else growth(t, eta)
                if marks[4] != 0 or is_odd(g):
                    for lane in range(L):
                        check_scores(lane, L, m, g, memory, scratch)
                best_slots(hat, wide, L, m, g, best)
            if quick:
                row = t % AHEAD * L
                if luck.on_tape:
                    tape_uniforms(uniforms, row, L, clock, best, memory.arms, luck.tape)
                elif t >= drawn:
                    drawn = min(until, t - t % AHEAD + AHEAD)
                    draw_uniforms(uniforms, row, (drawn - t) * L, L, luck.rewards)
                update_lanes(uniforms, row, L, best, memory, widths)
            else:
                for lane in range(L):
                    i = best[lane] * L + lane
                    n[i] += 1
                    generator[0] = luck.rewards[lane]
                    generator[1] = luck.rewards[L + lane]
                    s[i] += reward(
                        luck.distribution, memory.arms[i], memory.mus[i], memory.centres[i],
                        luck.on_tape, luck.tape[lane], clock, generator,
                    )  # fmt: skip
                    luck.rewards[lane] = generator[0]
                    hat[i] = s[i] / n[i]
                    wide[i] = widths[n[i]] if n[i] <= TABLE else width(n[i], b, m)
                    if is_odd(wide[i]):
                        marks[4] = 1
            t += 1
            clock += 1

    return named(block, "block", kin)


@use
def draw_uniforms(uniforms: Floats, row: int, count: int, L: int, rewards: Words) -> None:
    """The next uniform numbers of all lanes, for several pulls."""
    positions = rewards[:L]
    steps = rewards[L:]
    for start in range(row, row + count, L):
        for lane in range(L):
            position = (positions[lane] + steps[lane]) & rng.MASK
            positions[lane] = position
            uniforms[start + lane] = rng.unit(rng.mix(position))


@use
def tape_uniforms(
    uniforms: Floats, row: int, L: int, clock: int, best: Ints, arms: Ints, tape: Words
) -> None:
    """The uniform numbers in the cells of the tapes of all lanes, for one pull."""
    for lane in range(L):
        uniforms[row + lane] = tape_uniform(tape[lane], clock, arms[best[lane] * L + lane])


@use
def update_lanes(
    uniforms: Floats, row: int, L: int, best: Ints, memory: Memory, widths: Floats
) -> None:
    """Credit a Bernoulli reward to the chosen slot of each lane."""
    n, s, mus, hat, wide = memory.n, memory.s, memory.mus, memory.hat, memory.wide
    lanes = as_word(L)
    for lane in range(L):
        # Unsigned, so that an index needs no look at its sign.
        i = as_word(best[lane]) * lanes + as_word(lane)
        c = n[i] + 1
        n[i] = c
        x = s[i] + as_float(uniforms[as_word(row + lane)] < mus[i])
        s[i] = x
        hat[i] = x / c
        wide[i] = widths[as_word(c)]


def _bonus_single(rule: Rule, kin: str, build: Build) -> Callable[..., None]:
    """One run."""
    growth, width = factors(rule)
    reward = reward_of(build)

    def single(
        until: int, t: int, clock: int, m: int, b: int, eta: float,
        memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
    ) -> None:  # fmt: skip
        growths, widths, marks = tables.growths, tables.widths, tables.marks
        n, s, hat, wide = memory.n, memory.s, memory.hat, memory.wide
        known = marks[1]
        odd = marks[4] != 0
        while t < until:
            best = t
            if t >= m:
                g = growths[t] if t <= TABLE else growth(t, eta)
                if odd or (t > TABLE and is_odd(g)):
                    check_scores(0, 1, m, g, memory, scratch)
                best = 0
                best_score = hat[0] + g * wide[0]
                for i in range(1, m):
                    score = hat[i] + g * wide[i]
                    if score > best_score:
                        best_score = score
                        best = i
            x = reward(
                luck.distribution, memory.arms[best], memory.mus[best], memory.centres[best],
                luck.on_tape, luck.tape[0], clock, luck.rewards,
            )  # fmt: skip
            n[best] += 1
            s[best] += x
            c = n[best]
            hat[best] = s[best] / c
            if c <= TABLE:
                while known < c:
                    known += 1
                    widths[known] = width(known, b, m)
                    odd = odd or is_odd(widths[known])
                wide[best] = widths[c]
            else:
                wide[best] = width(c, b, m)
                odd = odd or is_odd(wide[best])
            t += 1
            clock += 1
        marks[1] = known
        if odd:
            marks[4] = 1

    return named(single, "single", kin)


def _next_width(rule: Rule, kin: str) -> Callable[..., tuple[float, int, bool]]:
    """The width of one of two arms after its c-th pull, and how far the table is filled then.

    The last value says whether any width so far was odd.

    At most the c-th entry is missing. A loop over all that are missing, as `single` has it, would
    make the pulls of a rule whose table is filled in each sub-phase take a third longer.
    """
    _, width = factors(rule)

    def width_of(c: int, b: int, widths: Floats, known: int, odd: bool) -> tuple[float, int, bool]:
        if c > TABLE:
            wide = width(c, b, 2)
            return wide, known, odd or is_odd(wide)
        if c > known:
            known = c
            widths[c] = width(c, b, 2)
            odd = odd or is_odd(widths[c])
        return widths[c], known, odd

    return named(width_of, "width_of", kin)


def _bernoulli_pair(rule: Rule, kin: str) -> Callable[..., None]:
    """One run, two arms that were pulled, and Bernoulli rewards, all in registers.

    The branch on the better arm lets the processor run ahead on its guess of the choice; with the
    statistics in arrays every pull would wait for the division of the one before (8x slower).
    """
    growth, _ = factors(rule)
    width_of = _next_width(rule, kin)

    def pair(
        until: int, t: int, clock: int, m: int, b: int, eta: float,
        memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
    ) -> None:  # fmt: skip
        growths, widths, marks = tables.growths, tables.widths, tables.marks
        n, s, hat, wide = memory.n, memory.s, memory.hat, memory.wide
        position, step = luck.rewards
        on_tape = luck.on_tape
        tape = luck.tape[0]
        known = marks[1]
        n0, n1 = n[0], n[1]
        s0, s1 = s[0], s[1]
        hat0, hat1 = hat[0], hat[1]
        wide0, wide1 = wide[0], wide[1]
        mu0, mu1 = memory.mus[0], memory.mus[1]
        arm0, arm1 = memory.arms[0], memory.arms[1]
        odd = marks[4] != 0
        while t < until:
            g = growths[t] if t <= TABLE else growth(t, eta)
            if odd or (t > TABLE and is_odd(g)):
                n[0], n[1] = n0, n1
                s[0], s[1] = s0, s1
                hat[0], hat[1] = hat0, hat1
                wide[0], wide[1] = wide0, wide1
                check_scores(0, 1, m, g, memory, scratch)
            u = 0.0
            if not on_tape:
                position = (position + step) & rng.MASK
                u = rng.unit(rng.mix(position))
            if hat1 + g * wide1 > hat0 + g * wide0:
                if on_tape:
                    u = tape_uniform(tape, clock, arm1)
                if u < mu1:
                    s1 += 1.0
                n1 += 1
                hat1 = s1 / n1
                wide1, known, odd = width_of(n1, b, widths, known, odd)
            else:
                if on_tape:
                    u = tape_uniform(tape, clock, arm0)
                if u < mu0:
                    s0 += 1.0
                n0 += 1
                hat0 = s0 / n0
                wide0, known, odd = width_of(n0, b, widths, known, odd)
            t += 1
            clock += 1
        luck.rewards[0] = position
        n[0], n[1] = n0, n1
        s[0], s[1] = s0, s1
        hat[0], hat[1] = hat0, hat1
        wide[0], wide[1] = wide0, wide1
        marks[1] = known
        if odd:
            marks[4] = 1

    return named(pair, "pair", kin)


def of_scores(rule: Rule, kin: str, build: Build) -> Segment:
    """For any score."""
    credit = checked_credit(rule)
    credit = use(credit) if credit is rule.credit else named(credit, "credit", kin)
    reward = reward_of(build)
    tries_each_first = rule.tries_each_first
    assert rule.score is not None
    score_of = timed(rule.score, kin)

    def segment(
        until: int, t: int, clock: int, last: bool, m: int, L: int, b: int, eta: float,
        memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
    ) -> None:  # fmt: skip
        n, s, hat = memory.n, memory.s, memory.hat
        choices = luck.choices
        while t < until:
            best = t
            if t >= m or not tries_each_first:
                budget = b if b > 0 else max(1, t)
                top = hat[0]
                for i in range(1, m):
                    top = max(top, hat[i])
                best = 0
                best_score = score_of(n[0], s[0], top, t, budget, m, eta, choices)
                is_nan = best_score != best_score
                for i in range(1, m):
                    score = score_of(n[i], s[i], top, t, budget, m, eta, choices)
                    is_nan |= score != score
                    if score > best_score:
                        best_score = score
                        best = i
                if is_nan or best_score == -math.inf:
                    raise RuleError(NAN)
            x = reward(
                luck.distribution, memory.arms[best], memory.mus[best], memory.centres[best],
                luck.on_tape, luck.tape[0], clock, luck.rewards,
            )  # fmt: skip
            n[best] += 1
            s[best] += credit(x, choices)
            hat[best] = s[best] / n[best]
            t += 1
            clock += 1

    return named(segment, "segment", kin)


Timed: TypeAlias = Callable[[int, float, float, int, int, int, float, Words], float]
"""A score of (n, s, top, t, b, m, eta, choices)."""


def timed(given: Score, kin: str) -> Timed:
    """A score that is given its moment part by part."""
    score_of = use(given)

    def score(
        n: int, s: float, top: float, t: int, b: int, m: int, eta: float, choices: Words
    ) -> float:
        return score_of(n, s, Moment(t, b, m, top, eta, choices))

    return named(score, "score", kin)
