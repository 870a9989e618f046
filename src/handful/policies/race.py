"""Racing: an incumbent that keeps its statistics, and challengers that lose or win soon.

Algorithm 1 discards statistics at every sub-phase and spends all of it on arms that are clearly
worse. Here one **incumbent** keeps its slot and its statistics, and arms come up one by one as
**challengers**. Any number of duels may be on at once, since rewards may be late. With n0 pulls of
mean m0 for the incumbent and n1, m1 for a challenger, p0 and p1 decisions of them in flight, t
decisions so far, i arms come up, and X what they have cost (the sum of m0 - reward over their
pulls, by the m0 of now):

    DUE     the next arm comes up if X <= sqrt(2.5 G ln(t+1)), G the sum of all rewards, and
              in the first pass (of endless arms: always)   X <= min(sqrt(t ln(t+1)), t (1 - m0))
              later                                         t >= K e^V
    DUEL    t0 = t + 1 when it begins, d the mean delay of rewards in decisions, and
              in the first pass   l = max(2, t0/i / (1 + d/(M-1))),   level = c ln l
              later               l = max(2, min(t0, 6 e^(R V))),     level = c R V
            with R = 1.2 + 0.05 log2(M/2) and c = 1/3; c = 0.7 for an arm known in memory
    WIN     m1 > m0, and n1 > n0 or n1 kl(m1, m0) > ln t0
    LOSE    m1 <= m0, and e = n1 kl(m1, m0) n0/(n0 + n1) > theta = level (1 - ln n1 / ln l), and at
            most half as many decisions in flight as rewards
    V       is set to max(1, ln((t + 2 d)/K)) when arm K + 1 comes up; V *= R^(1/K) for each arm
            that comes up, and V -= ln(q)/K for each duel that ends, where q is the mean of
            exp(max(0, theta) - e) over the losers of about the last K duels

kl is the divergence of Bernoulli distributions, a lower bound for other rewards in [0, 1]. One mean
is above another if it is larger by more than 1e-9: sums of equal rewards differ by rounding.

A decision pulls, in this order,

    1  the first challenger with n1 + p1 <= n0 + p0, if none of its decisions is in flight or fewer
       than the least number of failures that would make it lose (and more, see `limit`)
    2  the incumbent, if some challenger has had more pulls
    3  the next arm, if it is due and a slot is free or holds a loser; that of the lowest mean goes
    4  a loser whose mean exceeds the incumbent's: a duel with it begins
    5  a challenger that is ahead with n1 kl(m1, m0) > c ln t0, while the others are waited for
    6  the incumbent

**Watch.** A CUSUM test notices if the incumbent's mean has fallen to three quarters: its statistics
become those since the fall, other arms keep at most 20 pulls, the schedule begins again, and in the
first pass after that every arm comes up afresh.
**every = E**, for arms that may rise: one comes up at least every E/K decisions, afresh.

**Arms that come and go.** A new arm comes up as soon as a slot is free, and at the latest 100
decisions after the last arm that did, with the l and the level of the first pass. If the incumbent
is removed, the best of the others in memory follows it.

docs/mathematics.md says where each piece and constant comes from, and what is proven.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from handful.core.change import vacate
from handful.core.divergence import kl
from handful.core.shuffle import arm_at
from handful.core.state import (
    Count,
    Float,
    Floats,
    Int,
    Slot,
    Smalls,
    State,
    admit,
    slot_of,
)
from handful.errors import SettingError, StateError
from handful.policies.base import Policy
from handful.policies.definition import place_in_passes
from handful.policies.schedule import FOREVER
from handful.policies.settings import Setting
from handful.policies.unbounded import IMEDPolicy

AHEAD = 1e-9
"""One mean is above another by more than this; less is rounding."""
NO_DUEL, FIRST, AGAIN, FRESH, KNOWN = range(5)
"""Duels: none; of an arm that came up before any reward was known; of a loser that is ahead; of a
fresh arm that came up; of an arm in memory that came up. X is the cost of the last two."""
PASS, CLOCKED, NEW = range(3)
"""Why an arm comes up: in a pass; because of `every`; because it was added."""
HALF = 0.5
"""Of what is known or left, how much may be in flight: see `limit` and `judge`."""
ROUNDS = 2.0
"""Mean delays by which the second pass begins later: verdicts of the first are on their way."""
UNKNOWN = -1.0
"""In `limit`: not worked out since the last reward."""
MOST_EXPONENT = 600.0
"""Beyond this e^V is taken to be infinite."""
MOST_LIMIT = 65536
"""The most decisions of a challenger in flight, unless it has had more rewards."""
NO_RIVAL = -1.0
PATIENCE = 100
"""A new arm comes up at the latest so many decisions after the arm before it."""
QUIET = 4
"""Fewer pulls of the incumbent than this are not worth being foreseen."""
SELDOM = 8
"""`quiet` is worked out again every so many decisions."""


class Constants(NamedTuple):
    """The constants of Race. An ablation is a subclass: `constants = Constants(ratio=1.3)`."""

    ratio: float = 1.2
    """R with two arms in memory: the growth of V = ln(t/K) from one pass to the next."""
    ratio_by_memory: float = 0.05
    """How much larger R is each time that the memory doubles."""
    evidence: float = 1.0 / 3.0
    """c: the share of R V that a fresh arm is asked for in a pass."""
    known: float = 0.7
    """c for an arm whose statistics are in memory."""
    longest: float = 6.0
    """Times e^(R V): how long a tie may last in later passes."""
    budget: float = 2.5
    """Arms that come up may have cost sqrt(budget G ln t)."""
    fall: float = 0.75
    """Watch: the share of its mean to which the incumbent may have fallen."""
    base: float = 30.0
    """Watch: the sum of rewards that tells what the mean was."""
    alarm: float = 2.0
    """Watch: the CUSUM that gives the alarm, ..."""
    alarm_by_time: float = 1.5
    """... plus so many times ln t."""
    kept: float = 20.0
    """Watch: the most pulls that other arms keep after an alarm."""


class RaceParameters(NamedTuple):
    """Parameters of Race."""

    K: int
    M: int
    endless: bool
    watch: float
    every: float
    ratio: float
    """R."""
    constants: Constants


class RaceState(State):
    """The incumbent, the duels, and the schedule of the arms that come up."""

    incumbent: Slot
    challenger: Slot
    """The slot of the only duel; the incumbent if there is none or several, or new arms wait."""
    position: Int
    """The place of the next arm in the order of the arms."""
    tried: Int
    """i: how many arms have come up since the schedule began."""
    origin: Int
    """The decisions before the schedule began: 0 unless the watch gave an alarm."""
    came: Int
    """The last decision at which an arm came up."""
    opens: Float
    """Until so many decisions the incumbent is pulled for certain."""
    rival: Float
    """The highest mean of the losers in memory while no duel is on; else `NO_RIVAL`."""
    volume: Float
    """V; 0 in the first pass."""
    excess: Float
    """q."""
    looks: Float
    """Pulls of arms that came up, in duels that have ended; less those before duels that are on."""
    looked: Float
    """The sum of the rewards of these pulls."""
    gained: Float
    """G."""
    fallen: Float
    """Watch: the CUSUM, ..."""
    fallen_pulls: Float
    """... and the incumbent's pulls and ..."""
    fallen_sum: Float
    """... rewards since it was 0."""
    alarms: Count

    duel: Smalls
    """Which kind of duel the arm is in."""
    level: Floats
    span: Floats
    """ln l."""
    win: Floats
    """ln t0."""
    limit: Floats
    """How many decisions, rewarded or in flight, the arm may have had before its next reward."""


