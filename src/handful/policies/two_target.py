"""Two-target: give an arm up at its first or its m-th failure, unless it succeeded often before.

Bonald and Proutiere, "Two-target algorithms for infinite-armed bandits with Bernoulli rewards",
NeurIPS 2013. One arm is in hand; T pulls are planned, and the best arms are sure to succeed:

    P(mean > 1 - x) ~ a x^b for small x                       what is known of the arms
    l1 = floor((a T / (b+1))^(1/(b+2)))                       the first target
    l2 = floor(m (a T / (b+1))^(1/(b+1)))                     the second
    the next arm    at its first failure, with fewer than l1 successes
                    at its m-th failure, with fewer than l2

Of the paper's infinite-armed instances, I1 has a = 3/8 and b = 2, I2 has a = b = 1; in I3 and I4 no
arm is sure to succeed, so none ever reaches the second target.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from handful.policies.hand import HandPolicy, HandState, toss
from handful.policies.schedule import FOREVER
from handful.policies.settings import PLANNED, Setting, whole_setting


class Targets(NamedTuple):
    """Parameters: the tail of the distribution of means, the second failure, the horizon."""

    K: int
    M: int
    endless: bool
    a: float
    b: float
    m: float
    horizon: float


def targets(T: float, a: float, b: float, m: float) -> tuple[float, float]:
    """Return both targets."""
    x = a * T / (b + 1.0)
    return math.floor(x ** (1.0 / (b + 2.0))), math.floor(m * x ** (1.0 / (b + 1.0)))


class TwoTarget(HandPolicy):
    """Two targets for the successes before the first and the m-th failure of an arm."""

    name = "two-target"
    title = "Two-target"
    summary = (
        "drop an arm that fails before reaching its target; needs the tail of the distribution of "
        "means"
    )
    citation = "Bonald and Proutiere, NeurIPS 2013"
    endless = True
    own_memory = 1
    needs_horizon = True
    Parameters = Targets
    settings: ClassVar[Mapping[str, Setting]] = {
        "a": Setting(1.0, "P(mean > 1 - x) ~ a x^b", lambda a: 0.0 < a <= 1e9, "a number a > 0"),
        "b": Setting(1.0, "P(mean > 1 - x) ~ a x^b", lambda b: 0.0 < b <= 1e3, "a number b > 0"),
        "m": whole_setting(5.0, "failures at which the second target is asked for", "m"),
        "horizon": PLANNED,
    }

    @staticmethod
    def observe(state: HandState, slot: int, reward: float, p: Targets) -> None:
        """Drop the arm if it fails before reaching its target."""
        success = toss(state, slot, reward)
        if success or slot != state.hand:
            return
        first, second = targets(p.horizon, p.a, p.b, p.m)
        successes = state.sums[slot]
        failures = state.pulls[slot] - successes
        if (failures == 1.0 and successes < first) or (failures == p.m and successes < second):
            state.up_next = 1

    @staticmethod
    def calm(state: HandState, slot: int, p: Targets) -> tuple[int, int]:
        """Return what keeps the slot: successes, and after the m-th failure any rewards."""
        return (FOREVER if state.pulls[slot] - state.sums[slot] >= p.m else 0), FOREVER
