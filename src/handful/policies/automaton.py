"""Policies that are a small automaton: a slot or two, a few registers, one function per reward.

Many bounded-memory rules of the literature look at the arm in hand and a handful of counters, and
decide whether to pull it again, to go back to a stored arm, or to take the next one. Each is a pure
function:

    step(slot, reward, i, reg, T, p) -> (slot to pull next, what to put there first)

`slot` was just pulled and gave `reward`, 0 or 1; i is how many arms have been tried, this one
counted; `reg` are the registers, all 0 at first, which `step` may change; reg[0] is the slot of the
arm to vouch for. T is the horizon, not a number if the policy has no use for it; p are the settings
in order. What to put into the slot is `KEEP`, or `NEXT`: the next arm, with fresh statistics. The
simulator compiles the same function.

A reward in (0, 1) counts as a Bernoulli trial: these rules are made for successes and failures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, TypeAlias

from handful.errors import SettingError, StateError
from handful.policies.base import Policy, order_key
from handful.policies.state import Reader
from handful.reservoir import Reservoir
from handful.rules.thompson import trial
from handful.shuffle import Shuffle

KEEP = 0
NEXT = 1

Registers: TypeAlias = MutableSequence[float]
Step: TypeAlias = Callable[[int, float, int, Registers, float, Sequence[float]], tuple[int, int]]

_PLACE = Struct("<QQB")


@dataclass(frozen=True, slots=True)
class Automaton:
    """The function and how many registers it uses."""

    name: str
    step: Step
    registers: int


class AutomatonPolicy(Policy):
    """A policy given by an automaton. A subclass names it."""

    automaton: ClassVar[Automaton]
    needs_horizon: ClassVar[bool] = False

    def _start(self) -> None:
        self._horizon = self._values.get("horizon", math.nan)
        if self.needs_horizon and math.isnan(self._horizon):
            raise SettingError(f"{self.name} plans for a number of pulls: give horizon=...")
        self._parameters = list(self._values.values())
        self._shuffle = Shuffle.of(self._arms.n, order_key(self._seed))
        self._registers = [0.0] * self.automaton.registers
        self._tried = 0
        self._pulled = 0
        self._slot = 0
        self._take_next(0)

    def _take_next(self, slot: int) -> None:
        """Put the next arm into a slot; on a finite set the first comes after the last."""
        position = self._tried % self._arms.n
        self._memory.put(slot, position if self.endless else self._shuffle.arm_at(position))
        self._tried += 1
        if isinstance(self._arms, Reservoir):
            self._arms.forget_all_but(self._memory.arms)

    def _choose(self) -> int:
        return self._slot

    def _learn(self, slot: int, reward: float) -> None:
        credit = trial(reward, self._rng)
        self._memory.record(slot, credit)
        self._pulled += 1
        if slot == self._slot:
            self._slot, action = self.automaton.step(
                slot, credit, self._tried, self._registers, self._horizon, self._parameters
            )
            if action == NEXT:
                self._take_next(self._slot)

    def _vouch(self) -> int:
        return self._memory.arms[int(self._registers[0])]

    @property
    def pulls(self) -> int:
        """How many rewards the policy has taken in."""
        return self._pulled

    def _where(self) -> str:
        return f"{self._tried} arms tried"

    def _pack(self) -> bytes:
        place = _PLACE.pack(self._tried, self._pulled, self._slot)
        return place + Struct(f"<{len(self._registers)}d").pack(*self._registers)

    def _unpack(self, reader: Reader) -> None:
        self._tried, self._pulled, self._slot = (int(value) for value in reader.take(_PLACE))
        self._shuffle = Shuffle.of(self._arms.n, order_key(self._seed))
        values = reader.take(Struct(f"<{self.automaton.registers}d"))
        self._registers = [float(value) for value in values]
        slots = len(self._memory)
        if self._slot >= slots or not 0 <= self._registers[0] < slots or self._tried < slots:
            raise StateError("the saved policy has a slot in hand that its memory does not have")