def has_won(n0: float, m0: float, n1: float, m1: float, win: float) -> bool:
    """Return whether a challenger that is ahead has won."""
    return n1 > n0 or n1 * kl(m1, m0) > win


def evidence(n0: float, m0: float, n1: float, m1: float) -> float:
    """Return e: the evidence that a challenger that is not ahead is worse."""
    return n1 * kl(m1, m0) * n0 / (n0 + n1)


def asked(n1: float, level: float, span: float) -> float:
    """Return theta: the evidence by which a challenger loses after so many pulls."""
    return level * (1.0 - math.log(n1) / span)


def would_lose(n0: float, s0: float, n1: float, s1: float, level: float, span: float) -> bool:
    """Return whether a challenger with such statistics has lost."""
    m0, m1 = s0 / n0, s1 / n1
    return m0 - m1 >= -AHEAD and evidence(n0, m0, n1, m1) > asked(n1, level, span)


def most_cost(t: float, gained: float, first: bool, p: RaceParameters) -> float:
    """Return sqrt(2.5 G ln(t+1)); in the first pass at most sqrt(t ln(t+1))."""
    room = p.constants.budget * gained
    if first and room > t:
        room = t
    return math.sqrt(room * math.log(t + 1.0))


def cost(state: RaceState, m0: float) -> float:
    """Return X: what arms that came up have cost, if the incumbent's mean is m0."""
    looks, looked = state.looks, state.looked
    for j in range(state.held):
        if state.duel[j] >= FRESH:
            looks += state.pulls[j]
            looked += state.sums[j]
    return looks * m0 - looked


