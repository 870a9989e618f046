"""Two targets: give an arm up at its first failure, or at its m-th, unless it did well before.

Bonald and Proutiere, "Two-target algorithms for infinite-armed bandits with Bernoulli rewards",
NeurIPS 2013. One arm is in hand; T pulls are planned, and the best arms are sure to succeed:

    P(mean > 1 - x) ~ a x^b for small x                       what is known of the arms
    l1 = floor((a T / (b+1))^(1/(b+2)))                       the first target
    l2 = floor(m (a T / (b+1))^(1/(b+1)))                     the second
    the next arm    at its first failure, with fewer than l1 successes
                    at its m-th failure, with fewer than l2

Of the paper's endless instances, I1 has a = 3/8 and b = 2, I2 has a = b = 1; in I3 and I4 no arm is
sure to succeed, so none ever reaches the second target.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from handful.policies.automaton import FOREVER, KEEP, NEXT, Automaton, AutomatonPolicy, Registers
from handful.policies.settings import PLANNED, Setting, whole_setting


def targets(T: float, a: float, b: float, m: float) -> tuple[float, float]:
    """Both targets."""
    x = a * T / (b + 1.0)
    return math.floor(x ** (1.0 / (b + 2.0))), math.floor(m * x ** (1.0 / (b + 1.0)))


def _step(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: vouched."""
    if reward == 0.0:
        first, second = targets(T, p[0], p[1], p[2])
        failures = n[slot] - s[slot]
        if (failures == 1.0 and s[slot] < first) or (failures == p[2] and s[slot] < second):
            return slot, NEXT
    return slot, KEEP


def _calm(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """For ever past both targets; otherwise successes."""
    return (FOREVER if n[slot] - s[slot] >= p[2] else 0), FOREVER


class TwoTarget(AutomatonPolicy):
    """Two targets for the successes before the first and the m-th failure of an arm."""

    name = "two-target"
    title = "Two-target"
    summary = "the next arm at a failure before its targets; needs the law of the best arms"
    citation = "Bonald and Proutiere, NeurIPS 2013"
    endless = True
    own_memory = 1
    needs_horizon = True
    automaton = Automaton("two_target", _step, 1, calm=_calm)
    settings: ClassVar[Mapping[str, Setting]] = {
        "a": Setting(1.0, "P(mean > 1 - x) ~ a x^b", lambda a: 0.0 < a <= 1e9, "a number a > 0"),
        "b": Setting(1.0, "P(mean > 1 - x) ~ a x^b", lambda b: 0.0 < b <= 1e3, "a number b > 0"),
        "m": whole_setting(5.0, "failures at which the second target is asked for", "m"),
        "horizon": PLANNED,
    }
