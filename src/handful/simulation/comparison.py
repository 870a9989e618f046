"""Two policies compared run by run on a common reward tape.

On a tape the reward of an arm at a time in run r is determined by the seed and r alone, and so are
the arms of a reservoir. On endless arms both policies meet the same arms, so paired differences
vary less than the regrets do, and fewer runs distinguish the two. The interval is Student's t on
the paired differences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import SettingError, shortened
from handful.instances.traffic import SETTINGS as TRAFFIC
from handful.simulation.intervals import half_width
from handful.simulation.result import Estimate, Result

_COMMON = ("instance", "horizon", "seed", "first_run", "runs")
"""Settings that two results must share for their runs to be pairs."""
_NAMES = {"first_run": "first run", "clicks_only": "clicks only", "digest": "data"}


@dataclass(frozen=True)
class Comparison:
    """The regret of `a` less that of `b`, run by run; below 0, `a` is better."""

    a: Result
    b: Result

    @property
    def difference(self) -> Estimate:
        """Regret of a less regret of b at the horizon."""
        differences: NDArray[np.float64] = self.a.regret.per_run - self.b.regret.per_run
        return Estimate(differences)

    @property
    def interval(self) -> tuple[float, float]:
        """A 95% confidence interval of the mean difference; NaN for a single run."""
        found = self.difference
        half = float(half_width(found.per_run)) if len(found.per_run) > 1 else math.nan
        return found.mean - half, found.mean + half

    @property
    def probability(self) -> float:
        """The share of runs in which a has the lower regret; a tie counts as half a run."""
        differences = self.difference.per_run
        return float(np.mean((differences < 0) + 0.5 * (differences == 0)))

    @property
    def verdict(self) -> str:
        """Say which of the two is better, if the interval excludes 0."""
        low, high = self.interval
        if high < 0:
            return f"{self.a.label} is better"
        if low > 0:
            return f"{self.b.label} is better"
        if math.isnan(low):
            return "one run gives no interval: give runs >= 2"
        if low == high == 0:
            return "the two are equal in every run"
        return "the interval includes 0: more runs may tell them apart"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        found = self.difference
        low, high = (None if math.isnan(end) else end for end in self.interval)
        return {
            "a": self.a.label,
            "b": self.b.label,
            **{key: self.a.settings.get(key, 0) for key in _COMMON},
            **{key: self.a.settings[key] for key in TRAFFIC if key in self.a.settings},
            "regret_a": self.a.regret.mean,
            "regret_b": self.b.regret.mean,
            "difference": found.mean,
            "difference_sem": None if math.isnan(found.sem) else found.sem,
            "interval": [low, high],
            "probability_a_better": self.probability,
            "verdict": self.verdict,
        }

    def __repr__(self) -> str:
        s = self.a.settings
        world = " ".join(part for part in (shortened(s["instance"]), self.a.traffic) if part)
        runs = f"{s['runs']} paired run{'s' * (s['runs'] != 1)}"
        lines = [
            f"{self.a.label} against {self.b.label} on {world}: regret after "
            f"{s['horizon']} pulls, {runs}, seed {s['seed']}",
            *(f"  {name}: {value}" for name, value in self._rows()),
            f"  {self.verdict}",
        ]
        return "\n".join(lines)

    def _rows(self) -> list[tuple[str, str]]:
        low, high = self.interval
        interval = "" if math.isnan(low) else f", 95% interval {_shown(low)} to {_shown(high)}"
        return [
            (self.a.label, repr(self.a.regret)),
            (self.b.label, repr(self.b.regret)),
            ("difference", f"{_shown(self.difference.mean)}{interval}"),
            (f"runs in which {self.a.label} is better", f"{self.probability:.0%}"),
        ]

    def _repr_html_(self) -> str:
        heading, *_ = repr(self).splitlines()
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in self._rows()
        )
        return (
            f"<table><caption>{escape(heading)}</caption><tbody>{rows}</tbody></table>"
            f"<p>{escape(self.verdict)}</p>"
        )


def _shown(value: float) -> str:
    """Return a number with four digits, or more if its whole part has more."""
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.4g}"


def paired(a: Result, b: Result) -> Comparison:
    """Pair the runs of two results, or say why they are not pairs."""
    for result in (a, b):
        if not result.settings["tape"]:
            raise SettingError(
                f"{result.label} on {result.world} was simulated without a common "
                "tape, so its runs cannot be paired: simulate both with tape=True and one seed"
            )
    for key in (*_COMMON, "digest", *TRAFFIC):
        one, other = a.settings.get(key, 0), b.settings.get(key, 0)
        if one != other:
            raise SettingError(
                f"the results differ in their {_NAMES.get(key, key)} ({one} and {other}), so "
                "their runs are not pairs: simulate both with the same"
            )
    return Comparison(a, b)
