"""A race with a proven bound: asymptotically optimal with statistics of two arms.

An incumbent is pulled; at fixed times there is a **pass**, in which every other arm comes up once
as a challenger with fresh statistics. In pass s = 1, 2, ..., with K arms and

    V_s = (s + 3)^2 / 5,   g_s = V_(s+1) - V_s = (2s + 7)/5,   N_s = floor(e^V_s)

    BEGINS   after N_1 pulls of the first arm; for s > 1, after T_s = floor(K e^V_s) pulls in all
    BAR      c = the least q with n0 kl(m0, q) <= g_s + ln(8K), a lower confidence bound of the
             incumbent, which has n0 >= N_s pulls of mean m0 since the last pass ended
    OUT      a challenger with n1 pulls of mean m1 < c, as soon as
                 n1 kl(m1, c) >= g_s + ln(8/3) + ln(n1)/2
    WINS     a challenger that is not out after n1 = N_s pulls, if m1 > m0. It is the incumbent
             from then on, with its n1 and m1 in place of n0 and m0
    ENDS     when every arm has come up but the one that was the incumbent when the pass began.
             The incumbent's statistics are discarded, and it is pulled until the next pass

The evidence g_s of all passes adds up to V. Once N_s is large enough for the smallest gap, a best
arm that is not the incumbent is missed in pass s with a probability of at most e^-g_s, whatever
happened before, since no statistics outlive a pass. From then on these probabilities multiply:
after pass s their product is at most a constant times e^-V_(s+1), of order K/T_(s+1). As V_s grows
like s^2, the evidence asked in all, V_(s+1), is ln T up to a factor that tends to 1. So the regret
is at most (1 + o(1)) ln T times the sum of gap/kl(mean, best mean), the least possible (Lai and
Robbins). docs/mathematics.md has the theorem and its proof.

A reward in (0, 1) counts as a Bernoulli trial, so the theorem holds for all rewards in [0, 1].

**Arms that come and go.** New arms come up next. If no pass is on, they do once the incumbent has
had N_s pulls since the last one, of number s. A challenger has at most N_s pulls, so n new arms
come up within (n + 2) N_s + 1 decisions, s being 1 before the first pass. If one of the arms in
memory is removed, the policy starts again. The theorem is for a fixed set of arms.
"""

from __future__ import annotations

import math
from typing import Any

from handful.core.divergence import kl, kl_upper
from handful.core.shuffle import arm_at
from handful.core.slots import admit
from handful.core.state import Float, Int
from handful.errors import StateError
from handful.policies.definition import Parameters
from handful.policies.hand import BestPolicy, BestState, check_best, renumber, toss
from handful.policies.schedule import FOREVER

OFFSET, SCALE = 3.0, 5.0
"""V_s = (s + OFFSET)^2 / SCALE. The proof needs g_s >= ln 4 for all s, which follows from
g_1 >= ln 4, that V_(s+1)/V_s tends to 1, and that V_s/s tends to infinity, as for every square."""
MOST_PASSES = 40
"""No record has seen more passes: T_40 is beyond 10^160."""


class ProvenRaceState(BestState):
    """The incumbent, which is `best`, the pass, and the challenger, which is in hand."""

    passes: Int
    """s: how many passes have begun."""
    left: Int
    """How many places of the order are still to come up in this pass."""
    leader: Int
    """The arm that was the incumbent when the pass began."""
    bar: Float
    """c."""


def volume(s: float) -> float:
    """Return V_s."""
    return (s + OFFSET) * (s + OFFSET) / SCALE


def evidence(s: float) -> float:
    """Return g_s."""
    return (2.0 * (s + OFFSET) + 1.0) / SCALE


def has_share(n: float, s: float) -> bool:
    """Return whether n >= N_s."""
    return n + 1.0 > math.exp(volume(s))


def lower_bound(n: float, m: float, s: float, K: int) -> float:
    """Return the lower confidence bound c of an arm with n pulls of mean m."""
    return 1.0 - kl_upper(1.0 - m, (evidence(s) + math.log(8.0 * K)) / n)


def is_out(n: float, m: float, c: float, s: float) -> bool:
    """Return whether a challenger with n pulls of mean m is out, against a bar of c."""
    return m < c and n * kl(m, c) >= evidence(s) + math.log(8.0 / 3.0) + 0.5 * math.log(n)


def is_due(clock: float, n: float, s: float, K: int) -> bool:
    """Return whether pass s may begin after so many decisions and pulls of the incumbent."""
    return has_share(n, s) and (s <= 1.0 or clock + 1.0 > K * math.exp(volume(s)))


def set_bar(state: ProvenRaceState, p: Parameters) -> None:
    """Set the bar by the incumbent's statistics."""
    n = float(state.pulls[state.best])
    state.bar = lower_bound(n, state.sums[state.best] / n, float(state.passes), p.K)


def begin(state: ProvenRaceState, places: int, p: Parameters) -> None:
    """Begin a pass over so many places of the order, after the arms that are new."""
    state.leader = state.arm[state.best]
    state.left = places
    set_bar(state, p)
    state.hand = 1 - state.best
    state.up_next = 1


