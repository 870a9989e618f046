"""`handful serve`: serve decisions over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from handful.cli.show import HELP
from handful.cli.stores import store_option
from handful.errors import MissingExtraError, SettingError


@click.command("serve", context_settings=HELP)
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="The port; 0: any free one.",
)
@click.option(
    "--rate", type=float, default=0.0, help="The most requests a second of one caller; 0: no limit."
)
@click.option(
    "--max-body", type=int, default=16 * 2**20, show_default=True, help="The most bytes of a body."
)
@click.option(
    "--max-at-once", type=int, default=1000, show_default=True, help="The most requests at once."
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    help="Let pages of this origin call the service, such as https://www.example.org.",
)
@click.option("--access-log", is_flag=True, help="Log every request, not only failures.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
)
@click.option(
    "--no-fsync",
    is_flag=True,
    help="Do not wait for the disk. For measurements: a power failure may lose answers.",
)
def command(
    store: str | Path,
    host: str,
    port: int,
    rate: float,
    max_body: int,
    max_at_once: int,
    origins: tuple[str, ...],
    access_log: bool,
    log_level: str,
    no_fsync: bool,
) -> None:
    """Serve decisions over HTTP, from one file on disk or from PostgreSQL.

    An answer with a status of 2xx is on disk. Several servers may share a store in PostgreSQL. On
    an address that others can reach, callers need a key: make the first with `handful keys add
    --store FILE --name admin --scope admin`.

    \b
    handful serve --store handful.db
    curl -s localhost:8000/v1/bandits -H 'Content-Type: application/json' \\
      -d '{"name": "front", "memory": 2, "arms": ["a", "b", "c"]}'
    """
    try:
        from handful.service.serving import Address, serve
    except ImportError as error:
        raise MissingExtraError("the service", str(error.name), "serve") from None
    from handful.service.limits import Limits

    if rate < 0.0 or max_body < 1 or max_at_once < 1:
        raise SettingError("limits are positive numbers; --rate 0 is no limit")
    limits = Limits(body_bytes=max_body, at_once=max_at_once, per_second=rate)
    sys.exit(
        serve(store, Address(host, port), limits, access_log, log_level, origins, not no_fsync)
    )
