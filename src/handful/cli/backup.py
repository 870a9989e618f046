"""`handful backup`: copy a store that may be in use."""

from __future__ import annotations

from pathlib import Path

import click

from handful.cli.show import HELP
from handful.cli.stores import STORE, store_option


@click.command("backup", context_settings=HELP)
@store_option
@click.option("--out", type=STORE, required=True, help="The new file.")
def command(store: Path, out: Path) -> None:
    """Copy a store to a new file, also while it is served.

    The copy has everything that was answered before the command began. Look at it with `handful
    doctor --store`.
    """
    from handful.storage.sqlite import copy_live

    copy_live(store, out)
    click.echo(f"{out}: {out.stat().st_size:,} bytes")
