"""`handful export`: write the log of a store as Parquet or JSON lines."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from handful.cli.show import HELP
from handful.cli.stores import FILE, store_option
from handful.errors import MissingExtraError, SettingError

PART = 100_000
"""Decisions that are written at once."""


@click.command("export", context_settings=HELP)
@store_option
@click.option("--out", type=FILE, required=True, help="FILE.parquet or FILE.jsonl.")
@click.option("--bandit", default=None, help="Only the decisions of this bandit.")
def command(store: str | Path, out: Path, bandit: str | None) -> None:
    """Write the log of a store: a row for each decision, and what became of it.

    The store may be in use. `handful replay` evaluates policies on such a file.
    """
    if out.suffix not in (".parquet", ".jsonl"):
        raise SettingError(f"{out} ends neither in .parquet nor in .jsonl: give another name")
    from handful.service.export import decisions
    from handful.storage.opening import open_store
    from handful.storage.sqlite import copy_live

    with TemporaryDirectory(dir=out.parent) as folder:
        copy: str | Path = store
        if isinstance(store, Path):
            copy = Path(folder, "copy.db")
            copy_live(store, copy)
        with open_store(copy, durable=False, create=False, patient=True) as storage:
            found = decisions(storage, bandit)
            partial = Path(folder, out.name)
            written = (_parquet if out.suffix == ".parquet" else _json_lines)(found, partial)
        partial.replace(out)
    click.echo(f"{out}: {written:,} decisions, {out.stat().st_size:,} bytes")


def _json_lines(found: Any, path: Path) -> int:
    from handful.service.export import as_json

    written = 0
    with path.open("wb") as file:
        for each in found:
            file.write(as_json(each))
            written += 1
    return written


def _parquet(found: Any, path: Path) -> int:
    try:
        import polars as pl
    except ImportError as error:
        raise MissingExtraError("Parquet", str(error.name), "sim") from None
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "bandit": pl.String,
        "decision": pl.String,
        "at": pl.Datetime("ms", "UTC"),
        "arm": pl.String,
        "probability": pl.Float64,
        "allowed": pl.List(pl.String),
        "key": pl.String,
        "reward": pl.Float64,
        "rewarded_at": pl.Datetime("ms", "UTC"),
        "status": pl.String,
        "default": pl.Float64,
    }
    frames = []
    while part := list(islice(found, PART)):
        columns = [list(column) for column in zip(*part, strict=True)]
        frames.append(pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema))
    frame = pl.concat(frames) if frames else pl.DataFrame(schema=schema)
    frame.write_parquet(path)
    return frame.height