def next_challenger(state: ProvenRaceState, p: Parameters) -> int:
    """Return the next arm of the pass, or -1 if all have come up."""
    if state.news > 0:
        state.tried += 1
        state.news -= 1
        return p.K - state.news - 1
    while state.left > 0:
        arm = arm_at(state.tried % p.K, p.K, state.key)
        state.tried += 1
        state.left -= 1
        if arm != state.leader and arm != state.arm[state.best]:
            return arm
    return -1


class ProvenRace(BestPolicy):
    """An incumbent, and passes in which every other arm challenges it; with a proven bound.

    >>> policy = ProvenRace(arms=["red", "green", "blue"], seed=1)
    >>> for _ in range(100):
    ...     arm = policy.select()
    ...     policy.update(arm, 1.0 if arm == "blue" else 0.0)
    >>> policy.recommend()
    'blue'
    """

    name = "proven-race"
    title = "Proven Race"
    summary = "a race with fresh statistics in every pass; asymptotically optimal, with a proof"
    citation = "handful's own: docs/mathematics.md, A race with a proof"
    own_memory = 2
    State = ProvenRaceState

    @staticmethod
    def propose(state: Any, p: Any) -> int:
        """Return the slot in hand; at the end of a duel let the next arm come up, if any."""
        if state.up_next:
            state.up_next = 0
            arm = next_challenger(state, p)
            state.hand = 1 - state.best if arm >= 0 else state.best
            admit(state, state.hand, arm if arm >= 0 else state.arm[state.best])
        return int(state.hand)

    @staticmethod
    def observe(state: ProvenRaceState, slot: int, reward: float, p: Parameters) -> None:
        """Begin a pass that is due, or judge the challenger."""
        toss(state, slot, reward)
        if slot != state.hand or state.up_next:
            return
        n, s = float(state.pulls[slot]), float(state.passes)
        if slot == state.best:
            if p.K > 1 and is_due(float(state.clock), n, s + 1.0, p.K):
                state.passes += 1
                begin(state, p.K, p)
            elif state.news > 0 and state.passes > 0 and has_share(n, s):
                begin(state, 0, p)
            return
        m = state.sums[slot] / n
        if not is_out(n, m, state.bar, s):
            if not has_share(n, s):
                return
            if m > state.sums[state.best] / state.pulls[state.best]:
                state.best = slot
                set_bar(state, p)
        state.hand = 1 - state.best
        state.up_next = 1

    @staticmethod
    def resized(state: ProvenRaceState, before: int, p: Parameters) -> bool:
        """Continue the pass; new arms are the next to come up."""
        renumber(state, before, p)
        state.left = min(state.left, p.K)
        return True

    @staticmethod
    def news_within(state: ProvenRaceState, p: Parameters) -> int | None:
        """Return the longest time that the duel that is on and those of the new arms take."""
        longest = math.floor(math.exp(volume(max(1.0, float(state.passes)))))
        return (state.news + 2) * longest + 1 if state.news else 0

    @staticmethod
    def calm(state: ProvenRaceState, slot: int, p: Parameters) -> tuple[int, int]:
        """Return until when no pass can begin, or the challenger can be neither out nor judged."""
        n, s = float(state.pulls[slot]), float(state.passes)
        if slot != state.best:
            left = max(0.0, math.exp(volume(s)) - n - 2.0)
            # Until then its mean is not below the bar, even if every pull fails.
            above = state.sums[slot] * (1.0 - 1e-12) / max(state.bar, 1e-300) - n - 1.0
            return int(max(0.0, min(left, above))), int(left)
        if state.news > 0:
            return 0, 0
        pulls = math.exp(volume(s + 1.0)) - n
        if s > 0.0:
            pulls = max(pulls, p.K * math.exp(volume(s + 1.0)) - state.clock)
        left = max(0.0, min(pulls - 2.0, float(FOREVER))) if p.K > 1 else float(FOREVER)
        return int(left), int(left)

    @staticmethod
    def check(state: ProvenRaceState, p: Parameters) -> None:
        """Refuse a pass that cannot be."""
        check_best(state, p)
        if not 0 <= state.passes <= MOST_PASSES or not 0 <= state.left <= p.K:
            raise StateError(f"the saved policy cannot be in pass {state.passes} over its arms")
        if not 0.0 <= state.bar <= 1.0 or state.leader < 0:
            raise StateError("the saved policy has an impossible incumbent")
        duel = state.hand != state.best
        if (duel or state.left > 0) and state.passes == 0:
            raise StateError("the saved policy has a challenger before the first pass")
        if state.up_next and not duel:
            raise StateError("the saved policy would put the next arm in the incumbent's place")
        if state.left > 0 and not duel:
            raise StateError("the saved policy has a pass without a challenger")

    @staticmethod
    def place(state: ProvenRaceState, p: Parameters) -> str:
        """Return the number of the pass, and how many arms are still to come up in it."""
        if state.hand == state.best:
            return f"{state.passes} passes over the arms so far"
        return f"pass {state.passes} over the arms, {state.left} still to come up"
