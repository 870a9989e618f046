"""What arms that come up may cost, when the next one is due, and the longest time without one."""

from __future__ import annotations

import math

from handful.policies.racing.record import AHEAD, FRESH, RaceParameters, RaceState
from handful.policies.schedule import FOREVER

MOST_EXPONENT = 600.0
"""Beyond this, e^V counts as infinite."""
QUIET = 4
"""Fewer pulls of the incumbent than this are not worth being foreseen."""


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
