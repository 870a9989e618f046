"""Racing: one incumbent keeps its statistics; each comparison ends as soon as it is decided.

Algorithm 1 discards statistics at every sub-phase and spends all of it on arms that are clearly
worse. Here one **incumbent** keeps its slot and its statistics, and arms come up one by one as
**challengers**. With n0 pulls of mean m0 for the incumbent, and n1, m1 for the challenger:

    pull                   the challenger, or the incumbent once the challenger has more pulls
    the challenger loses   if m1 <= m0 and w n1 kl(m1, m0) > c ln t0 (1 - ln n1 / ln l), where t0
                           is the time at which it came up, l the longest that a tie may last, and
                           w = n0 / (n0 + 2 n1)
    the challenger wins    if m1 > m0 and n1 > n0, or if m1 > m0 and n1 kl(m1, m0) > 1.2 ln t

kl is the divergence of Bernoulli distributions, a lower bound for other rewards in [0, 1]. One mean
is above another if it is larger by more than 1e-9: sums of equal rewards differ by rounding.
Between two duels the incumbent is pulled. Let i be the number of arms that have come up, X what
their duels have cost (the sum of m0 minus reward over the challengers' pulls), and m the arms in
memory. The next arm comes up once all of these hold:

    in the first pass over K arms    t^0.67 >= i and t^0.6 >= X, or t >= b = min(20 K, 0.4 K^1.5)
    after it                         t^0.67 >= i and t >= s = exp(L r^(i/K - 1)), with
                                     L = max(2, ln(K)/0.6); and t^0.6 >= X or t >= 2 s
    always                           n0 >= 0.15 t / (m - 1)

A tie ends after l pulls, at least 2: until arm K + 1 comes up l = t0^0.57, at most b^0.33; after
that l = 8 t1 / K, at most t0, where t1 is the time at which the last arm was due. c is 0.2 in the
first pass, 0.43 after it, and 0.7 for an arm that comes up with statistics in memory.

**More memory.** Losers stay in memory with their statistics until their slot is needed; the one
with the lowest mean goes first. While no other arm is due, a loser whose mean exceeds the
incumbent's is challenged again; these duels do not count in X. With M arms in memory passes are
further apart: r = 1.27 + 0.05 ln(M/2) (1 - M/K). With room for all arms the policy is IMED.

Rewards are assumed stationary. No regret bound is proven. The constants are the same for all
instances; docs/mathematics.md says why the rule has this form, and docs/choosing.md on which
instances the constants were chosen and how Race does on others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from handful.core.divergence import kl
from handful.core.state import Float, Int, Slot, Small
from handful.errors import StateError
from handful.policies.base import Policy
from handful.policies.hand import (
    HandState,
    RetainingPolicy,
    check_filled,
    check_hand,
    refuse_unless_flag,
    renumber,
)
from handful.policies.schedule import FOREVER
from handful.policies.unbounded import IMEDPolicy

AHEAD = 1e-9
"""One mean is above another by more than this; less is rounding."""


class Constants(NamedTuple):
    """The constants of Race. An ablation is a subclass: `constants = Constants(first=0.3)`."""

    first: float = 0.2
    """c in the first pass."""
    later: float = 0.43
    """c after it."""
    known: float = 0.7
    """c for an arm whose statistics are in memory."""
    glance: float = 0.57
    """A tie in the first pass lasts t0^glance pulls, ..."""
    longest: float = 8.0
    """... and after it so many times an arm's share of the pulls by when it was due."""
    doubt: float = 2.0
    """Times n1, against n0: how much the doubt about the incumbent takes off the evidence."""
    win: float = 1.2
    """Times ln t: the evidence that takes the incumbent's place at once."""
    arms: float = 0.67
    """At most t^arms arms may have come up."""
    pace: float = 0.6
    """They may have cost t^pace."""
    sure: float = 20.0
    """Times K: from this time on the first pass goes on, whatever it has cost so far, ..."""
    soon: float = 0.4
    """... or from this many times K^1.5 on, if that is sooner."""
    late: float = 2.0
    """Later passes are held up by what arms have cost until so many times when they are planned."""
    ratio: float = 1.27
    """The growth of ln t from one pass to the next with two arms in memory."""
    ratio_by_memory: float = 0.05
    """Times ln(M/2) (1 - M/K): how much more it is with M."""
    share: float = 0.15
    """Of all pulls, for the incumbent and one other arm in memory before another comes up."""


class RaceParameters(NamedTuple):
    """Parameters of Race."""

    K: int
    M: int
    endless: bool
    constants: Constants


