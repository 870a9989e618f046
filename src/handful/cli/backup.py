"""`handful backup`: copy a store that may be in use."""

from __future__ import annotations

from pathlib import Path

import click

from handful.cli.show import HELP
from handful.cli.stores import FILE, copied_to_file, store_option


@click.command("backup", context_settings=HELP)
@store_option
@click.option("--out", type=FILE, required=True, help="The new file.")
def command(store: str | Path, out: Path) -> None:
    """Copy a store to a new file, also while it is served.

    The copy has everything that was answered before the command began. Check it with `handful
    doctor --store`. Of a store in PostgreSQL, the copy is a file that can be served by itself.
    """
    from handful.storage.sqlite import copy_live

    if isinstance(store, str):
        copied_to_file(store, out)
    else:
        copy_live(store, out)
    click.echo(f"{out}: {out.stat().st_size:,} bytes")
