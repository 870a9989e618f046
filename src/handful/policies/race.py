"""Racing: keep the incumbent's statistics for ever, and end a comparison as soon as it is decided.

Algorithm 1 throws statistics away at every sub-phase and spends the whole of it on arms that are
plainly worse. Here one **incumbent** keeps its place and its statistics; arms come up one by one
and **challenge** it. With n0 pulls of mean m0 for the incumbent, n1 and m1 for the challenger:

    pull            the challenger, or the incumbent where the challenger has had more pulls
    it loses        if m1 <= m0 and w n1 kl(m1, m0) > c ln t0 (1 - ln n1 / ln l),
                    where t0 is the time it came up, l how long a tie may last and
                    w = n0 / (n0 + 2 n1)
    it wins         if m1 > m0 and n1 > n0, or n1 kl(m1, m0) > 1.2 ln t

kl is the divergence of Bernoulli laws, which for rewards in [0, 1] is on the safe side. A mean is
above another if it is by more than 10^-9: sums of equal rewards differ by rounding. Between two
duels the incumbent is pulled. The next arm comes up once all of these hold, with i arms so far, and
X what the duels of arms that came up have cost, the sum of m0 minus reward over their pulls:

    in the first pass over K arms    t^0.67 >= i and t^0.6 >= X, or t >= b = min(20 K, 0.4 K^1.5)
    after it                         t^0.67 >= i and t >= s = exp(L r^(i/K - 1)), with
                                     L = ln(K)/0.6, at least 2; and t^0.6 >= X or t >= 2 s
    always                           n0 >= 0.15 t / (m - 1), with m arms in memory

**How sure.** An arm that is the best but loses a duel is not lost: it comes up again. If it loses
each with a chance of order exp(-c ln t0), the chances of the passes multiply, as if the statistics
of all of them had been kept. Passes at times whose logarithm grows by a factor r need c = r - 1
each to have erred with chance 1/t by the time t. With two arms in memory r = 1.27, and c = 0.43
leaves room. In the first pass, where few incumbents are worth keeping, c = 0.2: it is about finding
a good one soon.

**How long.** Near ties would last as long as everything before them. So the evidence asked for
comes down with ln n1, as with IMED's ln n, and a tie ends after l pulls, at least 2:

    until arm K + 1 comes up    l = t0^0.57, at most b^0.33
    after that                  l = 8 t1 / K, at most t0; t1 is when the last arm was due

What counts is that all arms get their turn. Most may tie, such as a thousand arms of 0.1 with one
of 0.9 among them: with b^0.33 they are all looked at soon, and 8 t1 / K, not t0, keeps a pass that
is late from becoming later with each duel. The price is that the best arm loses more often where it
is one of the ties that are cut short; it comes up again. That is also why X does not hold up later
passes for long: among 300 near ties it kept the second from coming to its end.

**Who is believed.** To lose the incumbent wrongly would lose what all passes have found, hence
1.2 ln t for that. An incumbent that won by luck has too high a mean until it was pulled more, hence
its share of the pulls; where memory has more arms that may be as good, the share is smaller. It is
also why a challenger with as many pulls is not yet beaten: n0 / (n0 + n1) is what the evidence is
worth where both means are uncertain, and 2 n1 is for the incumbent being the luckiest of many.
Without it, the best of 20 arms that is ahead by 0.05 loses more often to the luckiest of the
others, which reads 0.526 for 0.5: with ten in memory the worst runs in a hundred have 4.4 times the
mean regret instead of 3.2 times, though the mean is lower.

Endless arms are a first pass that does not end: how many to look at is a question of what they
cost, X, against what is left to gain. So it is with K arms at first; but the pass is a small part
of 20 K pulls, and not to have seen the best arm by then would cost more. Where arms are few they
are gone through sooner still.

**More memory.** The losers stay, with their statistics, until their place is needed: the one with
the lowest mean goes. One that comes up again challenges with what is known of it, with c = 0.7: it
has no fresh chance in each pass, so it is asked more; with l pulls or more it has lost once it is
not ahead. So does one whose mean is above the
incumbent's after all, while no other is due; such duels are not counted in X, which is about how
many arms to look at: counted, near ties in memory would keep the rest of the arms waiting. With the
good arms in memory a pass finds less that is new, so with M of them passes are further apart:
r = 1.27 + 0.05 ln(M/2) (1 - M/K). With room for all arms, nobody ever goes, and the policy is IMED.

No bound on the regret is proven here. The constants are the same for all instances; they were
chosen by simulation, by the mean and the 99th percentile together, on instances of the leaderboard
and on others; docs/choosing.md says which had no say in it, and how Race does on those.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from handful.core.divergence import kl
from handful.core.state import Float, Int, Slot, Small, credit, most_pulled
from handful.errors import StateError
from handful.policies.base import Policy
from handful.policies.hand import FOREVER, HandState, RetainingPolicy, bring_up, check_hand
from handful.policies.unbounded import IMEDPolicy
from handful.rules import IMED, chooser

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


GOES_ON, LOST, WON = range(3)

_imed = chooser(IMED)


def all_fit(p: RaceParameters) -> bool:
    """Return whether there is room for all arms: then Race is IMED."""
    return p.M >= p.K


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


def verdict(state: RaceState, p: RaceParameters) -> int:
    """Return how the duel stands."""
    n0, n1 = state.pulls[state.incumbent], state.pulls[state.challenger]
    m0, m1 = state.sums[state.incumbent] / n0, state.sums[state.challenger] / n1
    evidence = n1 * kl(m1, m0)
    if m1 > m0 + AHEAD:
        won = n1 > n0 or evidence > p.constants.win * math.log(state.clock)
        return WON if won else GOES_ON
    evidence *= n0 / (n0 + p.constants.doubt * n1)
    return LOST if evidence + state.margin * math.log(n1) > state.level else GOES_ON


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
    state.hand = state.incumbent
    if state.clock >= state.opens:
        state.hand = state.held if state.held < p.M else lowest(state)
        state.up_next = 1
        return
    m0 = state.sums[state.incumbent] / state.pulls[state.incumbent]
    if state.sums[state.rival] / state.pulls[state.rival] > m0 + AHEAD:
        challenge(state, state.rival, p.constants.known, p)
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
    def propose(state: RaceState, p: RaceParameters) -> int:
        """Return the slot in hand; with room for all arms, the choice of IMED."""
        if all_fit(p):
            if state.tried < p.K:
                return bring_up(state, state.tried, p, True) if state.clock > 0 else 0
            return _imed(state, state.rewards, 0, 1.0)
        if state.up_next:
            state.up_next = 0
            state.hand = bring_up(state, state.hand, p, False)
        return state.hand

    @staticmethod
    def observe(state: RaceState, slot: int, reward: float, p: RaceParameters) -> None:
        """Judge the duel that is on; between duels see what comes next."""
        credit(state, slot, reward)
        if all_fit(p):
            return
        if slot != state.hand:
            if state.challenger == state.incumbent:
                rank(state)
            return
        came = state.tried > state.seen
        if came:
            state.seen = state.tried
            c = p.constants.known
            if state.pulls[slot] == 1:
                c = p.constants.first if state.tried <= p.K else p.constants.later
            challenge(state, slot, c, p)
            state.came_up = 1
        duel = state.challenger != state.incumbent
        if duel:
            incumbent = state.incumbent
            if slot == state.challenger and state.came_up:
                state.cost += state.sums[incumbent] / state.pulls[incumbent] - reward
            ends = verdict(state, p)
            if ends == GOES_ON:
                take_turns(state)
                return
            if ends == WON:
                state.incumbent = state.challenger
            state.challenger = state.incumbent
        if duel or came:
            rank(state)
            t = state.clock
            share = p.constants.share / max(1, state.held - 1)
            alone = t + (share * t - state.pulls[state.incumbent]) / (1.0 - share)
            state.opens = max(alone, due(state.tried, state.cost, p))
        between_duels(state, p)

    @staticmethod
    def recommend_arm(state: RaceState, p: RaceParameters) -> int:
        """Return the incumbent; with room for all arms, the most pulled."""
        return state.arm[most_pulled(state) if all_fit(p) else state.incumbent]

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
    def check(state: RaceState, p: RaceParameters) -> None:
        """Refuse a duel that cannot be."""
        if all_fit(p):
            if state.held > p.K or state.held != state.tried:
                raise StateError("the saved policy has tried arms that it does not have")
            return
        check_hand(state, p)
        if max(state.incumbent, state.challenger, state.rival) >= state.held:
            raise StateError("the saved duel is of an arm that is not in memory")
        if state.pulls[state.incumbent] == 0 and state.held > 1:
            raise StateError("the saved incumbent has no rewards")
