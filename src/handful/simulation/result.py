"""The result of a cell: regret per run and over time, pulls by arm, time and memory used.

`result_files.py` writes results to Parquet and CSV files, and reads Parquet files.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import MissingExtraError, SettingError, shortened
from handful.instances.catalogue import instance_of
from handful.instances.traffic import in_words
from handful.policies.definition import UNBOUNDED
from handful.simulation.outcome import Outcome, Stays

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Estimate:
    """A mean over runs and its standard error."""

    per_run: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean over runs."""
        return float(self.per_run.mean())

    @property
    def sem(self) -> float:
        """The standard error of the mean; NaN for a single run."""
        n = len(self.per_run)
        return float(self.per_run.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan

    @property
    def median(self) -> float:
        """The median over runs."""
        return float(np.median(self.per_run))

    def quantile(self, q: float) -> float:
        """Return the q-quantile over runs."""
        return float(np.quantile(self.per_run, q))

    def __repr__(self) -> str:
        if math.isnan(self.sem):
            return f"{self.mean:,.1f}"
        digits = max(0, 1 - math.floor(math.log10(self.sem))) if self.sem > 0 else 1
        return f"{self.mean:,.{digits}f} ± {self.sem:,.{digits}f}"


@dataclass(frozen=True)
class Curve:
    """Regret over time, on a log-spaced grid."""

    t: NDArray[np.int64]
    per_run: NDArray[np.float64]
    """[run, time]"""

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean over runs at each time."""
        means: NDArray[np.float64] = self.per_run.mean(axis=0)
        return means

    @property
    def sem(self) -> NDArray[np.float64]:
        """The standard error of the mean at each time."""
        n = len(self.per_run)
        if n == 1:
            return np.full(len(self.t), math.nan)
        sems: NDArray[np.float64] = self.per_run.std(axis=0, ddof=1) / math.sqrt(n)
        return sems


@dataclass(frozen=True)
class Result:
    """All runs of a cell."""

    settings: dict[str, Any]
    """The resolved settings: enough to reproduce the numbers."""
    curve: Curve
    pulls: NDArray[np.int64] | None = field(repr=False, default=None)
    """[run, arm], for up to 4096 arms; None where that would be more than 2^24 numbers."""
    stays: list[Stays] | None = field(repr=False, default=None)
    """Which arms were in memory when, one entry a run, if recorded."""
    mean_pulls: NDArray[np.float64] | None = field(repr=False, default=None)
    """[arm], the mean over runs, for up to 4096 arms; also where `pulls` would be too large."""

    @classmethod
    def of(cls, settings: dict[str, Any], grid: list[int], outcome: Outcome) -> Result:
        """Make a result of what an engine returned."""
        curve = Curve(np.array(grid, dtype=np.int64), outcome.regret)
        mean = None
        if outcome.total_pulls is not None:
            runs = len(outcome.regret)
            mean = np.array([total / runs for total in outcome.total_pulls], dtype=np.float64)
        return cls(settings, curve, outcome.pulls, outcome.stays, mean)

    def __post_init__(self) -> None:
        if self.pulls is not None:
            object.__setattr__(self, "mean_pulls", self.pulls.mean(axis=0))

    @property
    def regret(self) -> Estimate:
        """Regret at the horizon."""
        return Estimate(self.curve.per_run[:, -1])

    def regret_at(self, t: int) -> Estimate:
        """Return the regret at a time of the log-spaced grid."""
        found = np.flatnonzero(self.curve.t == t)
        if not len(found):
            raise SettingError(f"t={t} is not on the grid {self.curve.t.tolist()}")
        return Estimate(self.curve.per_run[:, found[0]])

    def quantile_regret(self, rho: float) -> Estimate:
        """Return R_T(rho), the quantile regret at the horizon (docs/mathematics.md)."""
        s = self.settings
        for change in ("drift", "churn"):
            if change in s:
                raise SettingError(
                    f"quantile regret compares with a fixed mean, and with {change}={s[change]} "
                    "the means change: leave rho out"
                )
        shortfall = s["best_mean"] - instance_of(s).quantile(rho)
        return Estimate(self.curve.per_run[:, -1] - s["horizon"] * shortfall)

    @property
    def label(self) -> str:
        """The policy's title and its memory, if that is bounded."""
        if self.settings["memory"] >= UNBOUNDED:
            return str(self.settings["label"])
        return f"{self.settings['label']}, M = {self.settings['memory']}"

    @property
    def traffic(self) -> str:
        """How rewards come and arms change, as `delay=200 lost=0.1`; empty if they do not."""
        return in_words(self.settings)

    @property
    def world(self) -> str:
        """The instance's name, and the traffic if there is any."""
        return " ".join(part for part in (self.settings["instance"], self.traffic) if part)

    def to_dict(self, rho: float | None = None) -> dict[str, Any]:
        """Return plain data for JSON: settings, regret, its curve; with `rho`, regret to mu_rho."""
        regret = self.regret
        quantile: dict[str, Any] = {}
        if rho is not None:
            to_rho = self.quantile_regret(rho)
            quantile = {
                "rho": rho,
                "quantile_regret_mean": to_rho.mean,
                "quantile_regret_sem": None if math.isnan(to_rho.sem) else to_rho.sem,
                "quantile_regret_per_run": to_rho.per_run.tolist(),
            }
        return {
            **quantile,
            **self.settings,
            "regret_mean": regret.mean,
            "regret_sem": None if math.isnan(regret.sem) else regret.sem,
            "regret_median": regret.median,
            "regret_per_run": regret.per_run.tolist(),
            "curve": {
                "t": self.curve.t.tolist(),
                "mean": self.curve.mean.tolist(),
                "sem": [None if math.isnan(x) else x for x in self.curve.sem.tolist()],
            },
            "pulls_per_arm_mean": None if self.mean_pulls is None else self.mean_pulls.tolist(),
        }

    def to_polars(self) -> pl.DataFrame:
        """Return regret over time as a frame with a row for each run and time."""
        columns = columns_of(self)
        try:
            import polars as pl
        except ImportError:
            raise MissingExtraError("to_polars", "polars", "sim") from None
        return pl.DataFrame(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return regret over time as a frame with a row for each run and time."""
        columns = columns_of(self)
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("to_pandas", "pandas", "pandas") from None
        return pd.DataFrame(columns)

    @property
    def run_numbers(self) -> NDArray[np.int64]:
        """The numbers of the runs; they start at 0 unless a range of runs was simulated."""
        first = int(self.settings.get("first_run", 0))
        return np.arange(first, first + len(self.curve.per_run))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a row for each run, settings as metadata; `read_parquet` reads it back."""
        from handful.simulation.result_files import write_parquet

        write_parquet([self], path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write regret over time, a row for each run and time, with a header."""
        from handful.simulation.result_files import write_csv

        write_csv([self], path)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw regret over time with a 95% confidence band."""
        from handful.plots.style import plot_regret

        return plot_regret([self], ax)

    def plot_memory(self, run: int = 0, ax: Axes | None = None) -> Axes:
        """Draw which arms were in memory when, in one run of a simulation with `record=True`."""
        from handful.plots.timeline import plot_memory

        return plot_memory(self, run, ax)

    def __repr__(self) -> str:
        s = self.settings
        runs = f"{s['runs']} run{'s' * (s['runs'] != 1)}"
        return (
            f"{self.label} on {shortened(self.world)}: regret {self.regret!r} "
            f"after {s['horizon']} pulls ({runs}, seed {s['seed']})"
        )

    def _repr_html_(self) -> str:
        s, regret = self.settings, self.regret
        rows = {
            "policy": self.label,
            "instance": shortened(s["instance"]),
            **({"data": s["data"]} if "data" in s else {}),
            **({"traffic": self.traffic} if self.traffic else {}),
            "pulls": f"{s['horizon']:,}",
            "runs": f"{s['runs']:,}, seed {s['seed']}",
            "regret": f"{regret!r}",
            "median": f"{regret.median:,.1f}",
            "engine": f"{s['engine']}, {s['pulls_per_second'] / 1e6:,.1f} million pulls/s",
        }
        cells = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
            for name, value in rows.items()
        )
        return f"<table><tbody>{cells}</tbody></table>"


def columns_of(result: Result, traffic: bool = False) -> dict[str, Any]:
    """Return columns of regret over time, the traffic's among them if any or if asked for."""
    runs, times = result.curve.per_run.shape
    rows = runs * times
    keys = ("policy", "label", "memory", "instance", "horizon", "seed")
    return {
        **{key: [result.settings[key]] * rows for key in keys},
        **({"traffic": [result.traffic] * rows} if traffic or result.traffic else {}),
        "run": np.repeat(result.run_numbers, times),
        "t": np.tile(result.curve.t, runs),
        "regret": result.curve.per_run.reshape(-1),
    }