def is_due(x: float, t: float, m0: float, state: RaceState, p: RaceParameters) -> bool:
    """Return whether the next arm is due at time t, at a cost X."""
    first = state.volume == 0.0
    if first:
        if x > t * (1.0 - m0):
            return False
    elif t < p.K * math.exp(min(state.volume, MOST_EXPONENT)):
        return False
    return x <= most_cost(t, state.gained, first, p)


def is_clocked(state: RaceState, p: RaceParameters) -> bool:
    """Return whether an arm comes up because of `every`."""
    return state.clock + 1 - state.came >= p.every / p.K


def begin_duel(
    state: RaceState, slot: int, kind: int, t0: float, why: int, p: RaceParameters
) -> None:
    """Begin the duel of an arm in memory, which came up for a reason."""
    c = p.constants.evidence if kind in (FIRST, FRESH) else p.constants.known
    if kind == KNOWN:
        state.looks -= state.pulls[slot]
        state.looked -= state.sums[slot]
    if why == CLOCKED:
        length = max(2.0, p.every / p.K)
        state.level[slot] = c * math.log(length)
    elif state.volume == 0.0 or why == NEW:
        share = 1.0 + state.delay / (p.M - 1.0)
        length = max(2.0, t0 / max(1.0, float(state.tried)) / share)
        state.level[slot] = c * math.log(length)
    else:
        v = p.ratio * state.volume
        length = max(2.0, min(t0, p.constants.longest * math.exp(min(v, MOST_EXPONENT))))
        state.level[slot] = c * v
    state.span[slot] = math.log(length)
    state.win[slot] = math.log(t0)
    state.duel[slot] = kind
    state.limit[slot] = UNKNOWN


def limit(state: RaceState, slot: int, p: RaceParameters) -> float:
    """Return how many decisions a challenger may have had, in all, before its next reward.

    As many as would make it lose if none of them succeeded; at least half as many as it has had;
    and in the first pass, where rewards are late, half of its share of what is left to spend.
    """
    inc = state.incumbent
    n0, s0 = float(state.pulls[inc]), state.sums[inc]
    n1, s1 = float(state.pulls[slot]), state.sums[slot]
    level, span = state.level[slot], state.span[slot]
    if n1 > 0.0 and would_lose(n0, s0, n1, s1, level, span):
        return n1
    high = 1.0
    while high < MOST_LIMIT and not would_lose(n0, s0, n1 + high, s1, level, span):
        high *= 2.0
    low = math.floor(high / 2.0)
    while high - low > 1.0:
        middle = math.floor((high + low) / 2.0)
        if would_lose(n0, s0, n1 + middle, s1, level, span):
            high = middle
        else:
            low = middle
    if state.volume == 0.0 and state.delay > 0.0:
        m0 = s0 / n0
        t = float(state.clock + 1 - state.origin)
        left = min(most_cost(t, state.gained, True, p), t * (1.0 - m0)) - cost(state, m0)
        high = max(high, HALF * left / (p.M - 1.0))
    return n1 + max(high, HALF * n1)


def wants(state: RaceState, slot: int, p: RaceParameters) -> bool:
    """Return whether the next pull of a duel is the challenger's."""
    inc = state.incumbent
    n1, flying = state.pulls[slot], state.in_flight[slot]
    if flying == 0:
        return n1 <= state.pulls[inc]
    if n1 + flying > state.pulls[inc] + state.in_flight[inc]:
        return False
    if state.limit[slot] < 0.0:
        state.limit[slot] = limit(state, slot, p)
    return n1 + flying < state.limit[slot]


def book(state: RaceState, p: RaceParameters) -> None:
    """Put the next pass off by as much as losers exceeded what was asked of them."""
    state.volume -= math.log(max(state.excess, 1e-9)) / p.K


