"""Duels: the evidence that decides them, and how much of a challenger may be in flight."""

from __future__ import annotations

import math

from handful.core.divergence import kl
from handful.core.flight import LATE, SHORTEST
from handful.policies.racing.record import (
    AGAIN,
    AHEAD,
    CLOCKED,
    FRESH,
    KNOWN,
    NO_DUEL,
    NO_RIVAL,
    PASS,
    UNKNOWN,
    RaceParameters,
    RaceState,
)
from handful.policies.racing.spending import MOST_EXPONENT, cost, most_cost

HALF = 0.5
"""Of what is known or left, how much may be in flight: see `limit`."""
QUARTER = 0.25
"""A loss waits while more of an arm's decisions are in flight, relative to its rewards."""
REMEMBERED = (AGAIN, KNOWN)
"""Duels of arms that have statistics already."""
SILENCE = 6.0
"""Windows, as decisions are waited for, after which an arm without any reward is given up."""
MOST_LIMIT = 65536
"""The most decisions of a challenger in flight, unless it has had more rewards."""


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


def begin_duel(
    state: RaceState, slot: int, kind: int, t0: float, why: int, p: RaceParameters
) -> None:
    """Begin the duel of an arm in memory, which came up for a reason."""
    constants = p.constants
    if kind == KNOWN:
        state.looks -= state.pulls[slot]
        state.looked -= state.sums[slot]
    later = why == PASS and state.volume > 0.0
    v = p.ratio * state.volume
    if later:
        length = min(t0, constants.longest * math.exp(min(v, MOST_EXPONENT)))
    elif why == CLOCKED:
        length = p.every / p.K
    else:
        tried = state.tried
        length = t0 / (tried if tried > 1 else 1) / (1.0 + state.delay / (p.M - 1.0))
    span = math.log(length if length > 2.0 else 2.0)
    c = constants.known if kind in REMEMBERED else constants.evidence
    state.level[slot] = c * (v if later else span)
    state.span[slot] = span
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
        if e <= theta or state.in_flight[slot] > QUARTER * n1:
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


def break_off(state: RaceState, slot: int) -> None:
    """End the duel of an arm, if one is on, without a verdict."""
    if state.duel[slot] >= FRESH:
        state.looks += state.pulls[slot]
        state.looked += state.sums[slot]
    state.duel[slot] = NO_DUEL


def is_silent(state: RaceState, slot: int, since: float) -> bool:
    """Return whether nothing has become known of an arm, or will, long after this decision."""
    if state.pulls[slot] > 0 or state.in_flight[slot] > 0:
        return False
    return bool(state.clock + 1 - since >= SILENCE * (SHORTEST + LATE * state.delay))


def give_up(state: RaceState, slot: int) -> None:
    """End the duel of an arm that never answers, after which any arm may take its slot."""
    break_off(state, slot)
    look_again(state)


def look_again(state: RaceState) -> None:
    """Forget what was worked out beforehand."""
    state.opens = 0.0
    state.rival = NO_RIVAL
    state.challenger = state.incumbent
