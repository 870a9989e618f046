"""Options and functions of the commands that open a store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

FILE = click.Path(dir_okay=False, path_type=Path)


def as_store(
    ctx: click.Context, param: click.Parameter, value: str | Path | None
) -> str | Path | None:
    """Return the path of a file, or the address of a database as it is."""
    return value if value is None or "://" in str(value) else Path(value)


F = TypeVar("F", bound=Callable[..., Any])

store_option: Callable[[F], F] = click.option(
    "--store",
    metavar="FILE|ADDRESS",
    callback=as_store,
    default="handful.db",
    show_default=True,
    help="The file of a store, or postgresql://HOST/DATABASE.",
)


def copied_to_file(store: str, out: Path) -> None:
    """Copy a store in a database to a new file, in the form of SQLite."""
    from handful.errors import StoreInUseError
    from handful.service.copying import copy
    from handful.storage.opening import open_store
    from handful.storage.sqlite import SQLiteStorage, copy_live

    if out.exists():
        raise StoreInUseError(f"{str(out)!r} exists already: give the name of a new file")
    partial = out.with_name(f"{out.name}.copying")
    try:
        with (
            open_store(store, create=False, patient=True) as source,
            SQLiteStorage(partial, durable=False) as target,
        ):
            copy(source, target)
        copy_live(partial, out)
    finally:
        for suffix in ("", "-wal", "-shm", ".lock"):
            partial.with_name(f"{partial.name}{suffix}").unlink(missing_ok=True)
