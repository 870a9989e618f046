"""Read a log: Parquet, CSV, JSON lines or a frame; columns, rewards and probabilities are checked.

Columns of a log that `handful export` wrote are recognised by their names. Other logs need a column
of arms and a column of rewards, under any names. Decisions without a reward are left out: open
ones, and expired or dropped ones unless the log has a default reward for them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from handful.errors import RewardError, SettingError, UnknownNameError, shortened
from handful.evaluation.checks import of_the_log
from handful.evaluation.log import EVERY_ARM, Indices, Log
from handful.files.frames import open_table, readable
from handful.policies.settings import UNIT, check_rescale

if TYPE_CHECKING:
    import pandas as pd

LogLike: TypeAlias = (
    "Log | str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | pd.DataFrame | Mapping[str, Any]"
)
"""What users give as a log: a `Log`, a file, a frame, or lists by the names of columns."""

WRITTEN_OFF = ("expired", "dropped")
"""The statuses of decisions whose reward is the default, if there is one."""
STATUSES = ("open", "rewarded", *WRITTEN_OFF)
OPTIONAL = ("status", "default", "allowed", "recommended", "bandit")
"""Columns of an exported log that are used where they exist."""


@dataclass(frozen=True)
class Columns:
    """The names of a log's columns."""

    arm: str = "arm"
    reward: str = "reward"
    probability: str | None = None
    """None: `probability` if there is such a column."""


def read_log(
    log: LogLike,
    *,
    arm_column: str = "arm",
    reward_column: str = "reward",
    probability_column: str | None = None,
    bandit: str | None = None,
    rescale: tuple[float, float] | None = None,
) -> Log:
    """Read and check a log of decisions.

    Args:
        log: a file (.parquet, .csv, .jsonl or .ndjson), a frame of polars or pandas, or lists by
            the names of columns; a row is a decision.
        arm_column: which column has the arm that was shown.
        reward_column: which column has the reward; empty where it is not known.
        probability_column: which column has the probability with which the logging policy chose
            this arm; `probability` unless given, if there is such a column.
        bandit: which bandit's decisions to read, if the log has those of several.
        rescale: (lo, hi) if rewards lie in [lo, hi] and not in [0, 1].
    """
    if isinstance(log, Log):
        return log
    span = check_rescale(rescale)
    names = Columns(arm_column, reward_column, probability_column)
    frame, source = _frame(log, names)
    frame = _of_bandit(frame, bandit, source)
    if frame.is_empty():
        raise SettingError(f"{source} has no decisions: give a log with at least one row")
    if frame["arm"].null_count():
        raise SettingError(
            f"{source}: the column {names.arm!r} is empty in {frame['arm'].null_count():,} rows: "
            "every decision has an arm"
        )
    if frame["arm"].dtype.is_nested():
        raise SettingError(
            f"{source}: the column {names.arm!r} has values of type {frame['arm'].dtype}: give "
            "labels, text or integers"
        )
    return _checked(
        frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)), span, names, source
    )


def _checked(
    frame: pl.DataFrame, span: tuple[float, float] | None, names: Columns, source: str
) -> Log:
    rewards = _rewards(frame, names.reward, source)
    lo, hi = span or UNIT
    outside = rewards.filter((rewards < lo) | (rewards > hi))
    if len(outside):
        raise RewardError(
            f"{source}: the column {names.reward!r} has {outside[0]:g}, which is not in "
            f"[{lo:g}, {hi:g}]: give the range of rewards, rescale=(lo, hi) (--rescale LO HI)"
        )
    left_out = {"no reward": rewards.is_null()}
    probability = _probability(frame, source)
    if probability is not None:
        left_out["no probability"] = probability.is_null()
        left_out["probability 0"] = (probability == 0.0).fill_null(False)
    known = pl.Series([True]).new_from_index(0, len(frame))
    counts = {}
    for why, rows in left_out.items():
        counts[why] = int((rows & known).sum())
        known &= ~rows
    if not known.any():
        what = ", ".join(f"{count:,} rows have {why}" for why, count in counts.items() if count)
        raise SettingError(f"{source}: no decision can be used: {what}")
    used = frame.filter(known)
    labels = sorted(used["arm"].unique().to_list())
    place = {label: index for index, label in enumerate(labels)}
    subset, subsets = _allowed(used, place)
    found = Log(
        labels=labels,
        arm=_places(used["arm"], place),
        reward=(rewards.filter(known).to_numpy() - lo) / (hi - lo),
        probability=None if probability is None else probability.filter(known).to_numpy(),
        range=(lo, hi),
        subset=subset,
        subsets=subsets,
        recommended=_recommended(used, place),
    )
    return of_the_log(found, counts, len(frame))


