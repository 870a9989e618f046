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
              later               l = max(2, min(t0, 5 e^(R V))),     level = c R V
            with R = 1.2 + 0.05 log2(M/2) and c = 1/3; c = 0.5 for an arm known in memory
    WIN     m1 > m0, and n1 > n0 or n1 kl(m1, m0) > ln t0
    LOSE    m1 <= m0, and e = n1 kl(m1, m0) n0/(n0 + n1) > theta = level (1 - ln n1 / ln l), and at
            most a quarter as many decisions in flight as rewards
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
    4  a loser whose mean exceeds the incumbent's: a duel with it begins; not in the very first
       pass over a finite set
    5  a challenger that is ahead with n1 kl(m1, m0) > c ln t0, while the others are waited for
    6  the incumbent

**Watch.** A CUSUM test notices if the incumbent's mean has fallen to three quarters: its statistics
become those since the fall, other arms keep at most 20 pulls, the schedule begins again, and in the
first pass after that every arm comes up afresh.
**every = E**, for arms that may rise: one comes up at least every E/K decisions, afresh.

**Arms that never answer.** An arm of which no reward is known and none is in flight is given up if
neither it nor another arm came up in the last 6 (16 + 1.5 d) decisions. While there is no reward
at all, the next arm comes up then.

**Arms that come and go.** A new arm comes up as soon as a slot is free, and at the latest 100
decisions after the last arm that did, with the l and the level of the first pass. If the incumbent
is removed, the best of the others in memory follows it.

docs/mathematics.md says where each piece and constant comes from, and what is proven. The parts are
in `handful.policies.racing`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from handful.core.divergence import kl
from handful.core.shuffle import arm_at
from handful.core.slots import admit, slot_of
from handful.errors import SettingError
from handful.policies.base import Policy
from handful.policies.definition import place_in_passes
from handful.policies.racing.changes import PATIENCE, ComingAndGoing, make_room
from handful.policies.racing.duels import (
    begin_duel,
    book,
    give_up,
    is_silent,
    judge,
    judge_all,
    wants,
)
from handful.policies.racing.record import (
    AGAIN,
    AHEAD,
    CLOCKED,
    FIRST,
    FRESH,
    KNOWN,
    NEW,
    NO_DUEL,
    NO_RIVAL,
    PASS,
    UNKNOWN,
    Constants,
    RaceParameters,
    RaceState,
    check_record,
)
from handful.policies.racing.spending import cost, is_clocked, is_due, quiet
from handful.policies.racing.watch import watch
from handful.policies.schedule import FOREVER
from handful.policies.settings import Setting
from handful.policies.unbounded import IMEDPolicy

ROUNDS = 2.0
"""Mean delays by which the second pass begins later: verdicts of the first are on their way."""
SELDOM = 8
"""`quiet` is worked out again every so many decisions."""


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
    """Return the slot to pull while no reward is known: the least pulled that is not silent."""
    inc = state.incumbent
    if state.in_flight[inc] == 0 and not is_silent(state, inc, state.born[inc]):
        return inc
    if state.held < p.M and state.tried < p.K:
        return come_up(state, state.held, FIRST, PASS, p)
    fewest = silent = -1
    for j in range(state.held):
        if is_silent(state, j, state.born[j]):
            if j != inc:
                silent = j
        elif fewest < 0 or state.in_flight[j] < state.in_flight[fewest]:
            fewest = j
    if fewest < 0:
        return come_up(state, silent if silent >= 0 else state.held, FIRST, PASS, p)
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
            n = pulls[j]
            mean = sums[j] / n if n > 0 else -1.0
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
    rematches = p.endless or state.volume > 0.0 or state.origin > 0
    if rematches and best >= 0 and best != inc and duel[best] == NO_DUEL:
        if sums[best] / pulls[best] > m0 + AHEAD:
            t0 = float(max(1, state.clock + 1 - state.origin))
            begin_duel(state, best, AGAIN, t0, PASS, p)
            state.challenger = best if duels == 0 and state.news == 0 else inc
            duels += 1
            if wants(state, best, p):
                return best
    if duels == 0:
        state.rival = max(0.0, highest) if rematches else 0.0
        state.opens = float(state.clock + quiet(state, p))
        return inc
    top, slot = m0, inc
    for j in range(state.held):
        if duel[j] != NO_DUEL and pulls[j] > 0:
            m1 = sums[j] / pulls[j]
            if m1 > top and pulls[j] * kl(m1, m0) > p.constants.evidence * state.win[j]:
                top, slot = m1, j
    return slot


class Race(ComingAndGoing):
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
    settings: ClassVar[Mapping[str, Setting]] = {
        "watch": Setting(
            1.0,
            "1 watches for a fall of the incumbent's mean, 0 assumes stationary rewards",
            lambda x: x in (0.0, 1.0),
            "0 or 1",
            flag=True,
        ),
        "every": Setting(
            0.0,
            "every arm comes up again within this many decisions, for means that may rise; 0: off",
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
            # The second line is what `is_due` looks at first: online, a call takes longer.
            if (
                m0 + AHEAD >= state.rival
                and ((state.volume == 0.0 and x > t * (1.0 - m0)) or not is_due(x, t, m0, state, p))
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
            if (reward < 1.0 or state.fallen > 0.0) and p.watch:
                watch(state, reward, p)
            if state.rival >= 0.0:
                return  # no duel is on
            j = state.challenger
            if j == inc:
                judge_all(state, p)
            elif state.in_flight[j] == 0:
                judge(state, j, p)
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
        """Judge the duels: some waited for what is written off. Give up arms that never answer."""
        for j in range(state.held):
            if state.duel[j] != NO_DUEL:
                if is_silent(state, j, max(state.born[j], state.came)):
                    give_up(state, j)
                else:
                    judge(state, j, p)

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
        check_record(state, p)