def judge(state: RaceState, slot: int, p: RaceParameters) -> None:
    """End the duel of an arm if it is decided; a loss waits while much is in flight."""
    inc = state.incumbent
    state.limit[slot] = UNKNOWN
    kind = state.duel[slot]
    if kind == NO_DUEL or state.pulls[slot] == 0 or state.pulls[inc] == 0:
        return
    n0, s0 = float(state.pulls[inc]), state.sums[inc]
    n1, s1 = float(state.pulls[slot]), state.sums[slot]
    m0, m1 = s0 / n0, s1 / n1
    won = m0 - m1 < -AHEAD
    if won:
        if not has_won(n0, m0, n1, m1, state.win[slot]):
            return
        state.incumbent = slot
        state.fallen = state.fallen_pulls = state.fallen_sum = 0.0
    else:
        e = evidence(n0, m0, n1, m1)
        theta = asked(n1, state.level[slot], state.span[slot])
        if e <= theta or state.in_flight[slot] > HALF * n1:
            return
        if kind != AGAIN:
            recent = float(state.tried if state.tried < p.K else p.K)
            more = theta - e if theta > 0.0 else -e
            state.excess += (math.exp(more) - state.excess) / (recent if recent > 1.0 else 1.0)
    state.challenger = state.incumbent
    state.duel[slot] = NO_DUEL
    if kind >= FRESH:
        state.looks += n1
        state.looked += s1
    if kind != AGAIN and state.volume > 0.0:
        book(state, p)


def judge_all(state: RaceState, p: RaceParameters) -> None:
    """Judge all duels of which nothing is in flight."""
    for j in range(state.held):
        if state.duel[j] != NO_DUEL and state.in_flight[j] == 0:
            judge(state, j, p)


def next_arm(state: RaceState, p: RaceParameters) -> int:
    """Return the next arm in the order of the arms, new ones first, and count it."""
    state.tried += 1
    if state.news > 0:
        state.news -= 1
        return p.K - state.news - 1
    place = state.position % p.K
    state.position += 1
    return place if p.endless else arm_at(place, p.K, state.key)


def come_up(state: RaceState, target: int, kind: int, why: int, p: RaceParameters) -> int:
    """Let the next arm come up, in the slot `target` unless it is in memory; return its slot."""
    inc = state.incumbent
    t0 = float(max(1, state.clock + 1 - state.origin))
    arm = next_arm(state, p)
    if state.held > 0 and arm == state.arm[inc] and p.K > 1:
        arm = next_arm(state, p)
    state.came = state.clock + 1
    if state.volume == 0.0 and state.tried > p.K:
        state.volume = max(1.0, math.log((t0 - 1.0 + ROUNDS * state.delay) / p.K))
    slot = slot_of(state, arm)
    if slot < 0:
        slot = target
        admit(state, slot, arm)
        begin_duel(state, slot, kind, t0, why, p)
    elif slot != inc and state.duel[slot] == NO_DUEL:
        if why == CLOCKED or (state.volume == 0.0 and state.origin > 0):
            # What is known of it may be out of date.
            state.pulls[slot] = 0
            state.sums[slot] = 0.0
            begin_duel(state, slot, FRESH, t0, why, p)
        elif state.pulls[slot] > 0:
            begin_duel(state, slot, KNOWN, t0, why, p)
            judge(state, slot, p)
        elif state.volume > 0.0:
            book(state, p)
    if state.volume > 0.0 and why == PASS:
        state.volume *= math.pow(p.ratio, 1.0 / p.K)
    return slot


def spread_out(state: RaceState, p: RaceParameters) -> int:
    """Return the slot to pull while no reward of the incumbent is known: the least pulled."""
    if state.in_flight[state.incumbent] == 0:
        return state.incumbent
    if state.held < p.M and state.tried < p.K:
        return come_up(state, state.held, FIRST, PASS, p)
    fewest = state.incumbent
    for j in range(state.held):
        here = state.pulls[j] + state.in_flight[j]
        if here < state.pulls[fewest] + state.in_flight[fewest]:
            fewest = j
    return fewest


