"""UCB-AIR: statistics of every arm it has met, and ever more arms. The reference on endless arms.

Wang, Audibert and Munos, "Algorithms for infinitely many-armed bandits", NeurIPS 2008: where
P(mean > mu* - x) is of order x^beta, a new arm is pulled while fewer than t^(beta/(beta+1)) have
been met (t^(beta/2) if beta < 1), t being the number of this pull; otherwise the arm with the
highest score of UCB-V,

    mean + sqrt(2 V E / n) + 3 E / n,   V = mean (1 - mean)

with an exploration E between 2 ln(10 ln t) and ln t. Ours is 2 ln(10 ln u), u the least power of
two from t on and at least 4: it changes at powers of two only, so a score changes when its arm is
pulled and at those times, and the highest is found in a heap. V as in `rules/ucb_v.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from heapq import heapify, heappush, heapreplace
from struct import Struct
from typing import ClassVar

from handful.errors import StateError
from handful.policies.base import UNBOUNDED, Policy
from handful.policies.settings import Setting
from handful.policies.state import Reader
from handful.rules.recommend import most_played

_COUNT = Struct("<Q")


def exploration(t: int) -> float:
    """E at pull t."""
    u = 4
    while u < t:
        u *= 2
    return 2.0 * math.log(10.0 * math.log(u))


def score(n: int, s: float, E: float) -> float:
    """The score of UCB-V with this exploration."""
    mean = s / n
    return mean + math.sqrt(2.0 * max(mean * (1.0 - mean), 0.0) * E / n) + 3.0 * E / n


def most_arms(t: int, beta: float) -> float:
    """How many arms may have been met before a pull t of a new one: fewer than this."""
    power = beta / (beta + 1.0) if beta >= 1.0 else beta / 2.0
    return min(math.pow(t, power), float(UNBOUNDED))


def wants_more(arms: int, t: int, beta: float) -> bool:
    """Whether pull t is that of a new arm."""
    return arms < most_arms(t, beta)


class UCBAIR(Policy):
    """UCB-V on a growing number of endless arms, statistics of all of them."""

    name = "ucb-air"
    title = "UCB-AIR"
    summary = "UCB-V on ever more of endless arms; needs to know how rare good ones are"
    citation = "Wang, Audibert and Munos, NeurIPS 2008"
    endless = True
    unbounded = True
    settings: ClassVar[Mapping[str, Setting]] = {
        "beta": Setting(
            1.0, "P(mean > best - x) ~ x^beta", lambda b: 0.0 < b <= 100.0, "a number beta > 0"
        )
    }

    def _start(self) -> None:
        self._pulled = 0
        self._level = exploration(1)
        self._heap: list[tuple[float, int]] = []
        self._make_room()

    def _make_room(self) -> None:
        """Admit an arm if the next pull is that of a new one."""
        arms = len(self._memory)
        if arms and self._memory.pulls[-1] == 0:
            return
        if wants_more(arms, self._pulled + 1, self._values["beta"]):
            self._memory.admit(arms)

    def _score(self, slot: int) -> tuple[float, int]:
        """For the heap: the highest first, and the first of equals."""
        memory = self._memory
        return -score(memory.pulls[slot], memory.sums[slot], self._level), slot

    def _choose(self) -> int:
        newest = len(self._memory) - 1
        return newest if self._memory.pulls[newest] == 0 else self._heap[0][1]

    def _learn(self, slot: int, reward: float) -> None:
        memory = self._memory
        memory.record(slot, reward)
        self._pulled += 1
        level = exploration(self._pulled + 1)
        if level != self._level:
            self._level = level
            self._find_all()
        elif memory.pulls[slot] == 1:
            heappush(self._heap, self._score(slot))
        elif slot == self._heap[0][1]:
            heapreplace(self._heap, self._score(slot))
        else:
            self._find_all()
        self._make_room()

    def _find_all(self) -> None:
        self._heap = [self._score(slot) for slot, n in enumerate(self._memory.pulls) if n > 0]
        heapify(self._heap)

    def _vouch(self) -> int:
        return self._memory.arms[most_played(self._memory.pulls)]

    @property
    def pulls(self) -> int:
        """How many rewards the policy has taken in."""
        return self._pulled

    def _where(self) -> str:
        return f"{len(self._memory)} arms met"

    def _pack(self) -> bytes:
        return _COUNT.pack(self._pulled)

    def _unpack(self, reader: Reader) -> None:
        (pulled,) = reader.take(_COUNT)
        self._pulled = int(pulled)
        memory = self._memory
        if sum(memory.pulls) != self._pulled or memory.arms != list(range(len(memory))):
            raise StateError("the saved statistics are not those of the saved number of pulls")
        if not memory.arms or 0 in memory.pulls[:-1]:
            raise StateError("the saved policy has met an arm without pulling it")
        self._level = exploration(self._pulled + 1)
        self._find_all()
