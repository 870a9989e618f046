"""What the commands that open a store share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

STORE = click.Path(dir_okay=False, path_type=Path)

F = TypeVar("F", bound=Callable[..., Any])

store_option: Callable[[F], F] = click.option(
    "--store",
    type=STORE,
    default=Path("handful.db"),
    show_default=True,
    help="The file of a store.",
)