def decide(state: RaceState, p: RaceParameters) -> int:
    """Return the slot to pull, by the six steps of the definition."""
    inc = state.incumbent
    state.rival = NO_RIVAL
    if state.pulls[inc] == 0:
        return spread_out(state, p)
    pulls, sums, in_flight, duel = state.pulls, state.sums, state.in_flight, state.duel
    had = pulls[inc] + in_flight[inc]
    full = state.held == p.M
    chosen = best = -1
    target = -1 if full else state.held
    highest, lowest = -1.0, math.inf
    level_out = False
    duels = 0
    for j in range(state.held):
        if duel[j] != NO_DUEL:
            duels += 1
            state.challenger = j
            if chosen < 0:
                if pulls[j] + in_flight[j] > had:
                    level_out = True
                elif wants(state, j, p):
                    chosen = j
        elif j != inc:
            mean = sums[j] / pulls[j] if pulls[j] > 0 else -1.0
            if mean > highest:
                highest = mean
                best = j
            if full and mean < lowest:
                lowest = mean
                target = j
    if duels != 1 or state.news > 0:
        state.challenger = inc
    if state.news > 0 and state.clock + 1 - state.came >= PATIENCE:
        target = make_room(state, target)
        return come_up(state, target, FRESH, NEW, p)
    if chosen >= 0:
        return chosen
    if level_out:
        return inc
    tries = 0
    while target >= 0 and tries < 2 * p.M:
        inc = state.incumbent
        t = float(state.clock - state.origin)
        m0 = sums[inc] / pulls[inc]
        if state.news > 0:
            why = NEW
        elif is_due(
            cost(state, m0) if duels > 0 else state.looks * m0 - state.looked, t, m0, state, p
        ):
            why = PASS
        elif p.every > 0.0 and is_clocked(state, p):
            why = CLOCKED
        else:
            break
        slot = come_up(state, target, FRESH, why, p)
        tries += 1
        if slot == state.incumbent or duel[slot] != NO_DUEL:
            alone = duels == 0 and state.news == 0
            state.challenger = slot if alone else state.incumbent
            return slot
    inc = state.incumbent
    m0 = sums[inc] / pulls[inc]
    if best >= 0 and best != inc and duel[best] == NO_DUEL:
        if sums[best] / pulls[best] > m0 + AHEAD:
            t0 = float(max(1, state.clock + 1 - state.origin))
            begin_duel(state, best, AGAIN, t0, PASS, p)
            state.challenger = best if duels == 0 and state.news == 0 else inc
            duels += 1
            if wants(state, best, p):
                return best
    if duels == 0:
        state.rival = max(0.0, highest)
        state.opens = float(state.clock + quiet(state, p))
        return inc
    top, slot = m0, inc
    for j in range(state.held):
        if duel[j] != NO_DUEL and pulls[j] > 0:
            m1 = sums[j] / pulls[j]
            if m1 > top and pulls[j] * kl(m1, m0) > p.constants.evidence * state.win[j]:
                top, slot = m1, j
    return slot


def make_room(state: RaceState, target: int) -> int:
    """Return a slot for a new arm: `target` if there is one, else that of a duel, which ends."""
    if target >= 0:
        return target
    for j in range(state.held):
        if j != state.incumbent and (target < 0 or state.pulls[j] < state.pulls[target]):
            target = j
    break_off(state, target)
    return target


def break_off(state: RaceState, slot: int) -> None:
    """End the duel of an arm, if one is on, without a verdict."""
    if state.duel[slot] >= FRESH:
        state.looks += state.pulls[slot]
        state.looked += state.sums[slot]
    state.duel[slot] = NO_DUEL


def look_again(state: RaceState) -> None:
    """Forget what was worked out beforehand."""
    state.opens = 0.0
    state.rival = NO_RIVAL
    state.challenger = state.incumbent


def best_of_memory(state: RaceState, but: int) -> int:
    """Return the slot with the highest mean, leaving out `but`; arms with rewards come first."""
    best = -1
    highest = -1.0
    for j in range(state.held):
        mean = state.sums[j] / state.pulls[j] if state.pulls[j] > 0 else -0.5
        if j != but and mean > highest:
            highest = mean
            best = j
    return best


def quiet(state: RaceState, p: RaceParameters) -> int:
    """Return how many pulls of the incumbent follow for certain, if no duel is on."""
    inc = state.incumbent
    n, s = float(state.pulls[inc]), state.sums[inc]
    late = state.in_flight[inc] + state.missing[inc]
    most = float(FOREVER)
    if state.rival > 0.0:
        # Until then no loser is ahead, even if every pull fails.
        rewarded = math.floor(s / (state.rival + AHEAD) * (1.0 - 1e-12) - n)
        most = rewarded - 1.0 - late
    if p.every > 0.0:
        most = min(most, math.ceil(p.every / p.K) - 2.0 - (state.clock - state.came))
    t = float(state.clock - state.origin)
    if state.volume > 0.0:
        opens = p.K * math.exp(min(state.volume, MOST_EXPONENT))
        if t + most < opens:
            return int(max(0.0, most))
        if t < opens - 1.0:
            return int(max(0.0, math.floor(opens - t) - 1.0))
    # Until then no arm is due: in w pulls X falls by at most w looks m0/n, and the most cost grows
    # at most by the factor e^(a w) < 1 + 1.2 a w with a w < 1/4, as ln(G + w) <= ln G + w/G.
    m0 = s / n
    most_now = most_cost(t, state.gained, state.volume == 0.0, p)
    slack = state.looks * m0 - state.looked - most_now
    if slack <= 0.0 or state.gained <= 0.0:
        return 0
    a = 0.5 / state.gained + 0.5 / ((t + 1.0) * math.log(t + 1.0))
    w = slack / (state.looks * m0 / n + 1.2 * a * most_now)
    w = min(w, 0.25 / a, most)
    w = math.floor(w * (1.0 - 1e-9)) - late
    return int(w) if w >= QUIET else 0


