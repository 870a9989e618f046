"""Statistics of a policy: the arms in memory as text, HTML or dicts."""

from __future__ import annotations

import html
import math
import reprlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from handful.core.divergence import kl_upper

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class ArmStats:
    """One arm in memory: what is known of it since it entered."""

    arm: Any
    """Its label."""
    pulls: int
    """Rewards credited."""
    in_flight: int
    """Decisions whose reward has not come."""
    mean: float
    """The mean reward; NaN before the first."""
    low: float
    high: float
    """A 95% confidence interval of the mean."""
    recommended: bool


@dataclass(frozen=True, slots=True)
class Stats:
    """The arms in memory, in order of their slots, and totals.

    Iterating gives the arms; `to_dicts` gives plain data. In a notebook it is a table.
    """

    policy: str
    """The policy and its settings, in one line."""
    arms: tuple[ArmStats, ...]
    decisions: int
    rewards: int
    """Rewards credited, of arms that have left memory too."""
    forgotten: int
    """Rewards that came after their arm had left memory."""
    refused: int
    """Rewards with a ticket that was used before, never given, or answered by default."""
    lost: int
    """Decisions that were written off, and whose reward has not come after all."""
    place: str
    """Where the policy is in its schedule."""

    def __iter__(self) -> Iterator[ArmStats]:
        return iter(self.arms)

    def __len__(self) -> int:
        return len(self.arms)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a plain dict for each arm in memory; the mean is None before the first reward."""
        return [{**asdict(arm), "mean": arm.mean if arm.pulls else None} for arm in self.arms]

    def _rows(self) -> list[tuple[str, ...]]:
        flying = any(arm.in_flight for arm in self.arms)
        heads = ("", "arm in memory", "pulls", *(("in flight",) if flying else ()), "mean", "95%")
        return [
            heads,
            *(
                (
                    "*" if arm.recommended else "",
                    reprlib.repr(arm.arm),
                    str(arm.pulls),
                    *((str(arm.in_flight),) if flying else ()),
                    f"{arm.mean:.4g}" if arm.pulls else "-",
                    f"{arm.low:.3g} to {arm.high:.3g}",
                )
                for arm in self.arms
            ),
        ]

    def _foot(self) -> str:
        totals = [f"{self.decisions:,} decisions", f"{self.rewards:,} rewards"]
        totals += [f"{self.forgotten:,} forgotten"] if self.forgotten else []
        totals += [f"{self.refused:,} refused"] if self.refused else []
        totals += [f"{self.lost:,} lost"] if self.lost else []
        return f"{', '.join(totals)}; {self.place}"

    def __str__(self) -> str:
        rows = self._rows()
        wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            f"{row[0]:<1} {row[1]:<{wide[1]}}"
            + "".join(f"  {cell:>{wide[column]}}" for column, cell in enumerate(row[2:], start=2))
            for row in rows
        ]
        lines = [line.rstrip() for line in lines]
        return "\n".join([self.policy, *lines, f"* recommended; {self._foot()}"])

    def _repr_html_(self) -> str:
        heads, *rows = self._rows()
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        return (
            f"<table><caption>{html.escape(self.policy)}<br>{html.escape(self._foot())}</caption>"
            f"<thead><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )


def interval(pulls: int, total: float) -> tuple[float, float]:
    """Return a 95% confidence interval of the mean of rewards in [0, 1] from their sum.

    By Chernoff's bound, n kl(mean, end) = ln(2 / 0.05) at both ends, which holds for any
    distribution on [0, 1] at a time that does not depend on the rewards.
    """
    if pulls == 0:
        return 0.0, 1.0
    mean = min(1.0, total / pulls)
    level = math.log(2.0 / (1.0 - CONFIDENCE)) / pulls
    return 1.0 - kl_upper(1.0 - mean, level), kl_upper(mean, level)
