"""The result of a cell: regret per run and over time, pulls by arm, and what it took to get them.

In memory a `Result`; on disk Parquet, one row a run, with the resolved settings, the seed and the
version in the file's metadata, so that a file alone says how to get it again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import MissingExtraError, SettingError
from handful.instances import instance
from handful.policies.base import UNBOUNDED
from handful.simulation.outcome import Outcome, Stays

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes

_METADATA = "handful"
_DIGESTS = "handful-digests"


@dataclass(frozen=True)
class Estimate:
    """A mean over runs and how sure it is."""

    per_run: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean over runs."""
        return float(self.per_run.mean())

    @property
    def sem(self) -> float:
        """The standard error of the mean; not a number for a single run."""
        n = len(self.per_run)
        return float(self.per_run.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan

    @property
    def median(self) -> float:
        """The median over runs."""
        return float(np.median(self.per_run))

    def quantile(self, q: float) -> float:
        """The q-quantile over runs."""
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
    """The resolved settings: enough to get the same numbers again."""
    curve: Curve
    pulls: NDArray[np.int64] | None = field(repr=False, default=None)
    """[run, arm], where the arms are few."""
    stays: list[Stays] | None = field(repr=False, default=None)
    """Which arms were in memory when, one entry a run, if it was asked for."""

    @classmethod
    def of(cls, settings: dict[str, Any], grid: list[int], outcome: Outcome) -> Result:
        """From what an engine returned."""
        curve = Curve(np.array(grid, dtype=np.int64), outcome.regret)
        return cls(settings, curve, outcome.pulls, outcome.stays)

    @property
    def regret(self) -> Estimate:
        """Regret at the horizon."""
        return Estimate(self.curve.per_run[:, -1])

    def regret_at(self, t: int) -> Estimate:
        """Regret at a time of the grid."""
        found = np.flatnonzero(self.curve.t == t)
        if not len(found):
            raise SettingError(f"t={t} is not on the grid {self.curve.t.tolist()}")
        return Estimate(self.curve.per_run[:, found[0]])

    def quantile_regret(self, rho: float) -> Estimate:
        """R_T(rho): regret to mu_rho, which all but a share rho of the arms do not exceed."""
        s = self.settings
        shortfall = s["best_mean"] - instance(s["instance"]).quantile(rho)
        return Estimate(self.curve.per_run[:, -1] - s["horizon"] * shortfall)

    @property
    def label(self) -> str:
        """The policy and its memory as people write them; no memory where it has no bound."""
        if self.settings["memory"] >= UNBOUNDED:
            return str(self.settings["label"])
        return f"{self.settings['label']}, M = {self.settings['memory']}"

    def to_dict(self, rho: float | None = None) -> dict[str, Any]:
        """Plain data for JSON: the settings, the regret and its curve; also that to mu_rho."""
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
            "pulls_per_arm_mean": None if self.pulls is None else self.pulls.mean(axis=0).tolist(),
        }

    def to_polars(self) -> pl.DataFrame:
        """Regret over time: a row for each run and time."""
        columns = self._columns()
        try:
            import polars as pl
        except ImportError:
            raise MissingExtraError("to_polars", "polars", "sim") from None
        return pl.DataFrame(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Regret over time: a row for each run and time."""
        columns = self._columns()
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("to_pandas", "pandas", "pandas") from None
        return pd.DataFrame(columns)

    def _columns(self) -> dict[str, Any]:
        runs, times = self.curve.per_run.shape
        rows = runs * times
        keys = ("policy", "label", "memory", "instance", "seed")
        named = {key: [self.settings[key]] * rows for key in keys}
        return {
            **named,
            "run": np.repeat(np.arange(runs), times),
            "t": np.tile(self.curve.t, runs),
            "regret": self.curve.per_run.reshape(-1),
        }

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """One row a run, settings and version in the metadata; `read_parquet` reads it back."""
        write_parquet([self], path)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Regret over time with a 95% confidence band."""
        from handful.plots.style import plot_regret

        return plot_regret([self], ax)

    def plot_memory(self, run: int = 0, ax: Axes | None = None) -> Axes:
        """Which arms were in memory when, in one run of a simulation with `record=True`."""
        from handful.plots.timeline import plot_memory

        return plot_memory(self, run, ax)

    def __repr__(self) -> str:
        s = self.settings
        runs = f"{s['runs']} run{'s' * (s['runs'] != 1)}"
        return (
            f"{self.label} on {shortened(s['instance'])}: regret {self.regret!r} "
            f"after {s['horizon']} pulls ({runs}, seed {s['seed']})"
        )


def shortened(text: str, most: int = 70) -> str:
    """For a line of text: an instance may list a hundred means."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def write_parquet(results: Sequence[Result], path: str | os.PathLike[str]) -> None:
    """Results of several cells in one file; written beside it first, so never half a file."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("Parquet", "polars", "sim") from None
    frames = []
    for index, result in enumerate(results):
        s = result.settings
        runs = len(result.curve.per_run)
        stays: list[dict[str, Any] | None] = [None] * runs
        if result.stays is not None:
            stays = [{k: v.tolist() for k, v in vars(stay).items()} for stay in result.stays]
        frames.append(
            pl.DataFrame(
                {
                    "cell": [index] * runs,
                    "policy": [s["policy"]] * runs,
                    "label": [s["label"]] * runs,
                    "memory": [s["memory"]] * runs,
                    "instance": [s["instance"]] * runs,
                    "horizon": [s["horizon"]] * runs,
                    "seed": [str(s["seed"])] * runs,
                    "run": list(range(runs)),
                    "regret": result.regret.per_run,
                    "curve_t": [result.curve.t.tolist()] * runs,
                    "curve_regret": result.curve.per_run.tolist(),
                    "pulls": [None] * runs if result.pulls is None else result.pulls.tolist(),
                    "stays": stays,
                },
                schema_overrides={
                    "curve_t": pl.List(pl.Int64),
                    "curve_regret": pl.List(pl.Float64),
                    "pulls": pl.List(pl.Int64),
                    "stays": pl.Struct(
                        {
                            "start": pl.List(pl.Int64),
                            "arms": pl.List(pl.List(pl.Int64)),
                            "pulls": pl.List(pl.List(pl.Int64)),
                            "recommended": pl.List(pl.Int64),
                        }
                    ),
                },
            )
        )
    target = Path(path)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    metadata = {
        _METADATA: json.dumps([result.settings for result in results]),
        _DIGESTS: json.dumps([_digest(result) for result in results]),
    }
    pl.concat(frames).write_parquet(part, metadata=metadata)
    part.replace(target)


def read_parquet(path: str | os.PathLike[str]) -> list[Result]:
    """The results in a file that `write_parquet` wrote."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("Parquet", "polars", "sim") from None
    file = Path(path)
    try:
        metadata = pl.read_parquet_metadata(file)
        frame = pl.read_parquet(file)
    except FileNotFoundError:
        raise SettingError(f"there is no file {file}") from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise SettingError(f"{file} cannot be read as Parquet: {error}") from None
    if _METADATA not in metadata:
        raise SettingError(f"{file} holds no results of handful")
    try:
        results = _results(frame, json.loads(metadata[_METADATA]))
        whole = [_digest(result) for result in results] == json.loads(metadata[_DIGESTS])
    except (ValueError, LookupError, TypeError, pl.exceptions.PolarsError) as error:
        raise SettingError(f"{file} is damaged, or not of this version: {error}") from None
    if not whole:
        raise SettingError(f"{file} is damaged: its numbers are not those that were written")
    return results


def _digest(result: Result) -> str:
    """Of all numbers: a bit that was flipped in a file can still make a readable file."""
    digest = blake2b(json.dumps(result.settings, sort_keys=True).encode(), digest_size=8)
    arrays = [result.curve.t, result.curve.per_run]
    arrays += [] if result.pulls is None else [result.pulls]
    for stay in result.stays or []:
        arrays += [stay.start, stay.arms, stay.pulls, stay.recommended]
    for array in arrays:
        digest.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _results(frame: pl.DataFrame, all_settings: list[dict[str, Any]]) -> list[Result]:
    import polars as pl

    results = []
    for index, settings in enumerate(all_settings):
        rows = frame.filter(pl.col("cell") == index).sort("run")
        pulls, stays = rows["pulls"].to_list(), rows["stays"].to_list()
        results.append(
            Result(
                settings,
                Curve(
                    np.array(rows["curve_t"][0].to_list(), dtype=np.int64),
                    np.array(rows["curve_regret"].to_list(), dtype=np.float64),
                ),
                None if pulls[0] is None else np.array(pulls, dtype=np.int64),
                None
                if stays[0] is None or stays[0]["start"] is None
                else [Stays(**{k: np.array(v) for k, v in stay.items()}) for stay in stays],
            )
        )
    return results
