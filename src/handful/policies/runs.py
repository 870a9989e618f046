"""Rules that look only at runs of successes and failures, and never ask for an arm given up.

They keep one or two arms and a few counters, and were made for endlessly many Bernoulli arms.

Herschkorn, Pekoz and Ross, "Policies without memory for the infinite-armed Bernoulli bandit under
the average-reward criterion", Probability in the Engineering and Informational Sciences 10, 1996:

    herschkorn         the i-th arm until i failures in a row
    fixed-run          every arm until k failures in a row

Robbins, "A sequential decision problem with a finite memory", PNAS 42, 1956, on a finite set, the
first arm coming after the last:

    robbins            every arm until r failures in a row

Berry, Chen, Zame, Heath and Shepp, "Bandit problems with infinitely many arms", Annals of
Statistics 25, 1997:

    k-failure          every arm until its k-th failure
    nonrecalling-run   1-failure until a run of sqrt(T) successes, then that arm for ever
    sqrt-run           the same, but after sqrt(T) arms for ever the one with the longest run
    sqrt-log-learning  1-failure for sqrt(T) ln T pulls, then for ever the arm with the longest run
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from handful.policies.automaton import FOREVER, KEEP, NEXT, Automaton, AutomatonPolicy, Registers
from handful.policies.settings import PLANNED, Setting, whole_setting

_HERSCHKORN = (
    "Herschkorn, Pekoz and Ross, Probability in the Engineering and Informational Sciences 10, 1996"
)
BERRY = "Berry, Chen, Zame, Heath and Shepp, Annals of Statistics 25, 1997"


def _growing(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: vouched, failures in a row."""
    reg[1] = 0.0 if reward > 0.0 else reg[1] + 1.0
    if reg[1] < i:
        return slot, KEEP
    reg[1] = 0.0
    return slot, NEXT


