"""Pekoz-style rules: a few looks at an arm say how long to keep it; M = 1. A reconstruction.

Pekoz, "Some memoryless bandit policies", Journal of Applied Probability 40, 2003, has a PolicyA and
a PolicyB of a function f. Its exact rules were not at hand; these are ours, in its spirit:

    a new arm is looked at k times, gives x_1, ..., x_k, is kept for f(x_1) ... f(x_k) more pulls,
    and is given up
    pekoz-a   the same k for all arms
    pekoz-b   k = i for the i-th arm

with f(x) = 1 + (f1 - 1) x: f(0) = 1, and the setting f1 is f(1). Rewards are used as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from handful.policies.automaton import KEEP, NEXT, Automaton, AutomatonPolicy, Registers
from handful.policies.settings import Setting, whole_setting
from handful.rules.base import as_given

_PEKOZ = "Pekoz, Journal of Applied Probability 40, 2003; a reconstruction"
_F1 = Setting(2.0, "f(1); f(0) is 1", lambda x: x >= 1.0, "f1 >= 1")


def _after(x: float, n: int, k: float, f1: float, reg: Registers) -> int:
    """What to do after reward x, the n-th of an arm that is looked at k times."""
    if n == 1:
        reg[1] = 1.0
    if n <= k:
        reg[1] *= 1.0 + (f1 - 1.0) * x
    return NEXT if n >= k + reg[1] else KEEP


def _same(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: vouched, how many more pulls than k the arm is kept for."""
    return slot, _after(reward, n[slot], p[0], p[1], reg)


def _rising(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: vouched, how many more pulls than k the arm is kept for."""
    return slot, _after(reward, n[slot], float(i), p[0], reg)


def _kept(n: int, k: float, reg: Registers) -> int:
    """How many more pulls an arm surely has after its looks, the last one not counted."""
    return int(min(k + reg[1] - n, 2.0**62)) - 1 if n >= k and n > 0 else 0


def _calm_same(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    return max(0, _kept(n[slot], p[0], reg)), 0


def _calm_rising(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    return max(0, _kept(n[slot], float(i), reg)), 0


class PekozA(AutomatonPolicy):
    """Keep an arm as long as its first k rewards say; a reconstruction."""

    name = "pekoz-a"
    title = "Pekoz-style A (reconstruction)"
    summary = "k looks say how long to keep an arm; a reconstruction"
    citation = _PEKOZ
    endless = True
    own_memory = 1
    automaton = Automaton("same_looks", _same, 2, credit=as_given, calm=_calm_same)
    settings: ClassVar[Mapping[str, Setting]] = {
        "k": whole_setting(10.0, "looks at an arm", "k"),
        "f1": _F1,
    }


class PekozB(AutomatonPolicy):
    """Keep the i-th arm as long as its first i rewards say; a reconstruction."""

    name = "pekoz-b"
    title = "Pekoz-style B (reconstruction)"
    summary = "i looks say how long to keep the i-th arm; a reconstruction"
    citation = _PEKOZ
    endless = True
    own_memory = 1
    automaton = Automaton("rising_looks", _rising, 2, credit=as_given, calm=_calm_rising)
    settings: ClassVar[Mapping[str, Setting]] = {"f1": _F1}