def watch(state: RaceState, reward: float, p: RaceParameters) -> None:
    """Look whether the incumbent's mean has fallen, and if so begin the schedule again."""
    inc = state.incumbent
    c = p.constants
    before = state.sums[inc] - state.fallen_sum
    if before < c.base:
        return
    n = state.pulls[inc] - state.fallen_pulls
    m = before / n
    if m >= 1.0:
        m = 1.0 - 0.5 / n
    rise = reward * math.log(c.fall)
    if reward < 1.0:
        rise += (1.0 - reward) * math.log((1.0 - m * c.fall) / (1.0 - m))
    fallen = state.fallen + rise
    if fallen <= 0.0:
        state.fallen = state.fallen_pulls = state.fallen_sum = 0.0
        return
    state.fallen = fallen
    state.fallen_pulls += 1.0
    state.fallen_sum += reward
    if fallen > c.alarm and fallen > c.alarm + c.alarm_by_time * math.log(
        max(2.0, float(state.clock))
    ):
        begin_again(state, p)


def begin_again(state: RaceState, p: RaceParameters) -> None:
    """Take the incumbent's statistics since its fall for all of them, and begin the schedule."""
    inc = state.incumbent
    state.pulls[inc] = int(state.fallen_pulls)
    state.sums[inc] = state.fallen_sum
    state.fallen = state.fallen_pulls = state.fallen_sum = 0.0
    state.looks = state.looked = state.gained = 0.0
    state.tried = 0
    state.alarms += 1
    state.origin = state.clock - 1
    state.volume = 0.0
    state.excess = 1.0
    state.opens = 0.0
    state.rival = NO_RIVAL
    kept = p.constants.kept
    for j in range(state.held):
        if j != inc and state.pulls[j] > kept:
            state.sums[j] = min(kept, kept * state.sums[j] / state.pulls[j])
            state.pulls[j] = int(kept)
        if state.duel[j] >= FRESH:
            state.looks -= state.pulls[j]
            state.looked -= state.sums[j]