class RaceState(HandState):
    """The incumbent, the challenger, and when the next arm is due."""

    incumbent: Slot
    challenger: Slot
    """Equal to the incumbent while no duel is on."""
    rival: Slot
    """The slot with the highest mean but the incumbent's, while no duel is on."""
    came_up: Small
    """1 in the duel of an arm that came up, 0 in that of a loser that was ahead."""
    seen: Int
    """The last arm that has had a reward, by its number in the order."""
    level: Float
    """c ln t0."""
    margin: Float
    """The part of the level that goes with each ln n1."""
    cost: Float
    """X: what the duels of arms that came up have cost."""
    opens: Float
    """When the next arm is due."""


def challenge(state: RaceState, slot: int, c: float, p: RaceParameters) -> None:
    """Begin a duel."""
    t0 = state.clock
    state.challenger = slot
    state.level = c * math.log(t0)
    if state.tried <= p.K:
        first = first_pass(p)
        longest = min(math.pow(t0, p.constants.glance), math.pow(first, 1.0 - p.constants.arms))
    else:
        longest = min(t0, p.constants.longest * due(state.tried - 1, state.cost, p) / p.K)
    state.margin = state.level / math.log(max(2.0, longest))


def meet(state: RaceState, slot: int, p: RaceParameters) -> None:
    """Begin the duel of an arm that came up and has had its first reward since."""
    state.seen = state.tried
    c = p.constants.known
    if state.pulls[slot] == 1:
        c = p.constants.first if state.tried <= p.K else p.constants.later
    challenge(state, slot, c, p)
    state.came_up = 1


def wait(state: RaceState, p: RaceParameters) -> None:
    """Work out when the next arm is due, after the incumbent has had its share."""
    t = state.clock
    share = p.constants.share / max(1, state.held - 1)
    alone = t + (share * t - state.pulls[state.incumbent]) / (1.0 - share)
    state.opens = max(alone, due(state.tried, state.cost, p))


def take_turns(state: RaceState) -> None:
    """In a duel, pull the challenger until it has had more pulls."""
    ahead = state.pulls[state.challenger] <= state.pulls[state.incumbent]
    state.hand = state.challenger if ahead else state.incumbent


def rank(state: RaceState) -> None:
    """Find the rival: the slot with the highest mean but the incumbent's."""
    best = -1
    for j in range(state.held):
        if j != state.incumbent and state.pulls[j] > 0:
            if best < 0 or state.sums[j] / state.pulls[j] > state.sums[best] / state.pulls[best]:
                best = j
    state.rival = best if best >= 0 else state.incumbent


def lowest(state: RaceState) -> int:
    """Return the slot with the lowest mean but the incumbent's."""
    worst = -1
    for j in range(state.held):
        if j != state.incumbent and state.pulls[j] > 0:
            if worst < 0 or state.sums[j] / state.pulls[j] < state.sums[worst] / state.pulls[worst]:
                worst = j
    return worst


def between_duels(state: RaceState, p: RaceParameters) -> None:
    """Take the next arm if it is due, or a loser that is ahead after all, or the incumbent."""
    incumbent, rival = state.incumbent, state.rival
    state.hand = incumbent
    if state.clock >= state.opens:
        state.hand = state.held if state.held < p.M else lowest(state)
        state.up_next = 1
        return
    m0 = state.sums[incumbent] / state.pulls[incumbent]
    if rival != incumbent and state.sums[rival] / state.pulls[rival] > m0 + AHEAD:
        challenge(state, rival, p.constants.known, p)
        state.came_up = 0
        take_turns(state)


def due(i: int, cost: float, p: RaceParameters) -> float:
    """Return when the arm after the i-th is due, if the incumbent has had its share."""
    constants = p.constants
    when = math.pow(i, 1.0 / constants.arms)
    paid = math.pow(max(1.0, cost), 1.0 / constants.pace)
    if i < p.K:
        return min(max(when, paid), first_pass(p))
    ratio = constants.ratio + constants.ratio_by_memory * math.log(p.M / 2.0) * (1.0 - p.M / p.K)
    first = max(2.0, math.log(p.K) / constants.pace)
    planned = math.exp(min(700.0, first * math.pow(ratio, i / p.K - 1.0)))
    return max(when, planned, min(paid, constants.late * planned))


def first_pass(p: RaceParameters) -> float:
    """Return from when on the first pass is not held up by what it has cost."""
    return min(p.constants.sure * p.K, p.constants.soon * math.pow(p.K, 1.5))


