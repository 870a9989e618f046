"""MBSE: fills memory from the stream and pulls the least pulled arm in it, in B passes.

An arm whose interval lies below another's makes room; so does the one with the lowest mean when all
have N_p/(K B) pulls in pass p, N_p = sqrt(N_(p-1)) T^(2^B / (2^(B+1) - 1)), N_0 = 1.

Agarwal, Khanna and Patil, "A sharp memory-regret trade-off for multi-pass streaming bandits", COLT
2022. n new arms come up within n M (N_p/(K B) + 2) decisions, where p is the pass in which the last
of them comes up.
"""

from __future__ import annotations

import math

from handful.core.slots import credit
from handful.policies.streaming import (
    Passes,
    SeveralPasses,
    Stream,
    mean_of,
    pass_after_news,
    pass_of,
    radius_of,
)


def budget_of_pass(p: float, B: float, T: float, K: int) -> float:
    """Return N_p/(K B) of MBSE: N_p = T^(e (1 + 1/2 + ... + 1/2^(p-1))), e = 1/(2 - 2^-B)."""
    power = (2.0 - 2.0 ** (1.0 - p)) / (2.0 - 2.0**-B)
    return math.pow(T, power) / (K * B)


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
