"""GLR-klUCB: kl-UCB that forgets the rewards of an arm when a test finds that its mean has changed.

Besson, Kaufmann, Maillard and Seznec, "Efficient change-point detection for tackling
piecewise-stationary bandits", Journal of Machine Learning Research 23, 2022, for T planned pulls.
n and s are the arm's rewards since its last restart and their sum, mean = s/n, and tau the number
of all rewards at that restart; k - 1 is the number of restarts, and t the number of all rewards.

    score     the largest u with n kl(mean, u) <= ln(t - tau); the arm with the highest is pulled
    explored  every arm once in K / alpha decisions, alpha = 0.1 sqrt(k K ln(T) / T), from the
              last restart on
    restart   n = 0, if for some i the first i of the n rewards, with mean m, and the others,
              with mean m', have i kl(m, mean) + (n - i) kl(m', mean) >= ln(3 n sqrt(n) / delta),
              delta = 1 / sqrt(T); of this arm, or, with `local=0`, of all arms

**Departures.** The paper tests every i after every reward, and so stores all rewards. Ours stores
the sums of up to 64 blocks of rewards of an arm, and tests the borders of blocks, at every tenth
reward: when there are 64 blocks, neighbours are merged, so that a border is off by n/32 at most.
The threshold has the leading term of the paper's, and the score is that of kl-UCB with c = 0. The
paper's experiments, too, take simpler thresholds and do not test after every reward. The paper's
theory has 1 in place of the 0.1 in alpha, which makes a twelfth of all pulls exploration with 50
arms and T = 10^5; its authors also take smaller factors in experiments.

Rewards that come late count when they come, also those of decisions from before a restart. If arms
are added or removed, the policy starts again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from handful.core.divergence import kl, kl_upper
from handful.core.slots import credit, extend
from handful.core.state import Count, Floats, HistoryFloats, Int, Ints, WithHistory
from handful.errors import StateError
from handful.policies.every_arm import EveryArm, admit_all
from handful.policies.settings import PLANNED, Setting

BLOCKS = 64
"""The most blocks of rewards of an arm, an even number."""
EVERY = 10
"""Rewards of an arm between two tests."""
EXPLORED = 0.1
"""The factor of alpha; 1 in theory."""


class Blocks(WithHistory):
    """Rewards since the last restart; entry 64 slot + i is the sum of block i of an arm."""

    restarts: Count
    restarted: Int
    """The decisions before the last restart of any arm."""
    n: Ints
    s: Floats
    tau: Ints
    width: Ints
    """The length of the arm's blocks. The last one may be shorter."""
    block: HistoryFloats


class Change(NamedTuple):
    """Parameters: the horizon, and whether a restart is of one arm only."""

    K: int
    M: int
    endless: bool
    horizon: float
    local: float


def period(k: int, p: Change) -> int:
    """Return the number of decisions in which every arm is explored once."""
    alpha = EXPLORED * math.sqrt(k * p.K * math.log(max(p.horizon, 2.0)) / p.horizon)
    return max(p.K, int(p.K / min(1.0, alpha)))


def forget(state: Blocks, slot: int) -> None:
    """Restart an arm."""
    state.n[slot] = 0
    state.s[slot] = 0.0
    state.tau[slot] = state.rewards
    state.width[slot] = 1
    for i in range(BLOCKS):
        state.block[BLOCKS * slot + i] = 0.0


