"""Two rules of Berry et al. as a printed table has them, not as they are defined.

The paper on bounded arm memory (arXiv 1901.08387, Table 1) gives the sqrt(T)-run and the
sqrt(T) ln T-learning policies far more regret than their definitions do (those are `sqrt-run` and
`sqrt-log-learning`, in `runs.py`). Its numbers come out when only the last two arms are stored,
where the rules recall the arm with the longest run of all:

    sqrt-run-tabulated  1-failure until a run of sqrt(T) successes, then that arm for ever; after
                        sqrt(T) arms for ever the better of the last two, by their true means
    sqrt-log-tabulated  1-failure for sqrt(T) ln T pulls, then for ever the one of the last two arms
                        with more wins, the later one in a tie

This is our reading of the table, by simulation; the paper does not say so. In the first, the one of
the last two with the longer run would have a regret on I1 beyond the table's by more than two and
a half of its standard errors. In the second, the table does not show which arm wins a tie. The
first depends on true means, so it works in simulations only. The rules themselves are from Berry,
Chen, Zame, Heath and Shepp, "Bandit problems with infinitely many arms", Annals of Statistics 25,
1997.
"""

from __future__ import annotations

import math

from handful.core.state import Float, Floats, Int
from handful.policies.hand import (
    HandState,
    WithHorizon,
    check_filled,
    check_hand,
    refuse_unless_counted,
    toss,
)
from handful.policies.runs import (
    BerryPolicy,
    calm_until_learned,
    calm_until_settled,
    learning_pulls,
)


class LastTwo(HandState):
    """The last two arms, and the run of successes of the one in hand; sqrt(T) once settled."""

    run: Float
    true_mean: Floats


class LastTwoLearning(HandState):
    """The last two arms, and the pulls of the first part."""

    learned: Int


class SqrtRunTabulated(BerryPolicy):
    """1-failure until a run of sqrt(T) successes or sqrt(T) arms, then the better of the last two.

    The better by true mean, so for simulations only.
    """

    name = "sqrt-run-tabulated"
    title = "sqrt(T)-run (as tabulated)"
    summary = "as sqrt-run, but it recalls the better of the last two arms; simulations only"
    own_memory = 2
    clairvoyant = True
    State = LastTwo

    @staticmethod
    def observe(state: LastTwo, slot: int, reward: float, p: WithHorizon) -> None:
        """Count the run; at a failure take the next arm, or at last the better of the two."""
        success = toss(state, slot, reward)
        m = math.sqrt(p.horizon)
        if slot != state.hand or state.run >= m:
            return
        if success:
            state.run += 1.0
        elif state.tried < m:
            state.hand = 1 - slot
            state.run = 0.0
            state.up_next = 1
        else:
            if state.tried > 1 and state.true_mean[1 - slot] > state.true_mean[slot]:
                slot = 1 - slot
            state.hand = slot
            state.run = m

    @staticmethod
    def check(state: LastTwo, p: WithHorizon) -> None:
        """Refuse a memory without the last two arms."""
        check_hand(state, p)
        check_filled(state, p)

    @staticmethod
    def calm(state: LastTwo, slot: int, p: WithHorizon) -> tuple[int, int]:
        """Return the successes until a run of sqrt(T) settles it."""
        return calm_until_settled(state.run, p)

    @staticmethod
    def absorb(state: LastTwo, slot: int, pulls: int, wins: int, p: WithHorizon) -> None:
        """Count the run until it settles."""
        if state.run < math.sqrt(p.horizon):
            state.run += pulls


class SqrtLogTabulated(BerryPolicy):
    """1-failure for sqrt(T) ln T pulls, then the one of the last two arms with more wins."""

    name = "sqrt-log-tabulated"
    title = "sqrt(T) ln T-learning (as tabulated)"
    summary = "as sqrt-log-learning, but it recalls the one of the last two arms with more wins"
    own_memory = 2
    State = LastTwoLearning

    @staticmethod
    def observe(state: LastTwoLearning, slot: int, reward: float, p: WithHorizon) -> None:
        """Count pulls; at a failure take the next arm, at last the one with more wins."""
        success = toss(state, slot, reward)
        N = learning_pulls(p)
        if slot != state.hand or state.learned >= N:
            return
        state.learned += 1
        if state.learned >= N:
            if state.tried > 1 and state.sums[1 - slot] > state.sums[slot]:
                slot = 1 - slot
            state.hand = slot
        elif not success:
            state.hand = 1 - slot
            state.up_next = 1

    @staticmethod
    def check(state: LastTwoLearning, p: WithHorizon) -> None:
        """Refuse a memory without the last two arms, and rewards that did not come."""
        check_hand(state, p)
        check_filled(state, p)
        refuse_unless_counted(state, state.learned)

    @staticmethod
    def calm(state: LastTwoLearning, slot: int, p: WithHorizon) -> tuple[int, int]:
        """Return the successes short of the last pull of learning; for ever once it has learned."""
        return calm_until_learned(state.learned, p)

    @staticmethod
    def absorb(state: LastTwoLearning, slot: int, pulls: int, wins: int, p: WithHorizon) -> None:
        """Count the pulls until it has learned."""
        if state.learned < learning_pulls(p):
            state.learned += pulls
