"""`handful copy`: copy a store, and compare the copy with the source."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from handful.cli.show import HELP
from handful.cli.stores import as_store
from handful.errors import StoreInUseError


@click.command("copy", context_settings=HELP)
@click.option("--from", "source", required=True, callback=as_store, help="The store to copy.")
@click.option("--to", "target", required=True, callback=as_store, help="A new or empty store.")
def command(source: str | Path, target: str | Path) -> None:
    """Copy a store to another one, of any kind: a file, or a database of PostgreSQL.

    Ids of decisions, keys, and what was answered stay valid. Then everything is compared: every row
    of the log, answers, labels, keys, and the state of every bandit, byte for byte. A file must not
    be served meanwhile. Changes of a database after the command began are not in the copy.

    \b
    handful copy --from handful.db --to postgresql://db.example/handful
    handful copy --from postgresql://db.example/handful --to handful.db
    """
    from handful.service.copying import copy
    from handful.storage.opening import open_store, shown

    if isinstance(target, Path) and target.exists():
        raise StoreInUseError(f"{str(target)!r} exists already: give the name of a new file")

    def progress(row: int, rows: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\rrow {row:,} of {rows:,}", nl=False, err=True)

    with (
        open_store(source, create=False, patient=True) as reading,
        open_store(target, patient=True) as writing,
    ):
        made = copy(reading, writing, progress)
    click.echo(
        f"{shown(target)}: {made.rows:,} rows, {made.bandits:,} bandits, equal to {shown(source)} "
        f"(SHA-256 {made.digest})"
    )
