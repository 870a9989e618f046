"""Single pass: every arm (T/K)^(2/3) times, then the one with the best mean for ever.

Memory holds the arm with the best mean so far and the one that is being tried.

Maiti, Patil and Khan, "Multi-armed bandits with bounded arm-memory: near-optimal guarantees for
best-arm identification and regret minimization", NeurIPS 2021. n new arms come up within
n (T/K)^(2/3) + 1 decisions.
"""

from __future__ import annotations

from handful.core.slots import credit
from handful.policies.hand import WithHorizon
from handful.policies.schedule import FOREVER
from handful.policies.streaming import (
    OnePass,
    Stream,
    fair_share,
    go_on,
    mean_of,
)


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
        """Return the pulls until the arm has had its fair share; for ever once the pass is over."""
        if state.over:
            return FOREVER, FOREVER
        left = int(max(0.0, fair_share(p.horizon, p.K) - state.pulls[slot] - 1.0))
        return left, left
