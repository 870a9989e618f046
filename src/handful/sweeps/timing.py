"""The time left: a model of the work of missing parts, calibrated by finished parts.

The model knows the kind of rule and the memory, not the machine, and for some kinds of policy it
may be wrong by a factor of several. So it is corrected by the times of finished parts, for each
kind separately. `ordered` puts one part of each kind first, to have a time for every kind early.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable

from handful.sweeps.part import Part

Kind = tuple[str, bool, bool, bool]
"""The policy's name, and whether all arms fit in memory, where engines can skip most pulls, whether
there is traffic, and whether the python engine runs it."""
_PRIOR = 0.05
"""The pace of all kinds together counts as much as this share of a mean part of the kind."""
_ENOUGH = 3
"""A kind is known once the work seen of it is so many times that."""


def kind(part: Part) -> Kind:
    """Return the part's kind: parts of one kind take as long as the model says, times a factor."""
    cell = part.cell
    fits = cell.memory >= cell.instance.n_arms
    return cell.policy.name, fits, cell.traffic is not None, part.engine == "python"


def ordered(parts: Iterable[Part]) -> list[Part]:
    """Put one part of each kind first: the smallest that is not tiny; the others as they come."""
    parts = list(parts)
    by_kind: dict[Kind, list[int]] = defaultdict(list)
    for index, part in enumerate(parts):
        by_kind[kind(part)].append(index)
    probes = []
    for indices in by_kind.values():
        mean = sum(parts[index].work for index in indices) / len(indices)
        fair = [index for index in indices if parts[index].work >= mean / 4]
        probes.append(min(fair, key=lambda index: parts[index].work))
    others = sorted(set(range(len(parts))) - set(probes))
    return [parts[index] for index in [*probes, *others]]


class TimeLeft:
    """An estimate of the seconds until all given parts are finished, by so many workers at once.

    With several workers, only finished parts are known; until the next one, the estimate goes down
    with the clock.
    """

    def __init__(
        self,
        parts: Iterable[Part],
        clock: Callable[[], float] = time.monotonic,
        workers: int = 1,
    ) -> None:
        self._clock = clock
        self._workers = workers
        self._finished_at = clock()
        self._left: dict[Kind, float] = defaultdict(float)
        self._mean: dict[Kind, float] = {}
        self._seen: dict[Kind, tuple[float, float]] = {}
        """Work and seconds of what is finished."""
        self._current: tuple[Kind, float, float, float] | None = None
        """The running part's kind, when its first pulls were seen, how much of it then and now."""
        counts: dict[Kind, int] = defaultdict(int)
        for part in parts:
            self._left[kind(part)] += part.work
            counts[kind(part)] += 1
        for key, total in self._left.items():
            self._mean[key] = total / counts[key]

    def running(self, part: Part, done: float) -> None:
        """Note a part's share of work done; the time before its first pulls is not counted."""
        key = kind(part)
        if self._current is None or self._current[0] != key:
            self._current = (key, self._clock(), done, done)
        else:
            self._current = (*self._current[:3], done)

    def finished(self, part: Part, seconds: float) -> None:
        """Note that a part is finished and how long it took, without compiling."""
        key = kind(part)
        self.dropped(part)
        before = self._seen.get(key, (0.0, 0.0))
        self._seen[key] = (before[0] + part.work, before[1] + seconds)

    def dropped(self, part: Part) -> None:
        """Note that a part will not be run."""
        key = kind(part)
        self._current = None
        self._finished_at = self._clock()
        self._left[key] = max(0.0, self._left[key] - part.work)

    def seconds(self) -> float | None:
        """Estimate the seconds left; None until every kind that is left is known."""
        seen = dict(self._seen)
        left = dict(self._left)
        if self._current is not None:
            key, since, first, done = self._current
            left[key] = max(0.0, left.get(key, 0.0) - done)
            if done > first:
                before = seen.get(key, (0.0, 0.0))
                seen[key] = (before[0] + done - first, before[1] + self._clock() - since)
        left = {key: amount for key, amount in left.items() if amount > 0}
        if not left:
            return 0.0
        for key in left:
            if seen.get(key, (0.0, 0.0))[0] < _ENOUGH * _PRIOR * self._mean[key]:
                return None
        total_work = sum(amount for amount, _ in seen.values())
        overall = sum(seconds for _, seconds in seen.values()) / total_work
        expected = 0.0
        for key, amount in left.items():
            done, seconds = seen[key]
            prior = _PRIOR * self._mean[key]
            expected += amount * (seconds + prior * overall) / (done + prior)
        if self._workers == 1:
            return expected
        return max(0.0, expected / self._workers - (self._clock() - self._finished_at))
