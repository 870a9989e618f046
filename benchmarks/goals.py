"""The ratios that releases must reach, and those that were measured.

A goal is judged only from rows of exactly the sizes that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.contest import OURS, Row
from benchmarks.suites import BY_ARMS, BY_HORIZON, LINEAR, MANY_ARMS, PEERS, POWER, TEXTBOOK, C

MILLION = 10**6


@dataclass(frozen=True)
class Goal:
    """A line such as "at least 5 times as fast", with the ratio that was measured."""

    line: str
    least: float | None
    most: float | None
    measured: float

    @property
    def met(self) -> bool:
        """Whether the measured ratio is within the bound."""
        low = self.least is None or self.measured >= self.least
        return low and (self.most is None or self.measured <= self.most)

    @property
    def asked(self) -> str:
        """The bound in words."""
        return f">= {self.least:g}x" if self.least is not None else f"<= {self.most:g}x"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**asdict(self), "met": self.met}


def judged(rows: Sequence[Row]) -> list[Goal]:
    """Return the goals whose rows were measured."""
    goals = []
    for line, least, most, above, below in _lines():
        top, bottom = _least(rows, above), _least(rows, below)
        if top is not None and bottom is not None:
            goals.append(Goal(line, least, most, top / bottom))
    return goals


Chosen = Callable[[Row], bool]


def _least(rows: Sequence[Row], chosen: Chosen) -> float | None:
    """Return the least time of a pull, or of a run where horizons are compared."""
    times = [
        row.seconds / row.runs if row.job.group == BY_HORIZON else row.ns_per_pull
        for row in rows
        if chosen(row)
    ]
    return min(times, default=None)


def _lines() -> Iterator[tuple[str, float | None, float | None, Chosen, Chosen]]:
    """Yield line, least, most, and the rows above and below the line of the ratio."""
    for memory, least in ((2, 5.0), (10, 8.0), (50, 15.0)):
        ucb_m = _row(TEXTBOOK, OURS, "ucb-m", LINEAR, memory)
        line = f"UCB-M, {LINEAR}, M = {memory}, against the C loop"
        yield line, least, None, _row(TEXTBOOK, C, "ucb-m", LINEAR, memory), ucb_m
        bounds = {"moss-m": 1.5, "ucb-m:eta=0.2": 1.5, "ts-m": {2: 4.0, 10: 10.0}.get(memory)}
        for policy, most in bounds.items():
            if most is not None:
                line = f"time of {policy} to that of UCB-M, M = {memory}"
                yield line, None, most, _row(TEXTBOOK, OURS, policy, LINEAR, memory), ucb_m
    for world in (LINEAR, POWER):
        line = f"UCB1, {world}, against the C loop"
        loop, own = (_row(TEXTBOOK, by, "ucb1", world, 100) for by in (C, OURS))
        yield line, 20.0, None, loop, own
    long, short = (_row(BY_HORIZON, OURS, "ucb1", POWER, 100, T) for T in (10**9, MILLION))
    yield f"time of UCB1, {POWER}, T = 10^9 to that of 10^6", None, 15.0, long, short
    for policy, memory in MANY_ARMS:
        many, some = (_row(BY_ARMS, OURS, policy, f"linear:{K}", memory) for K in (10**9, 10**3))
        line = f"time of {policy}, M = {memory}, K = 10^9 to that of 10^3"
        yield line, None, 1.25, many, some
    yield (
        "UCB1, K = 10, against the fastest peer's loop or runner", 500.0, None,
        lambda row: row.job.group == PEERS and row.by != OURS and row.documented
        and row.pulls >= MILLION // 10,
        _row(PEERS, OURS, "ucb1", "linear:10", 10),
    )  # fmt: skip


def _row(
    group: str, by: str, policy: str, world: str, memory: int, horizon: int = MILLION
) -> Chosen:
    wanted = (group, by, policy, world, memory, horizon)

    def chosen(row: Row) -> bool:
        job = row.job
        is_ = (job.group, row.by, job.policy, job.instance, job.memory, job.horizon)
        return is_ == wanted

    return chosen
