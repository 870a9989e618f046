"""CBT: the lowest confidence bound, if it is below a target, else a new arm.

Chan and Hu, "Infinite arms bandit: optimality via confidence bounds", arXiv 1805.11793, 2018, for T
planned pulls. The paper has losses of at least 0 whose means come near 0. Here a pull loses
top - reward, and `top` must be the least upper bound of the means; a `top` below the highest reward
is our extension. An arm with n rewards, of mean loss x and standard
deviation sd, has the bound

    L = max(x / b, x - c sd / sqrt(n)),   b = c = ln ln T, at least 1

The arm with the lowest L is pulled if L <= target, else a new arm. The target is the sum of all
losses so far divided by T (empirical CBT), or the given `target`, which the paper computes from the
distribution of means: sqrt(2/T) if it is uniform on [0, 1] and rewards are 0 or 1.

For finite sets, too: then new arms are those in the shuffled order, and after the last one the arm
with the lowest L is pulled whatever it is. At most 32,768 arms are stored; then there are no new
ones. An arm whose first reward has not come has no L. If arms are added or removed, the policy
starts again. The lowest L of the other arms is stored, so that all arms are looked at only when the
arm with the lowest is overtaken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from handful.core.slots import admit, credit
from handful.core.state import Float, Floats, Slot, Small, State
from handful.errors import StateError
from handful.policies.base import Policy
from handful.policies.settings import PLANNED, Setting
from handful.policies.subsampled import arm_in, untried

MOST_ARMS = 2**15


class Targeted(State):
    """Who has the lowest bound, and the lowest bound of the others."""

    leader: Slot
    rival: Float
    stale: Small
    """1 if both must be found anew."""
    loss: Float
    """The sum of all losses."""
    squares: Floats
    """The sum of the squares of the arm's rewards."""


class Aim(NamedTuple):
    """Parameters: the least upper bound of the means, the target, and the horizon."""

    K: int
    M: int
    endless: bool
    top: float
    target: float
    horizon: float


def factor(p: Aim) -> float:
    """Return b, which is also c."""
    return max(1.0, math.log(max(1.0, math.log(p.horizon))))


def bound_of(state: Targeted, slot: int, b: float, p: Aim) -> float:
    """Return L of an arm; infinity where no reward has come."""
    n = state.pulls[slot]
    if n == 0:
        return math.inf
    mean = state.sums[slot] / n
    x = p.top - mean
    variance = max(0.0, state.squares[slot] / n - mean * mean)
    return max(x / b, x - b * math.sqrt(variance / n))


def look(state: Targeted, p: Aim) -> None:
    """Find the lowest bound and that of the others; without rewards, the fewest in flight."""
    b = factor(p)
    state.stale = 0
    state.rival = math.inf
    lowest = math.inf
    best = -1
    fewest = 0
    for slot in range(state.held):
        x = bound_of(state, slot, b, p)
        if x < lowest:
            state.rival = lowest
            lowest = x
            best = slot
        elif x < state.rival:
            state.rival = x
        if state.in_flight[slot] < state.in_flight[fewest]:
            fewest = slot
    state.leader = best if best >= 0 else fewest


def limit(p: Aim) -> int:
    """Return the most arms that are met."""
    return min(p.K, MOST_ARMS)


class CBT(Policy):
    """The lowest confidence bound if it is below a target, else a new arm."""

    name = "cbt"
    title = "CBT"
    summary = "the lowest confidence bound of the loss if it is below a target, else a new arm"
    citation = "Chan and Hu, arXiv 1805.11793, 2018"
    any_arms = True
    unbounded = True
    needs_horizon = True
    State = Targeted
    Parameters = Aim
    settings: ClassVar[Mapping[str, Setting]] = {
        "top": Setting(
            1.0, "the least upper bound of the means", lambda x: 0.0 < x <= 1.0,
            "a number above 0 and up to 1",
        ),
        "target": Setting(
            0.0, "the target for mean losses; 0: by the losses so far", lambda x: 0.0 <= x <= 1.0,
            "a number from 0 to 1",
        ),
        "horizon": PLANNED,
    }  # fmt: skip

    @classmethod
    def slots_for(cls, horizon: int, values: dict[str, float]) -> int:
        """Return the most arms that so many pulls can meet."""
        return min(horizon + 1, MOST_ARMS)

    @staticmethod
    def start(state: Targeted, p: Aim) -> None:
        """Take the first arm."""
        admit(state, 0, arm_in(0, state, p))
        state.squares[0] = 0.0
        state.rival = math.inf

    @staticmethod
    def propose(state: Targeted, p: Aim) -> int:
        """Return the slot with the lowest bound, or that of a new arm."""
        last = state.held - 1
        if untried(state, last):
            return last
        target = p.target if p.target > 0.0 else max(0.0, state.loss / p.horizon)
        if state.stale or state.pulls[state.leader] == 0:
            look(state, p)
        x = bound_of(state, state.leader, factor(p), p)
        room = state.held < limit(p)
        if x > state.rival and (state.rival <= target or not room):
            look(state, p)
            x = bound_of(state, state.leader, factor(p), p)
        if x <= target or not room:
            return state.leader
        state.rival = min(state.rival, x)
        admit(state, last + 1, arm_in(last + 1, state, p))
        state.squares[last + 1] = 0.0
        state.leader = last + 1
        return last + 1

    @staticmethod
    def observe(state: Targeted, slot: int, reward: float, p: Aim) -> None:
        """Count the reward and its loss."""
        credit(state, slot, reward)
        state.squares[slot] += reward * reward
        state.loss += p.top - reward
        if slot != state.leader:
            state.stale = 1

    @staticmethod
    def check(state: Targeted, p: Aim) -> None:
        """Refuse other arms than those in order, and sums that no rewards have."""
        if state.held > limit(p):
            raise StateError(f"the saved policy has {state.held} arms, more than it takes")
        if any(state.arm[slot] != arm_in(slot, state, p) for slot in range(state.held)):
            raise StateError("the saved memory does not hold the first arms in order")
        if state.leader >= state.held or state.stale not in (0, 1):
            raise StateError(f"the saved policy cannot have its leader in slot {state.leader}")
        if abs(state.loss) > state.rewards:
            raise StateError(f"the saved policy cannot have lost {state.loss}")
        for slot in range(state.held):
            if not 0.0 <= state.squares[slot] <= state.sums[slot]:
                raise StateError(f"the saved squares of slot {slot} are not possible")
