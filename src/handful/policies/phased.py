"""The paper's Algorithm 1 with any allocation rule, and Algorithm 2, which runs it on endless arms.

Roy Chaudhuri and Kalyanakrishnan, "Regret minimisation in multi-armed bandits using bounded arm
memory", AAAI 2020. `schedule.py` says which arms are in memory when and for how many pulls; this
file walks it one pull at a time. With all arms in memory the plain rule runs.
"""

from __future__ import annotations

import math
from itertools import islice
from struct import Struct
from typing import ClassVar

from handful.core.shuffle import Shuffle
from handful.errors import RuleError, SettingError, StateError
from handful.policies.base import Policy, order_key
from handful.policies.schedule import (
    ENDLESS,
    Round,
    SubPhase,
    challenger,
    first_horizon,
    pulls_before,
    round_key,
    rounds,
    schedule,
    sub_phases,
)
from handful.policies.state import Reader
from handful.rules import Rule, choose, most_played

_PLACE = Struct("<BIQQQB")
_PAPER = (
    "Roy Chaudhuri and Kalyanakrishnan, Regret minimisation in multi-armed bandits using bounded "
    "arm memory, AAAI 2020"
)


class PhasedPolicy(Policy):
    """Algorithm 1. A subclass names the allocation rule."""

    rule: ClassVar[Rule]
    citation = _PAPER

    @classmethod
    def round_shape(cls, memory: int, settings: dict[str, float]) -> tuple[float, float]:
        """B and alpha of Algorithm 2; (0, 0) for the one endless round of Algorithm 1."""
        return 0.0, 0.0

    @property
    def _eta(self) -> float:
        return self._values.get("eta", 1.0)

    def _start(self) -> None:
        if not hasattr(self, "rule"):
            raise SettingError(f"{type(self).__name__} names no allocation rule: set rule = ...")
        self._vouched: int | None = None
        self._go_to(1, 1, 1)
        self._open_round()

    def _go_to(self, r: int, w: int, j: int) -> None:
        shape = self.round_shape(self._memory.capacity, self._values)
        self._rounds = rounds(self._arms.n, *shape, r)
        self._round: Round = next(self._rounds)
        earlier = islice(rounds(self._arms.n, *shape), r - 1)
        self._before = sum(round_.pulls for round_ in earlier)
        self._enter(w, j)

    def _enter(self, w: int, j: int) -> None:
        """Shuffle the round's arms and stand before a sub-phase of it."""
        key = round_key(order_key(self._seed), self._round.r)
        self._shuffle = Shuffle.of(self._round.arms, key)
        self._schedule = schedule(self._round.arms, self._memory.capacity, w, j)
        self._now: SubPhase = next(self._schedule)

    def _open_round(self) -> None:
        self._start_position = 0
        self._fill(incumbent=self._shuffle.arm_at(0))

    def _fill(self, incumbent: int) -> None:
        ranks = range(self._now.lo, self._now.hi)
        positions = (challenger(rank, self._start_position) for rank in ranks)
        self._memory.refill([incumbent, *(self._shuffle.arm_at(p) for p in positions)])

    def _budget(self) -> int:
        """b: the sub-phase's pulls; with all arms in memory the round's; at last the horizon.

        A policy that is not told the horizon takes the number of pulls so far in its place.
        """
        if self._now.b < ENDLESS:
            return self._now.b
        if self._round.pulls < ENDLESS:
            return self._round.pulls
        horizon = self._values.get("horizon", math.nan)
        return max(1, sum(self._memory.pulls)) if math.isnan(horizon) else int(horizon)

    def _choose(self) -> int:
        memory = self._memory
        return choose(self.rule, memory.pulls, memory.sums, self._budget(), self._eta, self._rng)

    def _learn(self, slot: int, reward: float) -> None:
        credit = self.rule.credit(reward, self._rng)
        if not 0.0 <= credit <= 1.0:
            raise RuleError(f"the rule {self.rule.name} credits {credit!r}: give it in [0, 1]")
        self._memory.record(slot, credit)
        round_is_over = self._pulls_in_round() == self._round.pulls
        if round_is_over or sum(self._memory.pulls) == self._now.b:
            self._vouched = self._memory.arms[most_played(self._memory.pulls)]
            if round_is_over:
                self._before += self._round.pulls
                self._round = next(self._rounds)
                self._enter(1, 1)
                self._open_round()
            else:
                self._next_sub_phase(self._vouched)

    def _next_sub_phase(self, incumbent: int) -> None:
        self._now = next(self._schedule)
        if self._now.j == 1:
            self._start_position = self._shuffle.position_of(incumbent)
        self._fill(incumbent)

    def _vouch(self) -> int:
        """The arm that the last finished sub-phase recommended, or the most played so far."""
        if self._vouched is not None:
            return self._vouched
        return self._memory.arms[most_played(self._memory.pulls)]

    def _pulls_in_round(self) -> int:
        now = self._now
        before = pulls_before(self._round.arms, self._memory.capacity, now.w, now.j)
        return before + sum(self._memory.pulls)

    @property
    def pulls(self) -> int:
        """How many rewards the policy has taken in."""
        return self._before + self._pulls_in_round()

    def _where(self) -> str:
        now = self._now
        where = f"round {self._round.r} on {self._round.arms} arms, " if self._draws_arms else ""
        if now.b == ENDLESS:
            return where + "all arms in memory"
        h0 = sub_phases(self._round.arms, self._memory.capacity)
        done = sum(self._memory.pulls)
        return f"{where}phase {now.w}, sub-phase {now.j} of {h0}, pull {done} of {now.b}"

    def _pack(self) -> bytes:
        return _PLACE.pack(
            self._round.r,
            self._now.w,
            self._now.j,
            self._start_position,
            self._vouched or 0,
            self._vouched is not None,
        )

    def _unpack(self, reader: Reader) -> None:
        r, w, j, start, vouched, has_vouched = (int(value) for value in reader.take(_PLACE))
        if not 1 <= r <= (64 if self._draws_arms else 1):
            raise StateError(f"a saved policy cannot be in round {r}")
        self._go_to(r, 1, 1)
        n, capacity = self._round.arms, self._memory.capacity
        if not (1 <= w <= 64 and 1 <= j <= sub_phases(n, capacity) and start < n):
            raise StateError(f"phase {w}, sub-phase {j} of a saved policy on {n} arms cannot be")
        if vouched >= n or any(arm >= n for arm in self._memory.arms):
            raise StateError(f"the saved policy knows an arm that its {n} arms do not have")
        self._go_to(r, w, j)
        self._start_position = start
        self._vouched = vouched if has_vouched else None
        if len(self._memory) != self._now.hi - self._now.lo + 1:
            raise StateError("the saved memory does not hold the arms of the saved sub-phase")
        if sum(self._memory.pulls) >= self._now.b or self._pulls_in_round() >= self._round.pulls:
            raise StateError("the saved sub-phase has more pulls than its budget")


class PooledPolicy(PhasedPolicy):
    """Algorithm 2: Algorithm 1 in rounds, on a pool of arms from a reservoir that grows.

    alpha = 0.205 is the paper's theory; 0.347, which its Table 1 uses, is the better in practice.
    Where the pool is no larger than the memory, the plain rule runs on all of it.
    """

    endless = True

    @classmethod
    def round_shape(cls, memory: int, settings: dict[str, float]) -> tuple[float, float]:
        """B = (M^2 (M+2))^(1/(1-alpha)), and alpha."""
        if "alpha" not in settings:
            raise SettingError(
                f"{cls.__name__} has no setting alpha, which its pool grows by: "
                "settings = {'alpha': handful.QUCBM.settings['alpha']}"
            )
        return first_horizon(memory, settings["alpha"]), settings["alpha"]