def count(state: Blocks, slot: int, reward: float) -> None:
    """Add a reward to the last block of an arm; merge blocks if all are full."""
    state.block[BLOCKS * slot + state.n[slot] // state.width[slot]] += reward
    state.n[slot] += 1
    state.s[slot] += reward
    if state.n[slot] == BLOCKS * state.width[slot]:
        first = BLOCKS * slot
        for i in range(BLOCKS // 2):
            state.block[first + i] = state.block[first + 2 * i] + state.block[first + 2 * i + 1]
        for i in range(BLOCKS // 2, BLOCKS):
            state.block[first + i] = 0.0
        state.width[slot] *= 2


def has_changed(state: Blocks, slot: int, p: Change) -> bool:
    """Return whether the rewards of an arm before and after some border differ too much."""
    n, s, width = state.n[slot], state.s[slot], state.width[slot]
    mean = s / n
    bar = math.log(3.0 * n * math.sqrt(n) * math.sqrt(p.horizon))
    before = 0.0
    for border in range(1, (n - 1) // width + 1):
        before += state.block[BLOCKS * slot + border - 1]
        i = border * width
        x = i * kl(before / i, mean) + (n - i) * kl((s - before) / (n - i), mean)
        if x >= bar:
            return True
    return False


class GLRKLUCB(EveryArm):
    """kl-UCB on all arms, restarted where the mean of an arm has changed."""

    name = "glr-klucb"
    title = "GLR-klUCB"
    summary = "kl-UCB on all arms, restarted when a test finds that a mean has changed"
    citation = "Besson, Kaufmann, Maillard and Seznec, JMLR 23, 2022"
    needs_horizon = True
    State = Blocks
    Parameters = Change
    settings: ClassVar[Mapping[str, Setting]] = {
        "horizon": PLANNED,
        "local": Setting(
            1.0, "restart only the arm that has changed", lambda x: x in (0.0, 1.0), "0 or 1", True
        ),
    }

    @classmethod
    def entries_for(cls, slots: int, horizon: int, values: dict[str, float]) -> int:
        """Return the blocks of all arms."""
        return BLOCKS * slots

    @staticmethod
    def start(state: Blocks, p: Change) -> None:
        """Put every arm in memory."""
        admit_all(state, p)
        extend(state, BLOCKS * p.K)
        state.restarted = state.clock
        for slot in range(state.held):
            forget(state, slot)

    @staticmethod
    def propose(state: Blocks, p: Change) -> int:
        """Return the slot to explore, or the one with the highest score."""
        turn = (state.clock - state.restarted) % period(state.restarts + 1, p)
        if turn < state.held:
            return int(turn)
        best = fewest = -1
        highest = -math.inf
        for slot in range(state.held):
            n = state.n[slot]
            if n > 0:
                level = math.log(max(1, state.rewards - state.tau[slot])) / n
                x = kl_upper(state.s[slot] / n, level)
                if x > highest:
                    highest = x
                    best = slot
            elif state.in_flight[slot] == 0:
                return slot
            if fewest < 0 or state.in_flight[slot] < state.in_flight[fewest]:
                fewest = slot
        return best if best >= 0 else fewest

    @staticmethod
    def observe(state: Blocks, slot: int, reward: float, p: Change) -> None:
        """Count the reward, and restart if the mean has changed."""
        credit(state, slot, reward)
        count(state, slot, reward)
        if state.n[slot] % EVERY != 0 or not has_changed(state, slot, p):
            return
        state.restarts += 1
        state.restarted = state.clock
        if p.local > 0.0:
            forget(state, slot)
        else:
            for j in range(state.held):
                forget(state, j)

    @staticmethod
    def withdraw(state: Blocks, slot: int, p: Change) -> bool:
        """Start again."""
        return False

    @staticmethod
    def resized(state: Blocks, before: int, p: Change) -> bool:
        """Start again."""
        return False

    @staticmethod
    def recommend_arm(state: Blocks, p: Change) -> int:
        """Return the arm with the most rewards since its restart."""
        best = 0
        for slot in range(1, state.held):
            if state.n[slot] > state.n[best]:
                best = slot
        return int(state.arm[best])

    @staticmethod
    def check(state: Blocks, p: Change) -> None:
        """Refuse blocks that do not have the rewards since the last restart."""
        EveryArm.check(state, p)
        if state.entries != BLOCKS * state.held:
            raise StateError(f"the saved policy cannot have {state.entries} blocks")
        if not (0 <= state.restarts <= state.rewards and 0 <= state.restarted <= state.clock):
            raise StateError(f"the saved policy cannot have restarted {state.restarts} times")
        for slot in range(state.held):
            n, width = state.n[slot], state.width[slot]
            full = BLOCKS * width
            possible = (
                0 <= n <= state.pulls[slot]
                and 0.0 <= state.s[slot] <= n
                and 0 <= state.tau[slot] <= state.rewards - n
                and width >= 1
                and width & (width - 1) == 0
                and (width == 1 or 2 * n >= full)
                and n < full
            )
            if not possible:
                raise StateError(f"the saved blocks of slot {slot} are not possible")
            for i in range(BLOCKS):
                rewards = min(width, max(0, n - i * width))
                if not 0.0 <= state.block[BLOCKS * slot + i] <= rewards:
                    raise StateError(f"the saved block {i} of slot {slot} is not possible")

    @staticmethod
    def place(state: Blocks, p: Change) -> str:
        """Return the number of restarts."""
        return f"all arms in memory; {state.restarts} restarts"
