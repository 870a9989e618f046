"""Policies that are a small automaton: a few slots, a few registers, one function per reward.

Many bounded-memory rules of the literature look at the arm in hand and a handful of counters, and
decide whether to pull it again, to go back to a stored arm, or to take the next one. Each is a pure
function:

    step(slot, reward, i, K, n, s, reg, T, p) -> (slot to pull next, what to put there first)

`slot` was just pulled and gave `reward`; i is how many arms have been tried, this one counted, and
K how many there are (endless arms: a number without meaning). n and s are the pulls and the sums of
rewards of the arms in memory, one of each a slot, this reward counted. `reg` are the registers, all
0 at first, which `step` may change; reg[0] is the slot of the arm to vouch for. T is the horizon,
not a number if it is not given; p are the settings in order, and M. What to put into the slot is
`KEEP`, or `NEXT`: the next arm, with fresh statistics. An arm that is in memory already stays in
the slot that it has, and is pulled there. The simulator compiles the same function.

Most of these rules are made for successes and failures, so a reward in (0, 1) counts as a Bernoulli
trial; an automaton with another `credit` sees it as it is.

Much of what a step does is to go on. An automaton may say so, for simulations that skip:

    calm(slot, i, K, n, s, reg, T, p) -> (pulls to come that keep the slot whatever they give,
                                          successes to come that keep it)
    absorb(slot, pulls, wins, i, K, n, s, reg, T, p)   what they change in the registers

A clairvoyant automaton is told the true means of the arms in memory: they stand in its last
registers, one a slot. No such rule can be used outside of a simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Self, TypeAlias

from handful.core.shuffle import Shuffle
from handful.errors import SettingError, StateError
from handful.policies.base import Policy, order_key
from handful.policies.state import Reader
from handful.rules.base import Credit
from handful.rules.thompson import trial

KEEP = 0
NEXT = 1
FOREVER = 2**62

Registers: TypeAlias = MutableSequence[float]
Step: TypeAlias = Callable[
    [int, float, int, int, Sequence[int], Sequence[float], Registers, float, Sequence[float]],
    tuple[int, int],
]
Calm: TypeAlias = Callable[
    [int, int, int, Sequence[int], Sequence[float], Registers, float, Sequence[float]],
    tuple[int, int],
]
Absorb: TypeAlias = Callable[
    [int, int, int, int, int, Sequence[int], Sequence[float], Registers, float, Sequence[float]],
    None,
]

_PLACE = Struct("<QQB")


def unmoved(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    """Absorb pulls that change no register."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """The function and how many registers it uses."""

    name: str
    step: Step
    registers: int
    slots: int = 1
    """How many registers, from the first on, are the numbers of slots."""
    credit: Credit = trial
    """What `step` sees of a reward."""
    clairvoyant: bool = False
    """Whether the last registers are the true means of the arms in memory."""
    keeps_held: bool = False
    """Whether an arm that comes up while it is in memory keeps its statistics."""
    calm: Calm | None = None
    absorb: Absorb = unmoved


class AutomatonPolicy(Policy):
    """A policy given by an automaton. A subclass names it."""

    automaton: ClassVar[Automaton]
    needs_horizon: ClassVar[bool] = False
    _mean_of: Callable[[int], float] | None = None

    def _start(self) -> None:
        self._horizon = self._values.get("horizon", math.nan)
        if self.needs_horizon and math.isnan(self._horizon):
            raise SettingError(f"{self.name} plans for a number of pulls: give horizon=...")
        self._parameters = [*self._values.values(), float(self._memory.capacity)]
        self._shuffle = Shuffle.of(self._arms.n, order_key(self._seed))
        self._registers = [0.0] * self.automaton.registers
        self._tried = 0
        self._pulled = 0
        self._slot = self._take_next(0)

    def _take_next(self, slot: int) -> int:
        """Put the next arm into a slot, or refresh it where it is; the slot that it has now.

        On a finite set the first arm comes after the last.
        """
        position = self._tried % self._arms.n
        arm = position if self._draws_arms else self._shuffle.arm_at(position)
        self._tried += 1
        if arm in self._memory.arms:
            slot = self._memory.slot_of(arm)
            if self.automaton.keeps_held:
                return slot
        self._memory.put(slot, arm)
        self._arms.keep_only(self._memory.arms)
        self._see(slot)
        return slot

    def reveal(self, mean_of: Callable[[int], float]) -> None:
        """Tell a clairvoyant policy the mean of each arm by index; the others do not look.

        A simulator calls this. It is not saved: a restored policy must be told again.
        """
        self._mean_of = mean_of
        for slot in range(len(self._memory)):
            self._see(slot)

    def _see(self, slot: int) -> None:
        if self.automaton.clairvoyant and self._mean_of is not None:
            first = self.automaton.registers - self._memory.capacity
            self._registers[first + slot] = self._mean_of(self._memory.arms[slot])

    def _check_sight(self) -> None:
        if self.automaton.clairvoyant and self._mean_of is None:
            raise SettingError(
                f"{self.name} looks at the true means of arms, which only a simulator knows: it is "
                "there to reproduce a printed table; simulate it, or take another policy"
            )

    def clone(self) -> Self:
        """An independent copy that will make the same choices given the same rewards."""
        twin = super().clone()
        twin._mean_of = self._mean_of
        return twin

    def _choose(self) -> int:
        self._check_sight()
        return self._slot

    def _learn(self, slot: int, reward: float) -> None:
        self._check_sight()
        credit = self.automaton.credit(reward, self._rng)
        memory = self._memory
        memory.record(slot, credit)
        self._pulled += 1
        if slot == self._slot:
            self._slot, action = self.automaton.step(
                slot,
                credit,
                self._tried,
                self._arms.n,
                memory.pulls,
                memory.sums,
                self._registers,
                self._horizon,
                self._parameters,
            )
            if action == NEXT:
                self._slot = self._take_next(self._slot)

    def _vouch(self) -> int:
        return self._memory.arms[int(self._registers[0])]

    @property
    def pulls(self) -> int:
        """How many rewards the policy has taken in."""
        return self._pulled

    def _where(self) -> str:
        if self._draws_arms or self._tried <= self._arms.n:
            return f"{self._tried} arms tried"
        lap, arm = divmod(self._tried - 1, self._arms.n)
        return f"pass {lap + 1} over the arms, arm {arm + 1} of {self._arms.n}"

    def _pack(self) -> bytes:
        place = _PLACE.pack(self._tried, self._pulled, self._slot)
        return place + Struct(f"<{len(self._registers)}d").pack(*self._registers)

    def _unpack(self, reader: Reader) -> None:
        self._tried, self._pulled, self._slot = (int(value) for value in reader.take(_PLACE))
        self._shuffle = Shuffle.of(self._arms.n, order_key(self._seed))
        values = reader.take(Struct(f"<{self.automaton.registers}d"))
        self._registers = [float(value) for value in values]
        held = len(self._memory)
        slots = [self._slot, *self._registers[: self.automaton.slots]]
        if self._tried < held or not all(0 <= s < held and s == int(s) for s in slots):
            raise StateError("the saved policy has a slot in hand that its memory does not have")
        if any(math.isnan(value) for value in self._registers):
            raise StateError("the saved policy has a counter that is not a number")
