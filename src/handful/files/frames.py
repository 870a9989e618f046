"""Open a table that a user gives: a file, a frame, or lists by the names of columns.

Files are Parquet, CSV or JSON lines; frames are of polars, lazy or not, or of pandas. The result is
a lazy frame of polars, whose columns are read when they are collected.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handful.errors import SettingError, shortened

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet", ".csv", ".jsonl", ".ndjson")


def open_table(data: Any, used: Collection[str], source: str) -> tuple[pl.LazyFrame, str]:
    """Return a table, and what messages call it: its file, or `source`.

    Of pandas and of lists only the `used` columns are taken; others are there by name, and empty.
    """
    import polars as pl

    if isinstance(data, str | os.PathLike):
        with readable(str(data)):
            return _scan(Path(data)), str(data)
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return data.lazy(), source
    if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns"):
        taken = [column for column in data.columns if column in used]
        if len(set(taken)) < len(taken):
            raise SettingError(f"{source} has two columns of one name: {shortened(str(taken))}")
        columns = {column: _of_pandas(data[column]) for column in taken}
        return _frame(columns, data.columns, source), source
    if isinstance(data, Mapping):
        return _frame({key: data[key] for key in data if key in used}, data, source), source
    raise SettingError(
        f"{shortened(repr(data))} is not a table: give a file, a frame of polars or pandas, "
        "or lists by the names of columns"
    )


@contextmanager
def readable(source: str) -> Iterator[None]:
    """Raise an error that names the table if polars cannot read it."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        said = str(error).strip().partition("\n")[0]
        raise SettingError(f"{source} cannot be read: {said}") from None


def _frame(used: Mapping[str, Any], there: Any, source: str) -> pl.LazyFrame:
    """Return the columns that are used; others are there by name only."""
    import polars as pl

    try:
        made = pl.DataFrame({column: pl.Series(values) for column, values in used.items()})
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SettingError(f"{source} cannot be made of these columns: {error}") from None
    others = [pl.lit(None).alias(str(column)) for column in there if column not in used]
    return made.lazy().with_columns(others) if used else pl.select(others).lazy()


def _of_pandas(column: Any) -> Any:
    """Return a column of pandas as polars takes it, without pyarrow."""
    if column.dtype.kind in "biuf" and hasattr(column.dtype, "itemsize"):
        return column.to_numpy()
    if str(column.dtype).startswith("datetime64[") and getattr(column.dt, "tz", None) is None:
        return column.to_numpy()
    return column.astype(object).where(column.notna(), None).tolist()


def _scan(file: Path) -> pl.LazyFrame:
    import polars as pl

    ending = file.suffix.lower()
    if ending not in ENDINGS:
        listed = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise SettingError(f"{file}: give a file whose name ends in {listed}")
    if not file.is_file():
        raise SettingError(f"there is no file {file}")
    if ending == ".parquet":
        return pl.scan_parquet(file, glob=False)
    # The whole file says what a column has: a label may be text from the millionth row on.
    if ending == ".csv":
        return pl.scan_csv(file, infer_schema_length=None, glob=False)
    return pl.scan_ndjson(file, infer_schema_length=None)
