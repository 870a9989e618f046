"""UCBConstantSpace: scans of all arms with finer and finer precision, then one arm for ever; M = 4.

Liau, Price, Song and Yang, "Stochastic multi-armed bandits in constant space", AISTATS 2018, whose
regret is of order sum_i (1/gap_i) log(gap_i/gap) log T. This is a reconstruction of a scheme with
such a bound; all constants, and the description below, are ours.

    round r = 1, 2, ...: each arm in turn, with fresh statistics, is pulled until it is
        out:  mean + sqrt(c ln T / n) < L, the best lower bound known, or
        in:   sqrt(c ln T / n) <= 2^-r

An arm that is in raises L to its mean - sqrt(c ln T / n), if that is larger. The champion and the
runner-up are the two with the highest means of those that are in, the earlier one in a tie. A round
ends when every arm was scanned, and is the last when at most one arm is in, or when the upper bound
of the runner-up is below the lower bound of the champion. Then the champion is pulled for ever; if
no arm is in, the arm that gave L.

The order of the arms is the shuffled one, the same in every round. L carries over from round to
round. The four arms in memory are the one that gave L (recommended), the champion, the runner-up
and the one being pulled; an arm that comes up again while in memory stays in its slot.

**Arms that come and go.** New arms are scanned next; a policy that has settled scans them with its
last precision. A scan takes at most c ln T / 4^-r pulls, so n new arms come up within n (4 c ln T /
4^-r + 2) decisions: the round may end among them. With an unknown horizon a restart may come, too,
which squares T at most once it is below the clock. If one of the arms in memory is removed, the
policy starts again.

With an unknown horizon T is 2, 4, 16, ..., 2^(2^j): at pull T everything except the place in the
order is forgotten, and T becomes T^2. Rewards in (0, 1) are used as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from handful.core.slots import credit
from handful.core.state import Float, Int, Slot
from handful.errors import StateError
from handful.policies.hand import HandPolicy, HandState, bring_up, check_hand, renumber
from handful.policies.schedule import FOREVER
from handful.policies.settings import Setting, whole_setting


class Scan(HandState):
    """The three arms that are stored, and the place in the scan."""

    best: Slot
    """Gave the lower bound L."""
    champion: Slot
    runner_up: Slot
    L: Float
    precision: Float
    """2^-r."""
    inside: Int
    """Arms that are in, in this round."""
    scanned: Int
    """Arms scanned in this round; all of them: settled."""
    T: Float
    """The horizon of this restart."""


class ScanParameters(NamedTuple):
    """Parameters: the width of confidence bounds and the horizon, NaN if unset."""

    K: int
    M: int
    endless: bool
    c: float
    horizon: float = math.nan


def free_slot(state: Scan) -> int:
    """Return the first slot that no stored arm has; those before it are in use."""
    slot = 0
    while (
        slot == state.best
        or (state.inside >= 1 and slot == state.champion)
        or (state.inside >= 2 and slot == state.runner_up)
    ):
        slot += 1
    return slot


def mean_of(state: Scan, slot: int) -> float:
    """Return the mean of the arm in a slot."""
    return state.sums[slot] / state.pulls[slot]


def scan_next(state: Scan) -> None:
    """Let the next arm come up in a free slot."""
    state.hand = free_slot(state)
    state.up_next = 1


class ConstantSpace(HandPolicy):
    """Scan all arms with precision 1/2, 1/4, ... until one is left; a reconstruction."""

    name = "constant-space"
    title = "UCBConstantSpace"
    summary = "scan all arms with finer and finer precision until one is left; a reconstruction"
    citation = "Liau, Price, Song and Yang, AISTATS 2018; a reconstruction"
    own_memory = 4
    trials = False
    State = Scan
    Parameters = ScanParameters
    settings: ClassVar[Mapping[str, Setting]] = {
        "c": Setting(2.0, "width of the confidence bounds", lambda x: x > 0.0, "c above 0"),
        "horizon": whole_setting(math.nan, "pulls in all; restarts without it", "T"),
    }

    @staticmethod
    def start(state: Scan, p: ScanParameters) -> None:
        """Take the first arm in hand, with the precision of the first round."""
        state.T = 2.0 if math.isnan(p.horizon) else p.horizon
        state.precision = 0.5
        bring_up(state, 0, p, True)

    @staticmethod
    def observe(state: Scan, slot: int, reward: float, p: ScanParameters) -> None:
        """Pull the arm until it is out or in; after the last arm of a round, settle or go on."""
        credit(state, slot, reward)
        if slot != state.hand:
            return
        if math.isnan(p.horizon) and state.clock >= state.T:
            state.T *= state.T
            state.precision = 0.5
            state.L = 0.0
            state.inside = 0
            state.scanned = 0
            scan_next(state)
            return
        if state.scanned >= p.K:
            return
        c_ln_T = p.c * math.log(state.T)
        mean = mean_of(state, slot)
        radius = math.sqrt(c_ln_T / state.pulls[slot])
        if mean + radius >= state.L:
            if radius > state.precision:
                return
            if state.inside == 0 or mean > mean_of(state, state.champion):
                state.runner_up = state.champion
                state.champion = slot
            elif state.inside == 1 or mean > mean_of(state, state.runner_up):
                state.runner_up = slot
            state.inside += 1
            if mean - radius > state.L:
                state.L = mean - radius
                state.best = slot
        state.scanned += 1
        if state.scanned < p.K:
            scan_next(state)
        elif state.inside == 0:
            state.hand = state.best
        elif state.inside >= 2 and overlap(state, c_ln_T):
            state.precision /= 2.0
            state.inside = 0
            state.scanned = 0
            scan_next(state)
        else:
            state.best = state.hand = state.champion

    @staticmethod
    def resized(state: Scan, before: int, p: ScanParameters) -> bool:
        """Continue the scan; once settled, scan new arms."""
        renumber(state, before, p)
        if state.scanned < before:
            state.scanned = min(state.scanned, p.K - 1)
        elif state.news > 0:
            scan_next(state)
        else:
            state.scanned = p.K
        state.inside = min(state.inside, state.scanned)
        return True

    @staticmethod
    def news_within(state: Scan, p: ScanParameters) -> int | None:
        """Return the longest time that scans of so many arms take."""
        if state.news == 0:
            return 0
        within, T = 0.0, state.T
        # ln T grows so slowly that this ends after a few steps.
        while True:
            scan = p.c * math.log(T) * 4.0 / (state.precision * state.precision) + 2.0
            longer = math.ceil(state.news * scan) + 1
            if longer <= within or not math.isnan(p.horizon):
                return int(max(longer, within))
            within = longer
            T = max(T, (state.clock + within) * (state.clock + within))

    @staticmethod
    def recommend_arm(state: Scan, p: ScanParameters) -> int:
        """Return the arm with the best lower bound."""
        return state.arm[state.best]

    @staticmethod
    def calm(state: Scan, slot: int, p: ScanParameters) -> tuple[int, int]:
        """Return (k, 0): for k pulls the arm can be neither out nor in. Halving finds k."""
        left = FOREVER
        if math.isnan(p.horizon):
            left = max(0, int(min(state.T - state.clock, float(FOREVER))) - 1)
        if state.scanned >= p.K:
            return left, 0
        c_ln_T = p.c * math.log(state.T)
        # One pull less than would do, since the bound is rounded.
        needed = c_ln_T / (state.precision * state.precision)
        k = min(left, int(needed) - state.pulls[slot] - 1)
        while k > 0:
            pulls = state.pulls[slot] + k
            if state.sums[slot] / pulls + math.sqrt(c_ln_T / pulls) >= state.L + 1e-12:
                return k, 0
            k //= 2
        return 0, 0

    @staticmethod
    def check(state: Scan, p: ScanParameters) -> None:
        """Refuse a place in the scan that cannot be."""
        check_hand(state, p)
        stored = (state.best, state.champion, state.runner_up)
        fits = 0 <= state.scanned <= p.K and 0 <= state.inside <= state.scanned
        if not fits or any(slot >= state.held for slot in stored):
            raise StateError("the saved policy has stored an arm that its memory does not have")
        if not (0.0 <= state.L <= 1.0 and 0.0 < state.precision <= 0.5 and state.T >= 1.0):
            raise StateError("the saved policy has an impossible precision")
        if not math.isnan(p.horizon) and p.horizon != state.T:
            raise StateError("the saved policy has two horizons")


def overlap(state: Scan, c_ln_T: float) -> bool:
    """Return whether the confidence intervals of champion and runner-up overlap."""
    first, second = state.champion, state.runner_up
    lower = mean_of(state, first) - math.sqrt(c_ln_T / state.pulls[first])
    return mean_of(state, second) + math.sqrt(c_ln_T / state.pulls[second]) >= lower
