"""UCBConstantSpace: scans of all arms with finer and finer precision, then one arm for ever; M = 4.

Liau, Price, Song and Yang, "Stochastic multi-armed bandits in constant space", AISTATS 2018, whose
regret is of order sum_i (1/gap_i) log(gap_i/gap) log T. This is a reconstruction of a scheme that
such a bound follows from; all constants, and what is said below, are ours.

    round r = 1, 2, ...: each arm in turn, with fresh statistics, is pulled until it is
        out:  mean + sqrt(c ln T / n) < L, the best lower bound known, or
        in:   sqrt(c ln T / n) <= 2^-r

An arm that is in raises L to its mean - sqrt(c ln T / n), if that is larger. The champion and the
runner-up are the two with the highest means of those that are in, the earlier one in a tie. A round
ends when every arm was scanned, and is the last when at most one arm is in, or when the upper bound
of the runner-up is below the lower bound of the champion. Then the champion is pulled for ever; if
no arm is in, the arm that gave L.

The order of the arms is the shuffled one, the same in every round. L is kept from round to round.
The four arms in memory are the one that gave L (vouched for), the champion, the runner-up and the
one being pulled; an arm that is met again while in memory stays in its slot.

With an unknown horizon T is 2, 4, 16, ..., 2^(2^j): at pull T all is forgotten but the place in the
order, and T becomes T^2. Rewards in (0, 1) are used as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from handful.policies.automaton import FOREVER, KEEP, NEXT, Automaton, AutomatonPolicy, Registers
from handful.policies.settings import Setting, whole_setting
from handful.rules.base import as_given

# The registers: slots of the arm that gave L, of the champion and of the runner-up; L; 2^-r; arms
# in and arms scanned in this round, all: settled; pulls; the horizon of this restart, 0: none yet.
_BEST, _FIRST, _SECOND, _L, _EPS, _IN, _SCANNED, _PULLS, _T = range(9)


def _free(reg: Registers) -> int:
    """The first slot that no stored arm has; those before it are in use, so none is skipped."""
    slot = 0
    while (
        slot == reg[_BEST]
        or (reg[_IN] >= 1.0 and slot == reg[_FIRST])
        or (reg[_IN] >= 2.0 and slot == reg[_SECOND])
    ):
        slot += 1
    return slot


def _scan(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    if reg[_T] == 0.0:
        reg[_T] = 2.0 if math.isnan(T) else T
        reg[_EPS] = 0.5
    reg[_PULLS] += 1.0
    if math.isnan(T) and reg[_PULLS] >= reg[_T]:
        reg[_T] *= reg[_T]
        reg[_EPS] = 0.5
        reg[_L] = 0.0
        reg[_IN] = 0.0
        reg[_SCANNED] = 0.0
        return _free(reg), NEXT
    if reg[_SCANNED] >= K:
        return slot, KEEP
    c_ln_T = p[0] * math.log(reg[_T])
    mean = s[slot] / n[slot]
    radius = math.sqrt(c_ln_T / n[slot])
    if mean + radius >= reg[_L]:
        if radius > reg[_EPS]:
            return slot, KEEP
        first = int(reg[_FIRST])
        second = int(reg[_SECOND])
        if reg[_IN] == 0.0 or mean > s[first] / n[first]:
            reg[_SECOND] = reg[_FIRST]
            reg[_FIRST] = float(slot)
        elif reg[_IN] == 1.0 or mean > s[second] / n[second]:
            reg[_SECOND] = float(slot)
        reg[_IN] += 1.0
        if mean - radius > reg[_L]:
            reg[_L] = mean - radius
            reg[_BEST] = float(slot)
    reg[_SCANNED] += 1.0
    if reg[_SCANNED] < K:
        return _free(reg), NEXT
    if reg[_IN] == 0.0:
        return int(reg[_BEST]), KEEP
    first = int(reg[_FIRST])
    if reg[_IN] >= 2.0:
        second = int(reg[_SECOND])
        lower = s[first] / n[first] - math.sqrt(c_ln_T / n[first])
        if s[second] / n[second] + math.sqrt(c_ln_T / n[second]) >= lower:
            reg[_EPS] /= 2.0
            reg[_IN] = 0.0
            reg[_SCANNED] = 0.0
            return _free(reg), NEXT
    reg[_BEST] = float(first)
    return first, KEEP


def _calm(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """Until the arm could be out, were all pulls failures, or in; half as many if not sure."""
    if reg[_T] == 0.0:
        return 0, 0
    left = FOREVER
    if math.isnan(T):
        left = max(0, int(min(reg[_T] - reg[_PULLS], float(FOREVER))) - 1)
    if reg[_SCANNED] >= K:
        return left, 0
    c_ln_T = p[0] * math.log(reg[_T])
    # One pull less than would do, since the bound is rounded.
    k = min(left, int(c_ln_T / (reg[_EPS] * reg[_EPS])) - n[slot] - 1)
    while k > 0:
        pulls = n[slot] + k
        if s[slot] / pulls + math.sqrt(c_ln_T / pulls) >= reg[_L] + 1e-12:
            return k, 0
        k //= 2
    return 0, 0


def _absorb(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    reg[_PULLS] += pulls


class ConstantSpace(AutomatonPolicy):
    """Scan all arms with precision 1/2, 1/4, ... until one is left; a reconstruction."""

    name = "constant-space"
    title = "UCBConstantSpace"
    summary = "scan all arms with finer and finer precision until one is left; a reconstruction"
    citation = "Liau, Price, Song and Yang, AISTATS 2018; a reconstruction"
    own_memory = 4
    automaton = Automaton("scan", _scan, 9, slots=3, credit=as_given, calm=_calm, absorb=_absorb)
    settings: ClassVar[Mapping[str, Setting]] = {
        "c": Setting(2.0, "width of the confidence bounds", lambda x: x > 0.0, "c above 0"),
        "horizon": whole_setting(math.nan, "pulls in all; restarts without it", "T"),
    }