class Race(RetainingPolicy):
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
    constants = Constants()
    State = RaceState
    Parameters = RaceParameters

    @classmethod
    def parameters(
        cls, n_arms: int, memory: int, endless: bool, values: dict[str, float]
    ) -> RaceParameters:
        """Return the parameters, with the constants of the class."""
        return RaceParameters(n_arms, memory, endless, cls.constants)

    @classmethod
    def stands_for(cls, memory: int, n_arms: int) -> type[Policy]:
        """Return IMED where there is room for all arms, unless a subclass has its own functions."""
        functions = ("start", "propose", "observe")
        ours = all(getattr(cls, name) is getattr(Race, name) for name in functions)
        return IMEDPolicy if memory >= n_arms and ours else cls

    @staticmethod
    def observe(state: RaceState, slot: int, reward: float, p: RaceParameters) -> None:
        """Judge the duel that is on; between duels see what comes next."""
        pulls, sums = state.pulls, state.sums
        pulls[slot] += 1
        sums[slot] += reward
        incumbent = state.incumbent
        if slot != state.hand:
            if state.challenger == incumbent:
                rank(state)
            return
        came = state.tried > state.seen
        if came:
            meet(state, slot, p)
        challenger = state.challenger
        if challenger != incumbent:
            n0, n1 = pulls[incumbent], pulls[challenger]
            m0, m1 = sums[incumbent] / n0, sums[challenger] / n1
            if slot == challenger and state.came_up:
                state.cost += m0 - reward
            ahead = m1 > m0 + AHEAD
            # kl(m1, m0) <= (m0 - m1)^2 / (m0 (1 - m0)) mostly shows, at less cost, that the duel
            # goes on.
            most = n1 * (m0 - m1) * (m0 - m1)
            if ahead:
                needed = p.constants.win * math.log(state.clock)
                ends = n1 > n0 or (most >= needed * m0 * (1.0 - m0) and n1 * kl(m1, m0) > needed)
            else:
                spent = state.margin * math.log(n1)
                w = n0 / (n0 + p.constants.doubt * n1)
                ends = (
                    most * w >= (state.level - spent) * m0 * (1.0 - m0)
                    and n1 * kl(m1, m0) * w + spent > state.level
                )
            if not ends:
                state.hand = challenger if n1 <= n0 else incumbent
                return
            if ahead:
                state.incumbent = challenger
            state.challenger = state.incumbent
            came = True
        if came:
            rank(state)
            wait(state, p)
        between_duels(state, p)

    @staticmethod
    def calm(state: RaceState, slot: int, p: RaceParameters) -> tuple[int, int]:
        """Between duels, until the next arm is due or another's mean could be the highest."""
        if state.tried > state.seen or state.challenger != state.incumbent:
            return 0, 0
        left = min(float(FOREVER), math.ceil(state.opens) - 1.0 - state.clock)
        if left <= 0.0:
            return 0, 0
        still = left
        if state.rival != state.incumbent:
            top = state.sums[state.rival] / state.pulls[state.rival]
            if top > 0.0:
                enough = state.sums[slot] / top * (1.0 - 1e-12)
                still = min(left, enough - state.pulls[slot] - 1.0)
        return int(max(still, 0.0)), int(left)

    @staticmethod
    def resized(state: RaceState, before: int, p: RaceParameters) -> bool:
        """Go on with the duel; new arms are the next to come up."""
        unseen = state.tried - state.seen
        renumber(state, before, p)
        state.seen = state.tried - unseen
        return True

    @staticmethod
    def recommend_arm(state: RaceState, p: RaceParameters) -> int:
        """Return the incumbent."""
        return state.arm[state.incumbent]

    @staticmethod
    def check(state: RaceState, p: RaceParameters) -> None:
        """Refuse a duel that cannot be."""
        check_hand(state, p)
        check_filled(state, p)
        refuse_unless_flag(state.came_up)
        if not state.tried - 1 <= state.seen <= state.tried or came_too_soon(state, p):
            raise StateError(f"the saved policy cannot have tried {state.tried} arms yet")
        if max(state.incumbent, state.challenger, state.rival) >= state.held:
            raise StateError("the saved duel is of an arm that is not in memory")
        if state.pulls[state.incumbent] == 0 and state.held > 1:
            raise StateError("the saved incumbent has no rewards")
        if abs(state.cost) > state.rewards or not math.isfinite(state.level + state.margin):
            raise StateError("the saved duels have a cost that cannot be")


def came_too_soon(state: RaceState, p: RaceParameters) -> bool:
    """Return whether more arms have come up than can be due at any time."""
    try:
        due(state.tried + 1, state.cost, p)
    except OverflowError:
        return True
    return False
