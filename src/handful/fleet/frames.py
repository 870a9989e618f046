"""Frames of polars, pandas and Arrow: a column of ids in, columns of arms and tickets out.

This module imports none of these packages; only methods of the given frame are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import SettingError

PACKAGES = ("polars", "pandas", "pyarrow")


def _package(given: Any) -> str:
    return type(given).__module__.partition(".")[0]


def is_frame(given: Any) -> bool:
    """Return whether this is a table of one of these packages."""
    named = type(given).__name__ in ("DataFrame", "Table", "RecordBatch")
    return named and _package(given) in PACKAGES


def column(frame: Any, name: str | None, role: str) -> Any:
    """Return a column of a frame as an array, or as a list of strings."""
    arrow = _package(frame) == "pyarrow"
    names = {str(each): each for each in (frame.column_names if arrow else frame.columns)}
    if name is None or name not in names:
        given = f"{role}={name!r} is no column" if name is not None else f"{role}= is missing"
        raise SettingError(
            f"{given}: give {role}= the name of the column, one of {', '.join(names)}"
        )
    return values(frame[names[name]])


def ids_in(given: Any, name: str | None) -> Any:
    """Return the ids of a call: a column of a frame, by its name, or what was given itself."""
    return column(given, name, "id") if is_frame(given) else values(given)


def values(given: Any) -> Any:
    """Return a series or an Arrow array as an array or a list; anything else as it is."""
    package = _package(given)
    if package not in PACKAGES:
        return given
    kind = getattr(given, "type" if package == "pyarrow" else "dtype", None)
    if kind is None:
        raise SettingError(
            f"a {type(given).__name__} of {package} has no values here: give a column, or a frame "
            "and the name of its column"
        )
    if package == "pyarrow":
        if str(kind).startswith("dictionary<"):
            kind = kind.value_type
            given = given.cast(kind)
        missing = int(given.null_count)
    else:
        missing = int((given.is_null() if package == "polars" else given.isna()).sum())
    if missing:
        raise SettingError(f"a column has {missing} missing values: fill or drop these rows")
    if package == "polars":
        text = str(kind).partition("(")[0] in ("String", "Categorical", "Enum")
        return given.to_list() if text else given.to_numpy()
    if package == "pandas":
        return given.to_numpy() if kind.kind in "iufb" else given.tolist()
    if str(kind) in ("string", "large_string", "string_view"):
        return given.to_pylist()
    if type(given).__name__ == "ChunkedArray":
        return given.to_numpy()  # always a copy
    return given.to_numpy(zero_copy_only=False)


def with_columns(frame: Any, columns: dict[str, NDArray[Any]]) -> Any:
    """Return a frame with more columns; those of the same names are replaced."""
    plain = {
        name: array.tolist() if array.dtype == np.object_ else array
        for name, array in columns.items()
    }
    package = _package(frame)
    if package == "polars":
        make: Any = type(frame)
        return frame.with_columns(**{k: make({k: v}).to_series() for k, v in plain.items()})
    if package == "pandas":
        return frame.assign(**plain)
    for name, given in plain.items():
        if name in frame.column_names:
            frame = frame.drop_columns([name])
        arrow = import_module("pyarrow")  # the frame is of this package
        frame = frame.append_column(name, arrow.array(given))
    return frame
