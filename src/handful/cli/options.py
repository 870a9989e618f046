"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from handful.cli.show import number

F = TypeVar("F", bound=Callable[..., Any])

n_jobs = click.option("--n-jobs", "-j", type=number, help="Workers; all cores unless given.")

cluster = click.option(
    "--cluster", metavar="ADDRESS",
    help="Run on a Dask cluster: tcp://HOST:PORT of its scheduler, or local:N for N processes on "
    "this machine.",
)  # fmt: skip


def traffic(command: F) -> F:
    """Add the options of rewards that come late or never, and of means and arms that change."""
    options = (
        click.option(
            "--delay", metavar="DELAY",
            help="How many decisions late each reward comes: 200; geometric:200, random with this "
            "mean; batch:500, together after every 500th decision.",
        ),
        click.option("--lost", type=float, help="The probability that a reward is lost."),
        click.option(
            "--drift", metavar="DRIFT",
            help="How the means change. falls: after half of the decisions the best arm's mean "
            "becomes the lowest. rises or rises:P: after half of the decisions another arm gets "
            "the mean P, 0.97 unless given. swap:N: every T/N decisions the best arm and a random "
            "other one exchange their means. walk:SD: every 100 decisions each mean moves by a "
            "normal step. For finite sets of at most 4096 arms.",
        ),
        click.option(
            "--clicks-only", type=number, metavar="W",
            help="Only rewards above 0 are reported. Policies are given clicks_only=W: a "
            "decision without a reward after W more decisions counts as 0.",
        ),
        click.option(
            "--churn", type=number, metavar="E",
            help="Every E decisions an arm drawn at random is removed, and a new one added, with "
            "the mean that a random arm of the instance starts with. For finite sets of at most "
            "4096 arms.",
        ),
    )  # fmt: skip
    return _with_options(command, options)


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
        cluster,
        click.option("--fresh", is_flag=True, help="Run finished cells again."),
        click.option("--json", "as_json", is_flag=True, help=f"Print {numbers} as JSON."),
        click.option(
            "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("report"),
            show_default=True, help=f"Folder for {files} and finished cells.",
        ),
    )  # fmt: skip

    return lambda command: _with_options(command, options)


def _with_options(command: F, options: Sequence[Callable[[F], F]]) -> F:
    """Add options to a command, in this order."""
    for option in reversed(options):  # click lists the one first that is applied last
        command = option(command)
    return command
