"""Read a table of arms and rewards: a file or a frame; every value is checked.

The result is a polars frame with the columns `arm` (integers or text), `reward` (in [0, 1]) and, if
it is asked for, `time` (numbers that can be compared), in the order of the rows. Only these columns
are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from handful.errors import MissingExtraError, SettingError, shortened
from handful.files.frames import open_table, readable

if TYPE_CHECKING:
    import polars as pl

UNIT = (0.0, 1.0)
TIMES = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f%#z")
"""How times may be written as text, also with T and Z. Of 03/04/2026 nobody knows the month."""


def read_table(data: Any, columns: Mapping[str, str], rescale: tuple[float, float]) -> pl.DataFrame:
    """Return the columns with these names under ours, checked.

    `data` is a file, a frame or lists by the names of columns; rewards lie in `rescale`.
    """
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("an instance from data", "polars", "sim") from None
    lazy, source = open_table(data, columns.values(), "the table")
    with readable(source):
        there = lazy.collect_schema().names()
        for what, column in columns.items():
            if column not in there:
                listed = shortened(", ".join(map(repr, there)), 200)
                raise SettingError(
                    f"{source} has no column {column!r}: it has {listed}; give {what}=COLUMN"
                )
        table = lazy.select(pl.col(column).alias(what) for what, column in columns.items())
        found = table.collect()
    if found.is_empty():
        raise SettingError(f"{source} has no rows")
    checked = [
        _arms(found["arm"], columns["arm"], source),
        _rewards(found["reward"], columns["reward"], source, rescale),
    ]
    if "time" in columns:
        checked.append(_times(found["time"], columns["time"], source))
    return found.with_columns(checked)


def _arms(column: pl.Series, name: str, source: str) -> pl.Series:
    """Return arms as integers or text."""
    import polars as pl

    missing = column.null_count()
    if column.dtype.is_float():
        missing += int(column.is_nan().sum())
    if missing:
        raise SettingError(
            f"{source}: the column {name!r} of arms is empty in {_rows(missing)}: every row needs "
            "an arm"
        )
    if column.dtype.is_float():
        if not (column == column.floor()).all() or not (column.abs() < 2.0**53).all():
            raise SettingError(
                f"{source}: the column {name!r} of arms has {column.dtype} values that are no "
                "integers: give labels, text or integers"
            )
        return column.cast(pl.Int64)
    if column.dtype.is_integer():
        return column
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise SettingError(
            f"{source}: the column {name!r} of arms has values of type {column.dtype}: give "
            "labels, text or integers"
        )
    return column.cast(pl.String)


def _rewards(column: pl.Series, name: str, source: str, rescale: tuple[float, float]) -> pl.Series:
    """Return rewards in [0, 1]."""
    import polars as pl

    where = f"{source}: the column {name!r} of rewards"
    if column.null_count() == len(column):
        raise SettingError(f"{where} is empty")
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        text = column.cast(pl.String, strict=False).drop_nulls()
        first = f", such as {shortened(repr(text[0]))}" if len(text) else ""
        raise SettingError(f"{where} has values of type {column.dtype}{first}: give numbers")
    rewards = column.cast(pl.Float64)
    missing = rewards.null_count() + int(rewards.is_nan().sum())
    if missing:
        raise SettingError(
            f"{where} is empty or NaN in {_rows(missing)}: leave these rows out, or give them a "
            "reward"
        )
    lo, hi = rescale
    outside = rewards.filter((rewards < lo) | (rewards > hi))
    if len(outside):
        least, most = (float(end) for end in rewards.sort()[[0, -1]])
        raise SettingError(
            f"{where} has {outside[0]:g}, which is not in [{lo:g}, {hi:g}]: the rewards lie in "
            f"[{least:g}, {most:g}]; give a range that has them all, rescale=LO,HI"
        )
    return rewards if rescale == UNIT else (rewards - lo) / (hi - lo)


def _times(column: pl.Series, name: str, source: str) -> pl.Series:
    """Return times as numbers: seconds, or whatever the column counts, from anywhere."""
    import polars as pl

    where = f"{source}: the column {name!r} of times"
    missing = column.null_count()
    if column.dtype.is_float():
        missing += int(column.is_nan().sum())
    if missing:
        raise SettingError(f"{where} is empty or NaN in {_rows(missing)}: every row needs a time")
    if column.dtype == pl.String:
        column = _parsed(column, where)
    if column.dtype.is_temporal():
        return column.to_physical().cast(pl.Int64)
    if column.dtype.is_numeric():
        return column
    raise SettingError(f"{where} has values of type {column.dtype}: give numbers, dates or times")


def _parsed(column: pl.Series, where: str) -> pl.Series:
    """Return dates and times that are written as text."""
    import polars as pl

    plain = column.str.replace("T", " ").str.replace("Z$", "+00:00")
    for form in TIMES:
        with suppress(pl.exceptions.PolarsError):
            return plain.str.to_datetime(form, time_unit="us")
    raise SettingError(
        f"{where} has text that is no date or time, such as {shortened(repr(column[0]))}: give "
        "numbers, or dates and times as 2026-01-31 or 2026-01-31 12:00:00"
    )


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"
