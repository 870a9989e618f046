"""`handful keys`: make, list and remove keys; a file must not be served meanwhile."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from handful.cli.show import HELP
from handful.cli.stores import store_option
from handful.errors import SettingError


@click.group("keys", context_settings=HELP)
def command() -> None:
    """Make, list and remove the keys of callers.

    While a store is served, `POST /v1/keys` and `DELETE /v1/keys/ID` do the same. Several keys work
    at once: to rotate one, make another, change the callers, and remove the first.
    """


@command.command("add")
@store_option
@click.option("--name", required=True, help="What the key is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    help="decide, reward or admin; may be given several times.",
)
@click.option("--bandit", default=None, help="The only bandit that the key is for.")
def add(store: str | Path, name: str, scopes: tuple[str, ...], bandit: str | None) -> None:
    """Make a key and print it, this once."""
    from handful.service.auth import add_key, new_key
    from handful.service.problems import Problem
    from handful.storage.opening import open_store

    try:
        key, row = new_key(name, list(scopes), bandit, time.time_ns() // 1_000_000)
        with open_store(store) as storage, storage.begin() as tx:
            add_key(tx, row)
    except Problem as problem:
        raise SettingError(problem.detail) from None
    click.echo(key)


@command.command("list")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(store: str | Path, as_json: bool) -> None:
    """List the keys: id, name, scopes, bandit."""
    from handful.storage.opening import open_store

    with open_store(store, create=False) as storage, storage.begin() as tx:
        rows = tx.caller_keys()
    if as_json:
        fields = ("id", "name", "scopes", "bandit")
        click.echo(json.dumps([{name: getattr(row, name) for name in fields} for row in rows]))
        return
    for row in rows:
        click.echo(f"{row.id}  {row.scopes:<20} {row.bandit or 'all bandits':<20} {row.name}")


@command.command("remove")
@store_option
@click.argument("id")
def remove(store: str | Path, id: str) -> None:
    """Remove a key, by its id.

    A store that had a key is never open to callers without one again: after the last key is
    removed, all requests are refused until another is made.
    """
    from handful.service.auth import remove_key
    from handful.storage.opening import open_store

    with open_store(store, create=False) as storage, storage.begin() as tx:
        found = remove_key(tx, id)
        left = tx.caller_keys()
    if not found:
        raise SettingError(f"there is no key {id!r}: see `handful keys list`")
    if not left:
        click.echo("no key is left, so every request is refused: make one with `handful keys add`")