class Race(Policy):
    """Racing: an incumbent that keeps its statistics, and challengers that lose or win soon.

    >>> policy = Race(arms=["red", "green", "blue"], memory=2, seed=1)
    >>> for _ in range(100):
    ...     arm = policy.select()
    ...     policy.update(arm, 1.0 if arm == "blue" else 0.0)
    >>> policy.recommend()
    'blue'
    """

    name = "race"
    title = "Race"
    summary = "an incumbent and challengers, each duel ended as soon as it is decided"
    citation = "handful's own: docs/mathematics.md, Racing"
    any_arms = True
    news_first = True
    settings: ClassVar[Mapping[str, Setting]] = {
        "watch": Setting(
            1.0,
            "1: notice if the incumbent's mean falls; 0: rewards are stationary",
            lambda x: x in (0.0, 1.0),
            "0 or 1",
            flag=True,
        ),
        "every": Setting(
            0.0,
            "E: every arm comes up again within E decisions, since it may have risen; 0: no",
            lambda x: x == 0.0 or x >= 1.0,
            "0, or at least 1 decision",
        ),
    }
    constants = Constants()
    State = RaceState
    Parameters = RaceParameters

    @classmethod
    def parameters(
        cls, n_arms: int, memory: int, endless: bool, values: dict[str, float]
    ) -> RaceParameters:
        """Return the parameters, with the constants of the class."""
        c = cls.constants
        if endless and values["every"] > 0.0:
            raise SettingError(
                f"every={values['every']:g}: endless arms do not come up again: leave every out"
            )
        ratio = c.ratio + c.ratio_by_memory * math.log2(memory / 2.0)
        return RaceParameters(n_arms, memory, endless, values["watch"], values["every"], ratio, c)

    @classmethod
    def stands_for(cls, memory: int, n_arms: int) -> type[Policy]:
        """Return IMED where there is room for all arms, unless a subclass has its own functions."""
        functions = ("start", "propose", "observe")
        ours = all(getattr(cls, name) is getattr(Race, name) for name in functions)
        return IMEDPolicy if memory >= n_arms and ours else cls

    @staticmethod
    def start(state: RaceState, p: RaceParameters) -> None:
        """Make the first arm the incumbent."""
        state.excess = 1.0
        state.rival = NO_RIVAL
        come_up(state, 0, FIRST, PASS, p)
        state.duel[0] = NO_DUEL

    @staticmethod
    def propose(state: RaceState, p: RaceParameters) -> int:
        """Return the slot to pull next; let arms come and go."""
        inc = state.incumbent
        if state.clock < state.opens:
            return inc
        j = state.challenger
        if j != inc:
            if state.in_flight[j] == 0 and state.in_flight[inc] == 0:
                return j if state.pulls[j] <= state.pulls[inc] else inc
        elif state.rival >= 0.0:
            m0 = state.sums[inc] / state.pulls[inc]
            x = state.looks * m0 - state.looked
            t = float(state.clock - state.origin)
            if (
                m0 + AHEAD >= state.rival
                and not is_due(x, t, m0, state, p)
                and not (p.every > 0.0 and is_clocked(state, p))
            ):
                if state.clock % SELDOM == 0:
                    state.opens = float(state.clock + quiet(state, p))
                return inc
        return decide(state, p)

    @staticmethod
    def observe(state: RaceState, slot: int, reward: float, p: RaceParameters) -> None:
        """Count a reward and judge the duels that it matters to."""
        pulls, sums = state.pulls, state.sums
        n1 = pulls[slot] + 1
        s1 = sums[slot] + reward
        pulls[slot] = n1
        sums[slot] = s1
        state.gained += reward
        inc = state.incumbent
        if slot == inc:
            # A success is no sign of a fall while there is no other.
            if p.watch and (reward < 1.0 or state.fallen > 0.0):
                watch(state, reward, p)
            if state.clock < state.opens:
                return
            j = state.challenger
            if j != inc:
                if state.in_flight[j] == 0:
                    judge(state, j, p)
            elif state.rival < 0.0:
                judge_all(state, p)
            return
        if slot == state.challenger:
            # Mostly the duel goes on, as kl(m1, m0) <= (m0 - m1)^2 / (m0 (1 - m0)) shows.
            n0 = pulls[inc]
            m0 = sums[inc] / n0
            apart = m0 - s1 / n1
            most, spread = n1 * apart * apart, m0 * (1.0 - m0)
            if apart < -AHEAD:
                if n1 <= n0 and most < state.win[slot] * spread:
                    state.limit[slot] = UNKNOWN
                    return
            elif most * n0 / (n0 + n1) < spread * state.level[slot] * (
                1.0 - math.log(n1) / state.span[slot]
            ):
                state.limit[slot] = UNKNOWN
                return
        else:
            state.opens = 0.0
            state.rival = NO_RIVAL
            if pulls[inc] == 0:
                # The first arm with a reward becomes the incumbent.
                t0 = float(max(1, state.clock - state.origin))
                begin_duel(state, inc, FIRST, t0, PASS, p)
                state.duel[slot] = NO_DUEL
                state.incumbent = state.challenger = slot
                return
        judge(state, slot, p)

    @staticmethod
    def waited(state: RaceState, p: RaceParameters) -> None:
        """Judge the duels: some waited for what is written off."""
        for j in range(state.held):
            if state.duel[j] != NO_DUEL:
                judge(state, j, p)

    @staticmethod
    def resized(state: RaceState, before: int, p: RaceParameters) -> bool:
        """Keep the number of the pass and the place in it; new arms are the next to come up."""
        passes, place = divmod(state.position, before)
        state.position = passes * p.K + min(place, p.K)
        look_again(state)
        return True

    @staticmethod
    def withdraw(state: RaceState, slot: int, p: RaceParameters) -> bool:
        """Let the arm leave; the best of the others follows an incumbent."""
        break_off(state, slot)
        if slot == state.incumbent:
            best = best_of_memory(state, slot)
            if best < 0:
                return False
            break_off(state, best)
            state.incumbent = best
            state.fallen = state.fallen_pulls = state.fallen_sum = 0.0
        look_again(state)
        vacate(state, slot)
        return True

    @staticmethod
    def adopt(state: RaceState, before: int, p: RaceParameters) -> bool:
        """Begin the first pass with the best of the arms in memory as the incumbent."""
        state.incumbent = best_of_memory(state, -1)
        state.tried = state.held
        state.excess = 1.0
        state.gained = sum(state.sums[: state.held])
        state.came = state.clock
        look_again(state)
        return True

    @staticmethod
    def admit_guest(state: RaceState, arm: int, p: RaceParameters) -> int:
        """Give the arm a free slot or that of the lowest loser, and let it challenge; else -1.

        Of endless arms, those in memory have come up in their order, so a guest does not join them.
        """
        if p.endless or state.pulls[state.incumbent] == 0:
            return -1
        slot = -1
        if state.held < p.M:
            slot = state.held
        else:
            for j in range(state.held):
                if j != state.incumbent and state.duel[j] == NO_DUEL:
                    if slot < 0 or state.sums[j] * state.pulls[slot] < (
                        state.sums[slot] * state.pulls[j]
                    ):
                        slot = j
        if slot >= 0:
            admit(state, slot, arm)
            t0 = float(max(1, state.clock + 1 - state.origin))
            begin_duel(state, slot, FRESH, t0, NEW, p)
            look_again(state)
        return slot

    @staticmethod
    def news_within(state: RaceState, p: RaceParameters) -> int | None:
        """Return `PATIENCE` decisions for each new arm."""
        return PATIENCE * state.news + 1 if state.news else 0

    @staticmethod
    def calm(state: RaceState, slot: int, p: RaceParameters) -> tuple[int, int]:
        """Return for how many pulls it is certain that no arm comes up and no loser is ahead.

        The watch looks at every failure, and at no success while it suspects nothing.
        """
        if slot != state.incumbent or state.clock >= state.opens:
            return 0, 0
        left = int(min(state.opens - state.clock, float(FOREVER)))
        if not p.watch:
            return left, left
        return 0, left if state.fallen == 0.0 else 0

    @staticmethod
    def absorb(state: RaceState, slot: int, pulls: int, wins: int, p: RaceParameters) -> None:
        """Count the rewards of skipped pulls."""
        state.gained += wins

    @staticmethod
    def recommend_arm(state: RaceState, p: RaceParameters) -> int:
        """Return the incumbent."""
        return state.arm[state.incumbent]

    @staticmethod
    def place(state: RaceState, p: RaceParameters) -> str:
        """Return how many arms have come up, or where in which pass over them."""
        return place_in_passes(state.position, p.K, p.endless)

    @staticmethod
    def check(state: RaceState, p: RaceParameters) -> None:
        """Refuse a schedule or a duel that cannot be."""
        inc = state.incumbent
        if max(inc, state.challenger) >= state.held or state.duel[inc] != NO_DUEL:
            raise StateError("the saved duel is of an arm that is not in memory")
        check_schedule(state, p)
        on = [slot for slot in range(state.held) if state.duel[slot] != NO_DUEL]
        alone = state.challenger != inc and on != [state.challenger]
        if alone or (state.rival >= 0.0 and (on or state.pulls[inc] == 0)):
            raise StateError("the saved policy names one duel, and its slots have others")
        if state.pulls[inc] == 0 and (state.challenger != inc or sum(state.pulls) > 0):
            raise StateError("the saved incumbent has no rewards")
        for slot in on:
            level, span, win = state.level[slot], state.span[slot], state.win[slot]
            possible = 0.0 <= level < MOST_LEVEL and 0.5 < span < MOST_LEVEL and win >= 0.0
            if not possible or not NO_DUEL < state.duel[slot] <= KNOWN:
                raise StateError(f"the saved duel of slot {slot} cannot be")


