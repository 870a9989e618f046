"""Algorithm 1 as a kernel: whole runs, the schedule and the rule compiled from their own sources.

A run walks `policies.schedule`; a sub-phase is cut into segments that end at the times of the grid;
a segment is a loop over pulls. `_segment_of_bonus` serves rules of the form mean + growth width,
both factors tabulated as they are needed (an entry is the rule's own value, so no bit of a score
changes); `_segment_of_index` serves any rule by calling its score, `_segment_of_draws` those that
pick the highest of random draws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from handful import rng, shuffle
from handful.instances import laws
from handful.policies import schedule as phases
from handful.rules import BonusRule, DrawRule, IndexRule, LeaderRule, Rule, recommend
from handful.rules.base import LeaderScore
from handful.simulation.kernels.exact import plus_all
from handful.simulation.kernels.jit import family, kernel, named, use
from handful.simulation.kernels.world import (
    Batch,
    Floats,
    Ints,
    Words,
    World,
    as_int,
    as_word,
    grid_of,
    mean_in,
    reward,
    tape_uniform,
)

for _function in (
    phases.schedule,
    phases.sub_phases,
    phases.challenger,
    phases.rounds,
    phases.round_key,
    recommend.most_played,
):
    use(_function)

CHUNK = 2**22
"""Pulls times arms between two looks at whether to stop."""
TABLE = 2**20
"""Entries of a table; what lies beyond is computed when needed."""


def tables() -> tuple[Floats, Floats, Ints]:
    """Scratch for one thread: growth by t, width by n, and how far each is filled."""
    return np.empty(TABLE + 1), np.empty(TABLE + 1), np.zeros(4, dtype=np.int64)


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


use(slots)


@cache
def phased_kernel(rule: Rule) -> Callable[..., None]:
    """The kernel of run r of Algorithm 1 with this rule; a horizon of 0 is one not told."""
    if isinstance(rule, BonusRule):
        kin = family("phased", rule.name, rule.growth, rule.width, rule.width_uses_budget)
        segment = _segment_of_bonus(rule, kin)
    elif isinstance(rule, DrawRule):
        kin = family("phased_draws", rule.name, rule.prepare, rule.pick, rule.credit)
        segment = _segment_of_draws(rule, kin)
    else:
        kind = "phased_leader" if isinstance(rule, LeaderRule) else "phased"
        kin = family(kind, rule.name, rule.score, rule.credit, rule.tries_each_first)
        segment = _segment_of_index(rule, kin)

    def run(
        r: int,
        M: int,
        eta: float,
        horizon: int,
        B: float,
        alpha: float,
        world: World,
        batch: Batch,
        growths: Floats,
        widths: Floats,
        marks: Ints,
    ) -> None:
        K = world.n_arms
        T = batch.grid[-1]
        room = slots(K, M, B, alpha, T)
        arms = np.zeros(room, dtype=np.int64)
        mus = np.zeros(room)
        centres = np.zeros(room)
        gaps = np.zeros(room)
        n: Ints = np.zeros(room, dtype=np.int64)
        s = np.zeros(room)
        hat = np.zeros(room)
        wide = np.zeros(room)
        state = np.zeros(2, dtype=np.uint64)
        choices = batch.choices[r]
        state[:] = batch.rewards[r]
        tape = batch.tape[r]
        high = 0.0
        low = 0.0
        t = 0
        g = 0
        stay = 0
        for lap in phases.rounds(K, B, alpha, 1):
            lap_end = min(T, t + lap.pulls)
            key = phases.round_key(batch.order[r], as_word(lap.r))
            k, rows, columns, rounds = grid_of(lap.arms)
            start = as_int(0)
            incumbent = as_int(shuffle.forward(as_word(0), k, rows, columns, rounds, key))
            for now in phases.schedule(lap.arms, M, 1, 1):
                if now.j == 1 and now.w > 1:
                    start = as_int(
                        shuffle.backward(as_word(incumbent), k, rows, columns, rounds, key)
                    )
                m = now.hi - now.lo + 1
                for i in range(m):
                    arm = incumbent
                    if i > 0:
                        position = phases.challenger(now.lo + i - 1, start)
                        arm = as_int(
                            shuffle.forward(as_word(position), k, rows, columns, rounds, key)
                        )
                    arms[i] = arm
                    mus[i] = mean_in(world, arm, batch.arms[r])
                    centres[i] = laws.centre_of(world.law, mus[i], world.spread)
                    gaps[i] = world.best_mean - mus[i]
                    n[i] = 0
                    s[i] = 0.0
                b = now.b
                if b == phases.ENDLESS:
                    b = lap.pulls if lap.pulls < phases.ENDLESS else horizon
                began = t
                end = min(lap_end, t + now.b)
                while t < end:
                    until = min(end, batch.grid[g], t + max(1, CHUNK // m))
                    segment(
                        until - t, t - began, t, m, b, eta, n, s, hat, wide, arms, mus, centres,
                        choices, state, world.law, world.spread, batch.on_tape, tape,
                        growths, widths, marks,
                    )  # fmt: skip
                    batch.progress[0] += until - t
                    t = until
                    if t == batch.grid[g]:
                        batch.regret[r, g] = plus_all(high, low, n, gaps, m)[0]
                        g += 1
                    if batch.stop[0] != 0:
                        return
                high, low = plus_all(high, low, n, gaps, m)
                if batch.pulls.shape[1] > 0:
                    for i in range(m):
                        batch.pulls[r, arms[i]] += n[i]
                incumbent = arms[recommend.most_played(n[:m])]
                if batch.stay_start.shape[1] > 0:
                    batch.stay_start[r, stay] = began
                    batch.stay_recommended[r, stay] = incumbent
                    batch.stay_arms[r, stay, :m] = arms[:m]
                    batch.stay_pulls[r, stay, :m] = n[:m]
                    stay += 1
                if t >= lap_end:
                    break
            if t >= T:
                break

    return kernel(run, kin)


def _segment_of_bonus(rule: BonusRule, kin: str) -> Callable[..., None]:
    growth = use(rule.growth)
    width = use(rule.width)
    uses_budget = rule.width_uses_budget
    pair = _bernoulli_pair(rule, kin)

    def segment(
        length: int, t: int, clock: int, m: int, b: int, eta: float,
        n: Ints, s: Floats, hat: Floats, wide: Floats,
        arms: Ints, mus: Floats, centres: Floats,
        choices: Words, state: Words, law: int, spread: float, on_tape: bool, tape: int,
        growths: Floats, widths: Floats, marks: Ints,
    ) -> None:  # fmt: skip
        filled = marks[0]
        for u in range(filled + 1, min(t + length, TABLE) + 1):
            growths[u] = growth(u, eta)
            marks[0] = u
        if uses_budget and (marks[2] != b or marks[3] != m):
            marks[1] = 0
            marks[2] = b
            marks[3] = m
        known = marks[1]
        until = t + length
        while t < until:
            if t >= m and m == 2 and law == laws.BERNOULLI:
                known = pair(
                    until, t, clock, b, eta, n, s, hat, wide, arms, mus,
                    state, on_tape, tape, growths, widths, known,
                )  # fmt: skip
                break
            best = t
            if t >= m:
                g = growths[t] if t <= TABLE else growth(t, eta)
                best = 0
                best_score = hat[0] + g * wide[0]
                for i in range(1, m):
                    score = hat[i] + g * wide[i]
                    if score > best_score:
                        best_score = score
                        best = i
            x = reward(
                law, arms[best], mus[best], centres[best], spread, on_tape, tape, clock, state
            )
            n[best] += 1
            s[best] += x
            c = n[best]
            hat[best] = s[best] / c
            if c <= TABLE:
                while known < c:
                    known += 1
                    widths[known] = width(known, b, m)
                wide[best] = widths[c]
            else:
                wide[best] = width(c, b, m)
            t += 1
            clock += 1
        marks[1] = known

    return named(segment, "segment", kin)


def _bernoulli_pair(rule: BonusRule, kin: str) -> Callable[..., int]:
    """The same loop for two arms and Bernoulli rewards, all in registers.

    The branch on the better arm lets the processor run ahead on its guess of the choice; with the
    statistics in arrays every pull would wait for the division of the one before (8x slower).
    """
    growth = use(rule.growth)
    width = use(rule.width)

    def pair(
        until: int, t: int, clock: int, b: int, eta: float,
        n: Ints, s: Floats, hat: Floats, wide: Floats, arms: Ints, mus: Floats,
        state: Words, on_tape: bool, tape: int, growths: Floats, widths: Floats, known: int,
    ) -> int:  # fmt: skip
        position = state[0]
        step = state[1]
        n0, n1 = n[0], n[1]
        s0, s1 = s[0], s[1]
        hat0, hat1 = hat[0], hat[1]
        wide0, wide1 = wide[0], wide[1]
        mu0, mu1 = mus[0], mus[1]
        arm0, arm1 = arms[0], arms[1]
        while t < until:
            g = growths[t] if t <= TABLE else growth(t, eta)
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
                if n1 <= TABLE:
                    if n1 > known:
                        known = n1
                        widths[n1] = width(n1, b, 2)
                    wide1 = widths[n1]
                else:
                    wide1 = width(n1, b, 2)
            else:
                if on_tape:
                    u = tape_uniform(tape, clock, arm0)
                if u < mu0:
                    s0 += 1.0
                n0 += 1
                hat0 = s0 / n0
                if n0 <= TABLE:
                    if n0 > known:
                        known = n0
                        widths[n0] = width(n0, b, 2)
                    wide0 = widths[n0]
                else:
                    wide0 = width(n0, b, 2)
            t += 1
            clock += 1
        state[0] = position
        n[0], n[1] = n0, n1
        s[0], s[1] = s0, s1
        hat[0], hat[1] = hat0, hat1
        wide[0], wide[1] = wide0, wide1
        return known

    return named(pair, "pair", kin)


def _segment_of_index(rule: IndexRule | LeaderRule, kin: str) -> Callable[..., None]:
    credit = use(rule.credit)
    tries_each_first = rule.tries_each_first
    score_of = use(rule.score) if isinstance(rule, LeaderRule) else _without_top(rule, kin)

    def segment(
        length: int, t: int, clock: int, m: int, b: int, eta: float,
        n: Ints, s: Floats, hat: Floats, wide: Floats,
        arms: Ints, mus: Floats, centres: Floats,
        choices: Words, state: Words, law: int, spread: float, on_tape: bool, tape: int,
        growths: Floats, widths: Floats, marks: Ints,
    ) -> None:  # fmt: skip
        for _ in range(length):
            best = t
            if t >= m or not tries_each_first:
                budget = b if b > 0 else max(1, t)
                top = hat[0]
                for i in range(1, m):
                    top = max(top, hat[i])
                best = 0
                best_score = score_of(n[0], s[0], top, t, budget, m, eta, choices)
                for i in range(1, m):
                    score = score_of(n[i], s[i], top, t, budget, m, eta, choices)
                    if score > best_score:
                        best_score = score
                        best = i
            x = reward(
                law, arms[best], mus[best], centres[best], spread, on_tape, tape, clock, state
            )
            n[best] += 1
            s[best] += credit(x, choices)
            hat[best] = s[best] / n[best]
            t += 1
            clock += 1

    return named(segment, "segment", kin)


def _segment_of_draws(rule: DrawRule, kin: str) -> Callable[..., None]:
    prepare = use(rule.prepare)
    pick = use(rule.pick)
    credit = use(rule.credit)

    def segment(
        length: int, t: int, clock: int, m: int, b: int, eta: float,
        n: Ints, s: Floats, hat: Floats, wide: Floats,
        arms: Ints, mus: Floats, centres: Floats,
        choices: Words, state: Words, law: int, spread: float, on_tape: bool, tape: int,
        growths: Floats, widths: Floats, marks: Ints,
    ) -> None:  # fmt: skip
        leader, q, none = prepare(n, s, m, hat, wide, -1, 0, 0.0, 0.0)
        for _ in range(length):
            best = pick(n, s, m, wide, leader, q, none, choices)
            x = reward(
                law, arms[best], mus[best], centres[best], spread, on_tape, tape, clock, state
            )
            n[best] += 1
            s[best] += credit(x, choices)
            leader, q, none = prepare(n, s, m, hat, wide, best, leader, q, none)
            clock += 1

    return named(segment, "segment", kin)


def _without_top(rule: IndexRule, kin: str) -> LeaderScore:
    """An index rule's score in the form of a leader rule's: it does not look at the top."""
    score_of = use(rule.score)

    def score(
        n: int, s: float, top: float, t: int, b: int, m: int, eta: float, rng: Words
    ) -> float:
        return score_of(n, s, t, b, m, eta, rng)

    return named(score, "score", kin)
