"""Two rules of Berry et al. as a printed table has them, and not as they are defined.

The paper on bounded arm memory (arXiv 1901.08387, Table 1) gives the sqrt(T)-run and the
sqrt(T) ln T-learning policies far more regret than their definitions do (those are `sqrt-run` and
`sqrt-log-learning`, in `runs.py`). Its numbers come out when only the last two arms are kept, where
the rules recall the arm with the longest run of all:

    sqrt-run-tabulated  1-failure until a run of sqrt(T) successes, then that arm for ever; after
                        sqrt(T) arms for ever the better of the last two, by their true means
    sqrt-log-tabulated  1-failure for sqrt(T) ln T pulls, then for ever the one of the last two arms
                        with more wins, the later one in a tie

This is our reading of the table, by simulation; the paper does not say so. In the first, the one of
the last two with the longer run would have a regret on I1 beyond the table's by more than two and
a half of its standard errors. In the second, which arm wins a tie is not to be told from the table.
The first looks at true means, so it works in simulations only. The rules themselves are from Berry,
Chen, Zame, Heath and Shepp, "Bandit problems with infinitely many arms", Annals of Statistics 25,
1997.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from handful.policies.automaton import KEEP, NEXT, Automaton, AutomatonPolicy, Registers
from handful.policies.runs import (
    BERRY,
    absorb_until_settled,
    calm_until_learned,
    calm_until_settled,
)
from handful.policies.settings import PLANNED, Setting


def _m_run_of_two(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: vouched, run of successes, m or more: settled; the true means of the two slots."""
    m = math.sqrt(T)
    if reg[1] >= m:
        return slot, KEEP
    if reward > 0.0:
        reg[1] += 1.0
        return slot, KEEP
    if i < m:
        reg[0] = 1.0 - slot
        reg[1] = 0.0
        return 1 - slot, NEXT
    if i > 1 and reg[3 - slot] > reg[2 + slot]:
        slot = 1 - slot
    reg[0] = float(slot)
    reg[1] = m
    return slot, KEEP


def _learning_of_two(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: vouched, pulls."""
    N = math.sqrt(T) * math.log(T)
    if reg[1] >= N:
        return slot, KEEP
    reg[1] += 1.0
    if reg[1] >= N:
        if i > 1 and s[1 - slot] > s[slot]:
            slot = 1 - slot
        reg[0] = float(slot)
        return slot, KEEP
    if reward > 0.0:
        return slot, KEEP
    reg[0] = 1.0 - slot
    return 1 - slot, NEXT


def _absorb_learning_of_two(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    if reg[1] < math.sqrt(T) * math.log(T):
        reg[1] += pulls


class SqrtRunTabulated(AutomatonPolicy):
    """1-failure until a run of sqrt(T) successes or sqrt(T) arms, then the better of the last two.

    The better by true mean, so for simulations only.
    """

    name = "sqrt-run-tabulated"
    title = "sqrt(T)-run (as tabulated)"
    summary = "as sqrt-run, but it recalls the better of the last two arms; simulations only"
    citation = BERRY
    endless = True
    own_memory = 2
    needs_horizon = True
    automaton = Automaton(
        "m_run_of_two", _m_run_of_two, 4, clairvoyant=True,
        calm=calm_until_settled, absorb=absorb_until_settled,
    )  # fmt: skip
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": PLANNED}


class SqrtLogTabulated(AutomatonPolicy):
    """1-failure for sqrt(T) ln T pulls, then the one of the last two arms with more wins."""

    name = "sqrt-log-tabulated"
    title = "sqrt(T) ln T-learning (as tabulated)"
    summary = "as sqrt-log-learning, but it recalls the one of the last two arms with more wins"
    citation = BERRY
    endless = True
    own_memory = 2
    needs_horizon = True
    automaton = Automaton(
        "learning_of_two", _learning_of_two, 2,
        calm=calm_until_learned, absorb=_absorb_learning_of_two,
    )  # fmt: skip
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": PLANNED}
