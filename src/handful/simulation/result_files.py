"""Files of results: Parquet, which is read back, and CSV, which is for other programs.

A Parquet file has one row per run. Its metadata holds the resolved settings, the seed and the
version, so that a file alone says how to reproduce it, and a digest of each cell's numbers. A CSV
file has one row for each run and time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import MissingExtraError, SettingError
from handful.files.writing import write_file
from handful.simulation.outcome import Stays
from handful.simulation.result import Curve, Result, columns_of

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1
"""The version of the columns and of the metadata of Parquet files."""
_METADATA = "handful"
_DIGESTS = "handful-digests"
_FORMAT = "handful-format"


def write_csv(results: Sequence[Result], path: str | os.PathLike[str]) -> None:
    """Write the regret over time of several cells: a row for each cell, run and time."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("CSV", "polars", "sim") from None
    buffer = BytesIO()
    traffic = any(result.traffic for result in results)
    for index, result in enumerate(results):
        columns = columns_of(result, traffic)
        columns["seed"] = [str(seed) for seed in columns["seed"]]  # of any size
        pl.DataFrame(columns).write_csv(buffer, include_header=index == 0)
    write_file(path, buffer.getvalue())


def write_parquet(results: Sequence[Result], path: str | os.PathLike[str]) -> None:
    """Write the results of several cells to one file, completely or not at all."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("Parquet", "polars", "sim") from None
    metadata = {
        _METADATA: json.dumps([result.settings for result in results]),
        _DIGESTS: json.dumps([_digest(result) for result in results]),
        _FORMAT: str(FORMAT),
    }
    buffer = BytesIO()
    traffic = any(result.traffic for result in results)
    frames = [_frame(index, result, traffic) for index, result in enumerate(results)]
    pl.concat(frames).write_parquet(buffer, metadata=metadata)
    write_file(path, buffer.getvalue())


def _frame(index: int, result: Result, traffic: bool) -> pl.DataFrame:
    """Return a row for each run; the mean pulls of runs without their own are in the first.

    There is a column of the traffic if any cell of the file has some.
    """
    import polars as pl

    s = result.settings
    runs = len(result.curve.per_run)
    stays: list[dict[str, Any] | None] = [None] * runs
    if result.stays is not None:
        stays = [{k: v.tolist() for k, v in vars(stay).items()} for stay in result.stays]
    means: list[list[float] | None] = [None] * runs
    if result.pulls is None and result.mean_pulls is not None:
        means[0] = result.mean_pulls.tolist()
    return pl.DataFrame(
        {
            "cell": [index] * runs,
            "policy": [s["policy"]] * runs,
            "label": [s["label"]] * runs,
            "memory": [s["memory"]] * runs,
            "instance": [s["instance"]] * runs,
            "horizon": [s["horizon"]] * runs,
            "seed": [str(s["seed"])] * runs,
            **({"traffic": [result.traffic] * runs} if traffic else {}),
            "run": result.run_numbers,
            "regret": result.regret.per_run,
            "curve_t": [result.curve.t.tolist()] * runs,
            "curve_regret": _lists(result.curve.per_run),
            "pulls": [None] * runs if result.pulls is None else _lists(result.pulls),
            "mean_pulls": means,
            "stays": stays,
        },
        schema_overrides={
            "curve_t": pl.List(pl.Int64),
            "curve_regret": pl.List(pl.Float64),
            "pulls": pl.List(pl.Int64),
            "mean_pulls": pl.List(pl.Float64),
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


def _lists(rows: NDArray[Any]) -> pl.Series:
    """Return a column of lists, made without a Python object for every number."""
    import polars as pl

    return pl.Series(np.ascontiguousarray(rows)).arr.to_list()


def _matrix(lists: pl.Series, kind: type[np.generic]) -> NDArray[Any]:
    """Undo `_lists`; `reshape` refuses lists of different lengths."""
    return lists.explode().to_numpy().astype(kind, copy=True).reshape(len(lists), -1)


def read_parquet(path: str | os.PathLike[str]) -> list[Result]:
    """Read the results in a file that `write_parquet` wrote."""
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
    if (found := metadata.get(_FORMAT, "none")) != str(FORMAT):
        raise SettingError(
            f"{file} has the format {found}, and this handful reads {FORMAT}: read it by the "
            "version that wrote it, or a newer one"
        )
    try:
        results = _results(frame, json.loads(metadata[_METADATA]))
        whole = [_digest(result) for result in results] == json.loads(metadata[_DIGESTS])
    except (AttributeError, ValueError, LookupError, TypeError, pl.exceptions.PolarsError) as error:
        raise SettingError(f"{file} is damaged, or not of this version: {error}") from None
    if not whole:
        raise SettingError(f"{file} is damaged: its numbers are not those that were written")
    return results


def _digest(result: Result) -> str:
    """Digest all numbers: a file with a flipped bit can still be readable."""
    digest = blake2b(json.dumps(result.settings, sort_keys=True).encode(), digest_size=8)
    arrays = [result.curve.t, result.curve.per_run]
    if result.pulls is not None:
        arrays.append(result.pulls)
    elif result.mean_pulls is not None:
        arrays.append(result.mean_pulls)
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
        stays = rows["stays"].to_list()
        pulls = means = None
        if rows["pulls"][0] is not None:
            pulls = _matrix(rows["pulls"], np.int64)
        elif "mean_pulls" in rows.columns and rows["mean_pulls"][0] is not None:
            means = rows["mean_pulls"][0].to_numpy()
        results.append(
            Result(
                settings,
                Curve(
                    np.array(rows["curve_t"][0].to_list(), dtype=np.int64),
                    _matrix(rows["curve_regret"], np.float64),
                ),
                pulls,
                None
                if stays[0] is None or stays[0]["start"] is None
                else [Stays(**{k: np.array(v) for k, v in stay.items()}) for stay in stays],
                means,
            )
        )
    return results