def _fixed(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: vouched, failures in a row."""
    reg[1] = 0.0 if reward > 0.0 else reg[1] + 1.0
    if reg[1] < p[0]:
        return slot, KEEP
    reg[1] = 0.0
    return slot, NEXT


def _k_failure(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: vouched, failures of this arm."""
    if reward == 0.0:
        reg[1] += 1.0
    if reg[1] < p[0]:
        return slot, KEEP
    reg[1] = 0.0
    return slot, NEXT


def _nonrecalling(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: vouched, run of successes; m or more: settled."""
    if reg[1] >= math.sqrt(T):
        return slot, KEEP
    if reward > 0.0:
        reg[1] += 1.0
        return slot, KEEP
    reg[1] = 0.0
    return slot, NEXT


def _m_run(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: slot of the longest run, run, longest run, settled. One slot keeps the longest."""
    if reg[3] > 0.0:
        return slot, KEEP
    m = math.sqrt(T)
    if reward > 0.0:
        reg[1] += 1.0
        if reg[1] >= m:
            reg[0] = float(slot)
            reg[3] = 1.0
        return slot, KEEP
    if i == 1 or reg[1] > reg[2]:
        reg[0] = float(slot)
        reg[2] = reg[1]
    reg[1] = 0.0
    if i >= m:
        reg[3] = 1.0
        return int(reg[0]), KEEP
    return 1 - int(reg[0]), NEXT


def _learning(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: slot of the longest run, pulls, run, longest run. One slot keeps the longest."""
    N = math.sqrt(T) * math.log(T)
    if reg[1] >= N:
        return slot, KEEP
    reg[1] += 1.0
    if reward > 0.0:
        reg[2] += 1.0
    if i == 1 or reg[2] > reg[3]:
        reg[0] = float(slot)
        reg[3] = reg[2]
    if reg[1] >= N:
        return int(reg[0]), KEEP
    if reward > 0.0:
        return slot, KEEP
    reg[2] = 0.0
    return 1 - int(reg[0]), NEXT


# What goes on by itself, for simulations that skip.


def _while_good(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """Successes keep any arm."""
    return 0, FOREVER


def _broken(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    """A success ends the failures in a row."""
    if wins > 0:
        reg[1] = 0.0


def calm_until_settled(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """A run of sqrt(T) successes, counted in reg[1], settles it."""
    m = math.sqrt(T)
    return (FOREVER, 0) if reg[1] >= m else (0, math.ceil(m - reg[1]))


def absorb_until_settled(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    """Count the run, as long as it is not settled."""
    if reg[1] < math.sqrt(T):
        reg[1] += pulls


def _calm_m_run(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    return (FOREVER, 0) if reg[3] > 0.0 else (0, math.ceil(math.sqrt(T) - reg[1]) - 1)


def _absorb_m_run(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    if reg[3] == 0.0:
        reg[1] += pulls


def calm_until_learned(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """The pull at which sqrt(T) ln T is reached, counted in reg[1], may change the arm."""
    N = math.sqrt(T) * math.log(T)
    return (FOREVER, 0) if reg[1] >= N else (0, math.ceil(N - reg[1]) - 1)


def _absorb_learning(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    if reg[1] >= math.sqrt(T) * math.log(T):
        return
    reg[1] += pulls
    reg[2] += pulls
    if i == 1 or reg[2] > reg[3]:
        reg[0] = float(slot)
        reg[3] = reg[2]


class Herschkorn(AutomatonPolicy):
    """The i-th arm until i failures in a row."""

    name = "herschkorn"
    title = "Herschkorn et al., non-stationary"
    summary = "the i-th arm until i failures in a row"
    citation = _HERSCHKORN
    endless = True
    own_memory = 1
    automaton = Automaton("growing", _growing, 2, calm=_while_good, absorb=_broken)


class FixedRun(AutomatonPolicy):
    """Every arm until k failures in a row."""

    name = "fixed-run"
    title = "Herschkorn et al., stationary"
    summary = "every arm until k failures in a row"
    citation = _HERSCHKORN
    endless = True
    own_memory = 1
    automaton = Automaton("fixed", _fixed, 2, calm=_while_good, absorb=_broken)
    settings: ClassVar[Mapping[str, Setting]] = {"k": whole_setting(1.0, "failures in a row", "k")}


class Robbins(AutomatonPolicy):
    """Every arm in turn until r failures in a row."""

    name = "robbins"
    title = "Robbins"
    summary = "every arm in turn until r failures in a row"
    citation = "Robbins, Proceedings of the National Academy of Sciences 42, 1956"
    own_memory = 1
    automaton = Automaton("fixed", _fixed, 2, calm=_while_good, absorb=_broken)
    settings: ClassVar[Mapping[str, Setting]] = {"r": whole_setting(1.0, "failures in a row", "r")}


class KFailure(AutomatonPolicy):
    """Every arm until its k-th failure."""

    name = "k-failure"
    title = "k-failure"
    summary = "every arm until its k-th failure"
    citation = BERRY
    endless = True
    own_memory = 1
    automaton = Automaton("k_failure", _k_failure, 2, calm=_while_good)
    settings: ClassVar[Mapping[str, Setting]] = {"k": whole_setting(1.0, "failures of an arm", "k")}


class NonrecallingRun(AutomatonPolicy):
    """1-failure until a run of sqrt(T) successes, then that arm for ever."""

    name = "nonrecalling-run"
    title = "Non-recalling sqrt(T)-run"
    summary = "drop an arm at its first failure, until a run of sqrt(T) successes"
    citation = BERRY
    endless = True
    own_memory = 1
    needs_horizon = True
    automaton = Automaton(
        "nonrecalling", _nonrecalling, 2, calm=calm_until_settled, absorb=absorb_until_settled
    )
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": PLANNED}


class SqrtRun(AutomatonPolicy):
    """1-failure until a run of sqrt(T) successes or sqrt(T) arms, then the longest run for ever."""

    name = "sqrt-run"
    title = "sqrt(T)-run"
    summary = "as nonrecalling-run, but after sqrt(T) arms the one with the longest run"
    citation = BERRY
    endless = True
    own_memory = 2
    needs_horizon = True
    automaton = Automaton("m_run", _m_run, 4, calm=_calm_m_run, absorb=_absorb_m_run)
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": PLANNED}


class SqrtLogLearning(AutomatonPolicy):
    """1-failure for sqrt(T) ln T pulls, then the arm with the longest run for ever."""

    name = "sqrt-log-learning"
    title = "sqrt(T) ln T-learning"
    summary = "drop arms at their first failure for sqrt(T) ln T pulls, then the longest run"
    citation = BERRY
    endless = True
    own_memory = 2
    needs_horizon = True
    automaton = Automaton(
        "learning", _learning, 4, calm=calm_until_learned, absorb=_absorb_learning
    )
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": PLANNED}