MOST_LEVEL = 1e6
"""No record has a larger level or V."""
MOST_TRIED = 2**60
"""No record has counted more arms."""


def check_schedule(state: RaceState, p: RaceParameters) -> None:
    """Refuse counters that no schedule could have left behind."""
    if not 0 <= state.tried <= MOST_TRIED or not 0 <= state.position <= MOST_TRIED:
        raise StateError(f"the saved policy cannot have tried {state.position} arms yet")
    # Of a finite set, arms in memory may have been removed, and new ones have come up.
    if state.held > p.K or (p.endless and state.held != min(p.M, state.position)):
        raise StateError("the saved memory does not hold the arms that have come up")
    if p.endless and max(state.arm) >= state.position:
        raise StateError("the saved policy has an arm in memory that has not come up")
    fall = state.fallen_pulls
    counted = (
        0 <= state.origin <= state.clock
        and 0 <= state.came <= state.clock + 1
        and 0 <= state.alarms <= state.clock
        and 0.0 <= state.volume < MOST_LEVEL
        and 0.0 <= state.excess <= 1.0
        and max(abs(state.looks), abs(state.looked)) <= state.clock
        and 0.0 <= state.gained <= state.rewards
        and 0.0 <= state.fallen < math.inf
        and 0.0 <= state.fallen_sum <= fall <= state.pulls[state.incumbent]
        and fall == int(fall)
    )
    if not counted or not state.opens < math.inf:
        raise StateError("the saved policy has counted what cannot be")
