"""The arm memory: at most M slots, and the only place where statistics live.

The paper's arm memory is the set of arms whose statistics are stored, and an arm may be pulled only
while it is in it. A slot holds the arm's index, how often it was pulled, the sum of what was
credited to it, and a generation number that no other stay of any arm shares: a reward that comes
late can be told from one for the arm's present stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Any

from handful.errors import (
    ForgottenArmError,
    MemoryFullError,
    SettingError,
    StateError,
    whole_number,
)

_HEAD = Struct("<IQ")
_SLOT = Struct("<QQdQ")

WORDS_PER_SLOT = _SLOT.size // 8


class ArmMemory:
    """Statistics of at most `capacity` arms."""

    __slots__ = ("arms", "capacity", "generations", "next_generation", "pulls", "sums")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.arms: list[int] = []
        self.pulls: list[int] = []
        self.sums: list[float] = []
        self.generations: list[int] = []
        self.next_generation = 1

    def __len__(self) -> int:
        return len(self.arms)

    def admit(self, arm: int) -> None:
        """Give an arm a slot with fresh statistics; refused when all are taken."""
        if len(self.arms) >= self.capacity:
            raise MemoryFullError(
                f"the arm memory holds {self.capacity} arms already: forget one before arm {arm}"
            )
        if arm in self.arms:
            raise MemoryFullError(f"arm {arm} is in memory already")
        self.arms.append(arm)
        self.pulls.append(0)
        self.sums.append(0.0)
        self.generations.append(self.next_generation)
        self.next_generation += 1

    def put(self, slot: int, arm: int) -> None:
        """Give an arm, with fresh statistics, the place of the one in a slot, or the next free."""
        if slot == len(self.arms):
            self.admit(arm)
            return
        if arm in self.arms and self.arms[slot] != arm:
            raise MemoryFullError(f"arm {arm} is in memory already")
        self.arms[slot] = arm
        self.pulls[slot] = 0
        self.sums[slot] = 0.0
        self.generations[slot] = self.next_generation
        self.next_generation += 1

    def refill(self, arms: Iterable[int]) -> None:
        """Forget everything and admit these arms, with fresh statistics."""
        fresh = list(arms)
        if len(fresh) > self.capacity:
            raise MemoryFullError(
                f"the arm memory holds {self.capacity} arms: {len(fresh)} do not fit"
            )
        if len(set(fresh)) < len(fresh):
            raise MemoryFullError("an arm cannot have two slots")
        self.arms[:] = fresh
        self.pulls[:] = [0] * len(fresh)
        self.sums[:] = [0.0] * len(fresh)
        self.generations[:] = range(self.next_generation, self.next_generation + len(fresh))
        self.next_generation += len(fresh)

    def record(self, slot: int, credit: float) -> None:
        """Count one pull of the arm in a slot, with a credit in [0, 1]."""
        self.pulls[slot] += 1
        self.sums[slot] += credit

    def mean(self, slot: int) -> float:
        """The empirical mean of the arm in a slot; not a number before its first pull."""
        n = self.pulls[slot]
        return self.sums[slot] / n if n else float("nan")

    def slot_of(self, arm: int) -> int:
        """The slot of an arm by its index."""
        try:
            return self.arms.index(arm)
        except ValueError:
            raise ForgottenArmError(f"arm {arm} is not in memory") from None

    def pack(self) -> bytes:
        """The slots as bytes, 32 a slot."""
        slots = zip(self.arms, self.pulls, self.sums, self.generations, strict=True)
        return _HEAD.pack(len(self.arms), self.next_generation) + b"".join(
            _SLOT.pack(*slot) for slot in slots
        )

    @classmethod
    def unpack(cls, data: bytes, capacity: int, n_arms: int) -> ArmMemory:
        """The inverse of `pack`; what no memory of this capacity could hold is refused."""
        memory = cls(capacity)
        if len(data) < _HEAD.size:
            raise StateError("the saved slots are missing")
        count, memory.next_generation = _HEAD.unpack_from(data)
        if count > capacity or len(data) != _HEAD.size + count * _SLOT.size:
            raise StateError("the saved slots do not fit the saved memory size")
        for arm, pulls, total, generation in _SLOT.iter_unpack(data[_HEAD.size :]):
            if arm >= n_arms or not 0.0 <= total <= pulls or generation >= memory.next_generation:
                raise StateError(f"the saved statistics of arm {arm} are not possible")
            memory.arms.append(arm)
            memory.pulls.append(pulls)
            memory.sums.append(total)
            memory.generations.append(generation)
        if len(set(memory.arms)) != count:
            raise StateError("the saved memory holds an arm twice")
        return memory


def check_memory(memory: Any) -> int:
    """The memory bound M as the user gave it, or an error that says why not."""
    if memory is None:
        raise SettingError("memory is missing: give memory=M, how many arms may have statistics")
    capacity = whole_number("memory", memory)
    if capacity < 2:
        raise SettingError(
            f"memory={memory} cannot compare arms: give memory >= 2 "
            "(the incumbent and at least one challenger)"
        )
    if capacity >= 2**32:
        raise SettingError(f"memory={memory} is not a handful: give memory < 2^32")
    return capacity
