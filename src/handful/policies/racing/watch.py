"""The watch: a CUSUM test whether the incumbent's mean has fallen, and a new beginning if so."""

from __future__ import annotations

import math

from handful.policies.racing.record import FRESH, NO_RIVAL, RaceParameters, RaceState


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