def _frame(log: Any, names: Columns) -> tuple[pl.DataFrame, str]:
    """Return the columns that are used, under our names for them, and what to call the log."""
    used = {names.arm, names.reward, names.probability or "probability", *OPTIONAL}
    lazy, source = open_table(log, used, "the log")
    with readable(source):
        there = lazy.collect_schema().names()
        wanted = {"arm": names.arm, "reward": names.reward}
        if names.probability is not None or "probability" in there:
            wanted["probability"] = names.probability or "probability"
        for what, column in wanted.items():
            if column not in there:
                raise SettingError(
                    f"{source} has no column {column!r} for the {what}: it has "
                    f"{', '.join(map(repr, there))}; give {what}_column (--{what}-column)"
                )
        optional = {name: name for name in OPTIONAL if name in there}
        columns = [pl.col(column).alias(what) for what, column in {**optional, **wanted}.items()]
        return lazy.select(columns).collect(), source


def _of_bandit(frame: pl.DataFrame, bandit: str | None, source: str) -> pl.DataFrame:
    if "bandit" not in frame.columns:
        if bandit is not None:
            raise SettingError(f"{source} has no column 'bandit': leave bandit={bandit!r} out")
        return frame
    names = [str(name) for name in frame["bandit"].unique(maintain_order=True)]
    if bandit is None:
        if len(names) > 1:
            listed = shortened(", ".join(names))
            raise SettingError(
                f"{source} has the decisions of {len(names)} bandits ({listed}): say which, "
                "bandit=NAME (--bandit NAME)"
            )
        return frame
    if bandit not in names:
        raise UnknownNameError("bandit in this log", bandit, names)
    return frame.filter(pl.col("bandit").cast(pl.String) == bandit)


def _rewards(frame: pl.DataFrame, column: str, source: str) -> pl.Series:
    """Return the rewards; null where there is none, and the default where it stands in."""
    rewards = _numbers(frame["reward"], column, source).fill_nan(None)
    if "status" not in frame.columns:
        return rewards
    unknown = set(frame["status"].drop_nulls().unique()) - set(STATUSES)
    if unknown:
        raise SettingError(
            f"{source}: the column 'status' has {min(map(str, unknown))!r}: it may have "
            f"{', '.join(STATUSES)}"
        )
    default = pl.lit(None, dtype=pl.Float64)
    if "default" in frame.columns:
        default = pl.lit(_numbers(frame["default"], "default", source))
    status = pl.col("status")
    return frame.select(
        pl.when(status.is_in(WRITTEN_OFF))
        .then(default)
        .when(status == "open")
        .then(None)
        .otherwise(pl.lit(rewards))
        .alias("reward")
    )["reward"]


def _probability(frame: pl.DataFrame, source: str) -> pl.Series | None:
    """Return the probabilities; None if there is no column, or if it is empty."""
    if "probability" not in frame.columns or frame["probability"].null_count() == len(frame):
        return None
    found = _numbers(frame["probability"], "probability", source).fill_nan(None)
    wrong = found.filter((found < 0.0) | (found > 1.0))
    if len(wrong):
        raise SettingError(
            f"{source}: the column of probabilities has {wrong[0]:g}: probabilities lie in [0, 1]"
        )
    return found


def _numbers(column: pl.Series, name: str, source: str) -> pl.Series:
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64)
    if column.null_count() == len(column):  # of a CSV file, an empty column is text
        return pl.Series(column.name, [None] * len(column), dtype=pl.Float64)
    raise SettingError(
        f"{source}: the column {name!r} has values of type {column.dtype}: give numbers"
    )


def _places(column: pl.Series, place: Mapping[Any, int]) -> Indices:
    """Return the places of labels; EVERY_ARM for a label that is no arm of the log."""
    found = column.replace_strict(
        list(place), list(place.values()), default=EVERY_ARM, return_dtype=pl.Int64
    )
    return found.to_numpy().astype(np.int64)


def _recommended(frame: pl.DataFrame, place: Mapping[Any, int]) -> Indices | None:
    if "recommended" not in frame.columns:
        return None
    return _places(frame["recommended"].cast(frame["arm"].dtype, strict=False), place)


def _allowed(frame: pl.DataFrame, place: Mapping[Any, int]) -> tuple[Indices, list[Indices]]:
    """Return which subset of the arms was allowed, by row, and the subsets that occur."""
    everything = np.full(len(frame), EVERY_ARM, dtype=np.int64)
    if "allowed" not in frame.columns or frame["allowed"].null_count() == len(frame):
        return everything, []
    if not isinstance(frame["allowed"].dtype, pl.List):
        raise SettingError(
            f"the column 'allowed' has values of type {frame['allowed'].dtype}: give lists of "
            "labels, which Parquet and JSON lines have and CSV has not"
        )
    lists = frame["allowed"].list.sort()
    distinct = lists.drop_nulls().unique(maintain_order=True).to_list()
    numbers = {tuple(allowed): number for number, allowed in enumerate(distinct)}
    for row, allowed in enumerate(lists.to_list()):
        if allowed is not None:
            everything[row] = numbers[tuple(allowed)]
    subsets = [
        np.array([place[label] for label in allowed if label in place], dtype=np.int64)
        for allowed in distinct
    ]
    return everything, subsets
