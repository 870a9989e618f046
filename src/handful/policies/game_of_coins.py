"""Game of Coins: a king defends itself against each arm in levels.

At level l = 1, 2, ... both are tossed N 2^(l-1) times, N = (T/K)^(2/3), and the king pays as much
from a budget, to which each newcomer adds 2 N. It wins if its mean in the level is not lower;
otherwise the next level follows, and a king that cannot pay for that has lost.

Assadi and Wang, "Exploration with limited memory: streaming algorithms for coin tossing, noisy
comparisons, and multi-armed bandits", STOC 2020; there the levels grow as a tower and the budget is
100 times as large, since the aim is to be right with high probability. n new arms come up within
2 n (3 N + X + n N) + 1 decisions, where X is the king's budget.
"""

from __future__ import annotations

from handful.core.slots import credit
from handful.core.state import Float, Int
from handful.errors import StateError
from handful.policies.hand import WithHorizon, refuse_unless_counted
from handful.policies.schedule import FOREVER
from handful.policies.streaming import (
    OnePass,
    Stream,
    check_stream,
    fair_share,
    go_on,
    withdraw_other,
)


class Game(Stream):
    """A king, its budget, and the level in which it defends itself."""

    budget: Float
    level: Int
    """From 0."""
    tosses: Int
    """In this level, of both."""
    lead: Float
    """The king's rewards in this level less the other's."""


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
        # The first arm, and a king that comes up itself after arms came or went, have no opponent.
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
        """Continue without an arm that is not the king; its tosses are forgotten."""
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
        """Return the tosses that the level still needs of this arm; for ever after the pass."""
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
