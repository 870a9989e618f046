"""Options that several commands have, each written once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from handful.cli.show import number

F = TypeVar("F", bound=Callable[..., Any])

n_jobs = click.option("--n-jobs", "-j", type=number, help="Workers; all cores unless given.")


def seed(*short: str) -> Callable[[F], F]:
    """Return the option of the seed, with a short form if one is given."""
    return click.option(
        "--seed", *short, type=int, default=0, show_default=True, help="Any integer."
    )


def of_a_report(numbers: str, files: str) -> Callable[[F], F]:
    """Return the options of a command that runs cells and writes files to a folder.

    `numbers` is what --json prints, `files` what is written to --out besides finished cells.
    """
    options = (
        seed(),
        n_jobs,
        click.option("--fresh", is_flag=True, help="Run finished cells again."),
        click.option("--json", "as_json", is_flag=True, help=f"Print {numbers} as JSON."),
        click.option(
            "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("report"),
            show_default=True, help=f"Folder for {files} and finished cells.",
        ),
    )  # fmt: skip

    def with_options(command: F) -> F:
        for option in reversed(options):  # click lists the one first that is applied last
            command = option(command)
        return command

    return with_options
