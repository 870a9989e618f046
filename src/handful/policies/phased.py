"""The paper's Algorithm 1 with any allocation rule: UCB-M, TS-M, MOSS-M.

Roy Chaudhuri and Kalyanakrishnan, "Regret minimisation in multi-armed bandits using bounded arm
memory", AAAI 2020. `schedule.py` says which arms are in memory when and for how many pulls; this
file walks it one pull at a time. With M >= K the plain rule runs on all arms.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from struct import Struct
from typing import ClassVar

from handful.arms import FiniteArms
from handful.errors import SettingError, StateError
from handful.policies.base import Policy, Setting, order_key
from handful.policies.schedule import (
    ENDLESS,
    SubPhase,
    challenger,
    pulls_before,
    schedule,
    sub_phases,
)
from handful.policies.state import Reader
from handful.rules import MOSS, THOMPSON, UCB1, Rule, choose, most_played
from handful.shuffle import Shuffle

_PLACE = Struct("<IQQB")
_PAPER = (
    "Roy Chaudhuri and Kalyanakrishnan, Regret minimisation in multi-armed bandits using bounded "
    "arm memory, AAAI 2020"
)


class PhasedPolicy(Policy):
    """Algorithm 1. A subclass names the allocation rule."""

    rule: ClassVar[Rule]
    citation = _PAPER

    @property
    def _eta(self) -> float:
        return self._values.get("eta", math.nan)

    def _start(self) -> None:
        if not hasattr(self, "rule"):
            raise SettingError(f"{type(self).__name__} names no allocation rule: set rule = ...")
        self._shuffle = Shuffle.of(self._arms.n, order_key(self._seed))
        self._start_position = 0
        self._has_recommended = False
        self._go_to(1, 1)
        self._fill(incumbent=self._shuffle.arm_at(0))

    def _go_to(self, w: int, j: int) -> None:
        self._schedule = schedule(self._arms.n, self._memory.capacity, w, j)
        self._now: SubPhase = next(self._schedule)

    def _fill(self, incumbent: int) -> None:
        ranks = range(self._now.lo, self._now.hi)
        positions = (challenger(rank, self._start_position) for rank in ranks)
        self._memory.refill([incumbent, *(self._shuffle.arm_at(p) for p in positions)])

    def _budget(self) -> int:
        """b: the sub-phase's pulls; when all arms fit, the horizon if given, else the time."""
        if self._now.b < ENDLESS:
            return self._now.b
        horizon = self._values.get("horizon", math.nan)
        return max(1, sum(self._memory.pulls)) if math.isnan(horizon) else int(horizon)

    def _choose(self) -> int:
        memory = self._memory
        return choose(self.rule, memory.pulls, memory.sums, self._budget(), self._eta, self._rng)

    def _learn(self, slot: int, reward: float) -> None:
        self._memory.record(slot, self.rule.credit(reward, self._rng))
        if sum(self._memory.pulls) == self._now.b:
            self._next_sub_phase()

    def _next_sub_phase(self) -> None:
        incumbent = self._memory.arms[most_played(self._memory.pulls)]
        self._now = next(self._schedule)
        if self._now.j == 1:
            self._start_position = self._shuffle.position_of(incumbent)
        self._has_recommended = True
        self._fill(incumbent)

    def _vouch(self) -> int:
        """The arm carried over from the last finished sub-phase, or the most played so far."""
        return 0 if self._has_recommended else most_played(self._memory.pulls)

    @property
    def pulls(self) -> int:
        """How many rewards the policy has taken in."""
        before = pulls_before(self._arms.n, self._memory.capacity, self._now.w, self._now.j)
        return before + sum(self._memory.pulls)

    def _where(self) -> str:
        now = self._now
        if now.b == ENDLESS:
            return "all arms in memory"
        h0 = sub_phases(self._arms.n, self._memory.capacity)
        done = sum(self._memory.pulls)
        return f"phase {now.w}, sub-phase {now.j} of {h0}, pull {done} of {now.b}"

    def _pack(self) -> bytes:
        return _PLACE.pack(self._now.w, self._now.j, self._start_position, self._has_recommended)

    def _unpack(self, reader: Reader) -> None:
        w, j, start, recommended = (int(value) for value in reader.take(_PLACE))
        n, capacity = self._arms.n, self._memory.capacity
        if not (1 <= w <= 64 and 1 <= j <= sub_phases(n, capacity) and start < n):
            raise StateError(f"phase {w}, sub-phase {j} of a saved policy on {n} arms cannot be")
        self._shuffle = Shuffle.of(n, order_key(self._seed))
        self._start_position = start
        self._has_recommended = bool(recommended)
        self._go_to(w, j)
        if len(self._memory) != self._now.hi - self._now.lo + 1:
            raise StateError("the saved memory does not hold the arms of the saved sub-phase")
        if sum(self._memory.pulls) >= self._now.b:
            raise StateError("the saved sub-phase has more pulls than its budget")


class UCBM(PhasedPolicy):
    """UCB-M: Algorithm 1 with UCB1.

    >>> policy = UCBM(arms=["red", "green", "blue"], memory=2, seed=1)
    >>> for _ in range(100):
    ...     arm = policy.select()
    ...     policy.update(arm, 1.0 if arm == "blue" else 0.0)
    >>> policy.recommend()
    'blue'
    """

    name = "ucb-m"
    title = "UCB-M"
    summary = "Algorithm 1 with UCB1; eta scales its exploration"
    rule = UCB1
    settings: ClassVar[Mapping[str, Setting]] = {
        "eta": Setting(1.0, "scale of the exploration bonus", lambda x: x >= 0.0, "eta >= 0")
    }

    def __init__(
        self,
        arms: FiniteArms | int | Iterable[Hashable],
        memory: int,
        *,
        eta: float = 1.0,
        seed: int | None = None,
        rescale: tuple[float, float] | None = None,
        **unknown: float,
    ) -> None:
        super().__init__(arms, memory, seed=seed, rescale=rescale, eta=eta, **unknown)


class TSM(PhasedPolicy):
    """TS-M: Algorithm 1 with Thompson sampling."""

    name = "ts-m"
    title = "TS-M"
    summary = "Algorithm 1 with Thompson sampling"
    rule = THOMPSON


class MOSSM(PhasedPolicy):
    """MOSS-M: Algorithm 1 with MOSS.

    `horizon` matters only when all arms fit in memory, where MOSS needs it; without it, the number
    of pulls so far stands in for it.
    """

    name = "moss-m"
    title = "MOSS-M"
    summary = "Algorithm 1 with MOSS"
    rule = MOSS
    settings: ClassVar[Mapping[str, Setting]] = {
        "horizon": Setting(
            math.nan,
            "pulls in all, for memory >= arms",
            lambda x: 1 <= x <= 2**53 and x == int(x),
            "a whole number >= 1",
        )
    }

    def __init__(
        self,
        arms: FiniteArms | int | Iterable[Hashable],
        memory: int,
        *,
        horizon: int | None = None,
        seed: int | None = None,
        rescale: tuple[float, float] | None = None,
        **unknown: float,
    ) -> None:
        told = {} if horizon is None else {"horizon": horizon}
        super().__init__(arms, memory, seed=seed, rescale=rescale, **told, **unknown)
