"""MPSE: a champion keeps its statistics and meets every arm in each of B passes.

In a duel the less pulled of the two is pulled until their intervals part, or both have b_p = (T
B/K)^(2 beta_p) pulls in pass p, beta_p = 2^(B-p) (2^p - 1) / (2^(B+1) - 1). Then the one with the
higher mean is the champion.

Li, Zhang, Wang and Li, "Tight memory-regret lower bounds for streaming bandits", 2023. n new arms
come up within n (2 b_p + 4) decisions, where p is the pass in which the last of them comes up.
"""

from __future__ import annotations

import math

from handful.core.slots import credit
from handful.core.state import Int
from handful.errors import StateError
from handful.policies.streaming import (
    Passes,
    SeveralPasses,
    Stream,
    check_stream,
    go_on,
    mean_of,
    pass_after_news,
    pass_of,
    radius_of,
    resize_stream,
    withdraw_other,
)


class Duel(Stream):
    """A stream in which the best arm meets the others one by one."""

    seen: Int
    """The last arm that has had a reward, by its number in the order."""


def pulls_of_pass(p: float, B: float, T: float, K: int) -> float:
    """Return b_p of MPSE."""
    beta = (1.0 - 2.0**-p) / (2.0 - 2.0**-B)
    return math.pow(max(1.0, T * B / K), 2.0 * beta)


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
        # The champion itself may come up: then there is no arm to compare it with.
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
        """Continue without an arm that is not the best; a duel with it is over."""
        state.seen = state.tried
        return withdraw_other(state, slot)

    @staticmethod
    def resized(state: Duel, before: int, p: Passes) -> bool:
        """Continue the passes, or reopen them for new arms."""
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
        """Refuse a duel without a second arm."""
        check_stream(state, p)
        if not state.tried - 1 <= state.seen <= state.tried:
            raise StateError(f"the saved policy cannot have seen {state.seen} arms")
        alone = state.held == 1 and state.tried == state.seen
        if alone and not (state.over or state.up_next):
            raise StateError("the saved policy has no arm to compare its champion with")
