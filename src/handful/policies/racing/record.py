"""The constants, the parameters and the record of Race."""

from __future__ import annotations

import math
from typing import NamedTuple

from handful.core.state import Count, Float, Floats, Int, Slot, Smalls, State
from handful.errors import StateError

AHEAD = 1e-9
"""One mean is above another by more than this; less is rounding."""
NO_DUEL, FIRST, AGAIN, FRESH, KNOWN = range(5)
"""Duels: none; of an arm that came up before any reward was known; of a loser that is ahead; of a
fresh arm that came up; of an arm in memory that came up. X is the cost of the last two."""
PASS, CLOCKED, NEW = range(3)
"""Why an arm comes up: in a pass; because of `every`; because it was added."""
UNKNOWN = -1.0
"""In `limit`: not worked out since the last reward."""
NO_RIVAL = -1.0
MOST_LEVEL = 1e6
"""No record has a larger level or V."""
MOST_TRIED = 2**60
"""No record has counted more arms."""


class Constants(NamedTuple):
    """The constants of Race. An ablation is a subclass: `constants = Constants(ratio=1.3)`."""

    ratio: float = 1.2
    """R with two arms in memory: the growth of V = ln(t/K) from one pass to the next."""
    ratio_by_memory: float = 0.05
    """How much larger R is each time that the memory doubles."""
    evidence: float = 1.0 / 3.0
    """c: the share of R V that a fresh arm is asked for in a pass."""
    known: float = 0.5
    """c for an arm whose statistics are in memory."""
    longest: float = 5.0
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
    """While no duel is on, the highest mean of the losers in memory, 0 where they do not challenge
    again; else `NO_RIVAL`."""
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


def check_record(state: RaceState, p: RaceParameters) -> None:
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
        raise StateError("the saved policy has impossible counters")
