"""Rules of the streaming literature: the arms come by in passes, and few are remembered.

They plan for T pulls on K arms, look at every arm in one or more passes, then commit to one. With n
pulls of mean m for an arm, its confidence interval is m +- r, r = sqrt(c ln T / n); the constants
of the papers are those that their proofs need, and c = 0.5 is what is used in practice.

**single-pass.** Every arm (T/K)^(2/3) times; the one with the best mean so far is stored, and
pulled for ever after. Maiti, Patil and Khan, "Multi-armed bandits with bounded arm-memory:
near-optimal guarantees for best-arm identification and regret minimization", NeurIPS 2021.

**mpse**, in B passes. A champion keeps its statistics. In pass p it meets every arm: the less
pulled of the two is pulled until their intervals part, or both have b_p = (T B/K)^(2 beta_p) pulls,
beta_p = 2^(B-p) (2^p - 1) / (2^(B+1) - 1). The one with the higher mean is the champion then. Li,
Zhang, Wang and Li, "Tight memory-regret lower bounds for streaming bandits", 2023.

**mbse**, in B passes. Memory is filled from the stream, and the least pulled arm in it is pulled.
An arm whose interval lies below another's makes room; so does the one with the lowest mean when all
have N_p/(K B) pulls, N_p = sqrt(N_(p-1)) T^(2^B / (2^(B+1) - 1)), N_0 = 1. Agarwal, Khanna and
Patil, "A sharp memory-regret trade-off for multi-pass streaming bandits", COLT 2022.

**game-of-coins.** A king defends itself against each arm in levels. At level l = 1, 2, ... both are
tossed N 2^(l-1) times, N = (T/K)^(2/3), and the king pays as much from a budget, to which each
newcomer adds 2 N. It wins if its mean in the level is not lower; otherwise the next level follows,
and a king that cannot pay for that has lost. Assadi and Wang, "Exploration with limited memory:
streaming algorithms for coin tossing, noisy comparisons, and multi-armed bandits", STOC 2020; there
the levels grow as a tower and the budget is 100 times as large, since the aim is to be right with
high probability.

**Arms that come and go.** New arms come up next, also when the passes are over; then the policy
commits again. If the stored best arm is removed, the policy starts again. If another arm in memory
is, the next one comes up in its place. With N = (T/K)^(2/3), n new arms come up within

    single-pass      n N + 1 decisions
    mpse             n (2 b_p + 4), where p is the pass in which the last of them comes up
    mbse             n M (N_p/(K B) + 2), with the same p
    game-of-coins    2 n (3 N + X + n N) + 1, where X is the king's budget

Where a description leaves a step open (an undecided duel, the arm that makes room), the arm with
the higher mean stays. More passes lower the worst case over all gaps, not the regret on each
instance: every pass pays again for arms that are plainly worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from handful.core.change import vacate
from handful.core.state import Float, Int, Small, credit
from handful.errors import StateError
from handful.policies.hand import (
    BestPolicy,
    BestState,
    HandState,
    PlannedPolicy,
    RetainingPolicy,
    WithHorizon,
    check_best,
    refuse_unless_counted,
    refuse_unless_flag,
    renumber,
)
from handful.policies.schedule import FOREVER
from handful.policies.settings import PLANNED, Setting, whole_setting

PASSES = whole_setting(3.0, "passes over the arms", "B")
RADIUS = Setting(
    0.5, "confidence radius sqrt(c ln T / n)", lambda c: 0.0 < c <= 1e6, "a number c > 0"
)


class Stream(BestState):
    """The stored arm that is the best so far, and whether the passes are over."""

    over: Small


class Duel(Stream):
    """A stream in which the best arm meets the others one by one."""

    seen: Int
    """The last arm that has had a reward, by its number in the order."""


class Game(Stream):
    """A king, its budget, and the level in which it defends itself."""

    budget: Float
    level: Int
    """From 0."""
    tosses: Int
    """In this level, of both."""
    lead: Float
    """The king's rewards in this level less the other's."""


class Passes(NamedTuple):
    """Parameters: passes, confidence radius, horizon."""

    K: int
    M: int
    endless: bool
    passes: float
    c: float
    horizon: float


def fair_share(T: float, K: int) -> float:
    """Return (T/K)^(2/3): what a pass that decides all may spend on each arm."""
    return float(math.ceil(math.pow(max(1.0, T / K), 2.0 / 3.0)))


def pulls_of_pass(p: float, B: float, T: float, K: int) -> float:
    """Return b_p of MPSE."""
    beta = (1.0 - 2.0**-p) / (2.0 - 2.0**-B)
    return math.pow(max(1.0, T * B / K), 2.0 * beta)


def budget_of_pass(p: float, B: float, T: float, K: int) -> float:
    """Return N_p/(K B) of MBSE: N_p = T^(e (1 + 1/2 + ... + 1/2^(p-1))), e = 1/(2 - 2^-B)."""
    power = (2.0 - 2.0 ** (1.0 - p)) / (2.0 - 2.0**-B)
    return math.pow(T, power) / (K * B)


def mean_of(state: HandState, slot: int) -> float:
    """Return the mean of the arm in a slot."""
    return state.sums[slot] / state.pulls[slot]


def radius_of(state: HandState, slot: int, p: Passes) -> float:
    """Return half the width of the confidence interval of the arm in a slot."""
    return math.sqrt(p.c * math.log(p.horizon) / state.pulls[slot])


def pass_of(state: HandState, p: Passes) -> float:
    """Return the number of the pass, from 1."""
    return 1.0 + (state.tried - 1) // p.K


def pass_after_news(state: HandState, p: Passes) -> float:
    """Return the number of the pass in which the last new arm comes up."""
    return 1.0 + (state.tried + state.news - 1) // p.K


def go_on(state: Stream, arms: float) -> None:
    """Let the next arm in beside the best one; after so many arms, take the best in hand."""
    if state.tried < arms or state.news > 0:
        state.hand = 1 - state.best
        state.up_next = 1
    else:
        state.hand = state.best
        state.over = 1


def withdraw_other(state: Stream, slot: int) -> bool:
    """Let an arm other than the best leave, for the next arm to come up; False: it is the best."""
    if slot == state.best:
        return False
    # An arm that has no reward yet stays in hand.
    stays = state.hand != slot and not state.up_next and state.pulls[state.hand] == 0
    vacate(state, slot)
    if state.over:
        state.hand = state.best
    elif not stays:
        state.hand = state.held
        state.up_next = 1
    return True


def resize_stream(state: Stream, before: int, arms: float, p: Any) -> None:
    """Reopen passes that are over if there are new arms; close them if no arm is left to come."""
    renumber(state, before, p)
    if state.news > 0 and state.over:
        state.over = 0
        state.hand = state.held
        if state.held == p.M:
            state.hand = 1 if state.best == 0 else 0
            for j in range(state.held):
                if j != state.best and mean_of(state, j) < mean_of(state, state.hand):
                    state.hand = j
        state.up_next = 1
    elif state.up_next and state.news == 0 and state.tried >= arms:
        state.hand = state.best
        state.up_next = 0
        state.over = 1


def check_stream(state: Stream, p: Any) -> None:
    """Refuse a stored arm that is not in memory, and passes that are neither over nor not."""
    check_best(state, p)
    refuse_unless_flag(state.over)


class StreamPolicy(BestPolicy):
    """What the policies of this file share: they plan for a horizon, and take any rewards."""

    needs_horizon = True
    trials = False

    @staticmethod
    def withdraw(state: Any, slot: int, p: Any) -> bool:
        """Go on without an arm that is not the best."""
        return withdraw_other(state, slot)

    @staticmethod
    def check(state: Any, p: Any) -> None:
        """Refuse a stored arm that is not in memory."""
        check_stream(state, p)


class OnePass(StreamPolicy, PlannedPolicy):
    """A policy that looks at every arm in a single pass, and stores two."""

    own_memory = 2

    @staticmethod
    def resized(state: Any, before: int, p: Any) -> bool:
        """Go on with the pass, or reopen it for new arms."""
        resize_stream(state, before, p.K, p)
        return True


class SeveralPasses(StreamPolicy, RetainingPolicy):
    """A policy that eliminates arms by their confidence intervals, in B passes."""

    Parameters = Passes
    settings: ClassVar[Mapping[str, Setting]] = {
        "passes": PASSES, "c": RADIUS, "horizon": PLANNED,
    }  # fmt: skip

    @staticmethod
    def resized(state: Any, before: int, p: Any) -> bool:
        """Go on with the passes, or reopen them for new arms."""
        resize_stream(state, before, p.passes * p.K, p)
        return True

    @staticmethod
    def calm(state: Stream, slot: int, p: Passes) -> tuple[int, int]:
        """For ever once the passes are over."""
        return (FOREVER, FOREVER) if state.over else (0, 0)


class SinglePass(OnePass):
    """Uniform exploration in one pass, then the best mean for ever."""

    name = "single-pass"
    title = "Single pass"
    summary = "every arm (T/K)^(2/3) times in one pass, then the one with the best mean"
    citation = "Maiti, Patil and Khan, NeurIPS 2021"
    State = Stream

    @staticmethod
    def observe(state: Stream, slot: int, reward: float, p: WithHorizon) -> None:
        """Pull an arm its fair share, then compare it with the best so far."""
        credit(state, slot, reward)
        if slot != state.hand or state.over or state.pulls[slot] < fair_share(p.horizon, p.K):
            return
        if mean_of(state, slot) > mean_of(state, state.best):
            state.best = slot
        go_on(state, p.K)

    @staticmethod
    def news_within(state: Stream, p: WithHorizon) -> int | None:
        """Return the fair share of so many arms, plus one."""
        return int(state.news * fair_share(p.horizon, p.K)) + 1 if state.news else 0

    @staticmethod
    def calm(state: Stream, slot: int, p: WithHorizon) -> tuple[int, int]:
        """Until the arm has had its fair share; for ever once the pass is over."""
        if state.over:
            return FOREVER, FOREVER
        left = int(max(0.0, fair_share(p.horizon, p.K) - state.pulls[slot] - 1.0))
        return left, left


class MPSE(SeveralPasses):
    """Multi-pass successive elimination: a champion meets every arm in each of B passes."""

    name = "mpse"
    title = "MPSE"
    summary = "a champion against every arm, in B passes of growing length"
    citation = "Li, Zhang, Wang and Li, 2023"
    own_memory = 2
    State = Duel

    @staticmethod
    def observe(state: Duel, slot: int, reward: float, p: Passes) -> None:
        """Pull the less pulled of the two until they part or the pass allows no more."""
        credit(state, slot, reward)
        if slot != state.hand or state.over:
            return
        came = state.tried > state.seen
        state.seen = state.tried
        # The champion itself may come up: then there is nobody to compare it with.
        if not (came and slot == state.best):
            x, y = 1 - state.best, state.best
            m0, m1 = mean_of(state, y), mean_of(state, x)
            r0, r1 = radius_of(state, y, p), radius_of(state, x, p)
            apart = m1 + r1 < m0 - r0 or m0 + r0 < m1 - r1
            fewer = min(state.pulls[x], state.pulls[y])
            if not apart and fewer < pulls_of_pass(pass_of(state, p), p.passes, p.horizon, p.K):
                state.hand = x if state.pulls[x] <= state.pulls[y] else y
                return
            if m1 > m0:
                state.best = x
        go_on(state, p.passes * p.K)

    @staticmethod
    def withdraw(state: Duel, slot: int, p: Passes) -> bool:
        """Go on without an arm that is not the best; a duel with it is over."""
        state.seen = state.tried
        return withdraw_other(state, slot)

    @staticmethod
    def resized(state: Duel, before: int, p: Passes) -> bool:
        """Go on with the passes, or reopen them for new arms."""
        unseen = state.tried - state.seen
        resize_stream(state, before, p.passes * p.K, p)
        state.seen = state.tried - unseen
        return True

    @staticmethod
    def news_within(state: Duel, p: Passes) -> int | None:
        """Return the longest time that duels with so many arms take."""
        last = pulls_of_pass(pass_after_news(state, p), p.passes, p.horizon, p.K)
        return int(state.news * (2 * math.ceil(last) + 4))

    @staticmethod
    def check(state: Duel, p: Passes) -> None:
        """Refuse a duel with nobody to meet."""
        check_stream(state, p)
        if not state.tried - 1 <= state.seen <= state.tried:
            raise StateError(f"the saved policy cannot have seen {state.seen} arms")
        alone = state.held == 1 and state.tried == state.seen
        if alone and not (state.over or state.up_next):
            raise StateError("the saved policy has nobody to compare its champion with")


class MBSE(SeveralPasses):
    """Elimination among the M arms in memory, in B passes over the stream."""

    name = "mbse"
    title = "MBSE"
    summary = "elimination among the arms in memory, in B passes of growing length"
    citation = "Agarwal, Khanna and Patil, COLT 2022"
    State = Stream

    @staticmethod
    def observe(state: Stream, slot: int, reward: float, p: Passes) -> None:
        """Fill memory; then pull the least pulled, and let the next arm in where one is out."""
        credit(state, slot, reward)
        if slot != state.hand or state.over:
            return
        if state.held < p.M and (state.tried < p.K or state.news > 0):
            state.hand = state.held
            state.up_next = 1
            return
        best = worst = 0
        bar = -math.inf  # the highest lower end of an interval
        for j in range(state.held):
            if mean_of(state, j) > mean_of(state, best):
                best = j
            if mean_of(state, j) < mean_of(state, worst):
                worst = j
            bar = max(bar, mean_of(state, j) - radius_of(state, j, p))
        state.best = best
        gone = least = -1
        for j in range(state.held):
            if mean_of(state, j) + radius_of(state, j, p) < bar:
                gone = j
            elif least < 0 or state.pulls[j] < state.pulls[least]:
                least = j
        budget = budget_of_pass(pass_of(state, p), p.passes, p.horizon, p.K)
        enough = state.pulls[least] >= budget
        more = state.tried < p.passes * p.K or state.news > 0
        if more and (gone >= 0 or enough):
            state.hand = gone if gone >= 0 else worst
            state.up_next = 1
        elif not more and enough:
            state.hand = best
            state.over = 1
        else:
            state.hand = least

    @staticmethod
    def news_within(state: Stream, p: Passes) -> int | None:
        """Return the longest time in which all arms in memory have had enough so many times."""
        budget = budget_of_pass(pass_after_news(state, p), p.passes, p.horizon, p.K)
        return int(state.news * p.M * (math.ceil(budget) + 2))


class GameOfCoins(OnePass):
    """A king with a budget defends itself against each arm of one pass, in levels."""

    name = "game-of-coins"
    title = "Game of Coins"
    summary = "a king with a budget defends itself against every arm, in one pass"
    citation = "Assadi and Wang, STOC 2020"
    State = Game

    @staticmethod
    def observe(state: Game, slot: int, reward: float, p: WithHorizon) -> None:
        """Toss both in turn; at the end of a level the king wins, pays for the next, or falls."""
        credit(state, slot, reward)
        if slot != state.hand or state.over:
            return
        king = state.best
        # The first arm, and a king that comes up itself after arms came or went, meet nobody.
        if slot != king or state.level > 0 or state.tosses > 0:
            share = fair_share(p.horizon, p.K)
            if state.level == 0 and state.tosses == 0:
                # A newcomer brings 2 N, and the first level costs N.
                state.budget += share
            state.tosses += 1
            state.lead += reward if slot == king else -reward
            needed = share * 2.0**state.level
            if state.tosses < 2.0 * needed:
                state.hand = 1 - king if state.tosses < needed else king
                return
            state.tosses = 0
            lead = state.lead
            state.lead = 0.0
            if lead < 0.0:
                if state.budget >= 2.0 * needed:
                    state.budget -= 2.0 * needed
                    state.level += 1
                    state.hand = 1 - king
                    return
                king = 1 - king
                state.best = king
                state.budget = 0.0
            state.level = 0
        go_on(state, p.K)

    @staticmethod
    def withdraw(state: Game, slot: int, p: WithHorizon) -> bool:
        """Go on without an arm that is not the king; its tosses are forgotten."""
        state.level = 0
        state.tosses = 0
        state.lead = 0.0
        return withdraw_other(state, slot)

    @staticmethod
    def news_within(state: Game, p: WithHorizon) -> int | None:
        """Return the longest time that the king can pay for levels against so many arms."""
        n, share = state.news, fair_share(p.horizon, p.K)
        return int(2.0 * n * (3.0 * share + state.budget + n * share)) + 1 if n else 0

    @staticmethod
    def calm(state: Game, slot: int, p: WithHorizon) -> tuple[int, int]:
        """Until the tosses of this arm in the level are done; for ever once the pass is over."""
        if state.over:
            return FOREVER, FOREVER
        if state.tried == 1 or (state.level == 0 and state.tosses == 0):
            return 0, 0
        needed = fair_share(p.horizon, p.K) * 2.0**state.level
        end = 2.0 * needed if slot == state.best else needed
        left = int(max(0.0, end - state.tosses - 1.0))
        return left, left

    @staticmethod
    def absorb(state: Game, slot: int, pulls: int, wins: int, p: WithHorizon) -> None:
        """Count tosses and the lead."""
        if not state.over:
            state.tosses += pulls
            state.lead += wins if slot == state.best else -wins

    @staticmethod
    def check(state: Game, p: WithHorizon) -> None:
        """Refuse a level that no budget pays for, and a king that would lose its place."""
        check_stream(state, p)
        if state.up_next and state.hand == state.best:
            raise StateError("the saved policy would put the next arm in the king's place")
        refuse_unless_counted(state, state.tosses)
        most = fair_share(p.horizon, 1) * state.tried  # there may have been fewer arms before
        if not (0 <= state.level <= 64 and 0.0 <= state.budget <= most):
            raise StateError(f"the saved policy cannot be in level {state.level}")
        if abs(state.lead) > state.tosses:
            raise StateError(f"the saved king cannot lead by {state.lead}")
