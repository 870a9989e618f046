"""The group of commands, each loaded when it is called, and how errors are reported."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from handful import __version__
from handful.errors import (
    ClusterError,
    HandfulError,
    StoreError,
    SweepError,
    UnknownNameError,
    WriteError,
)

COMMANDS = {
    "run": "Simulate policies on instances and print their regret.",
    "sweep": "Simulate the cells of a spec, here or on a cluster; a stopped sweep is resumed.",
    "plot": "Draw results that `handful run --out` wrote.",
    "policies": "List the policies, or describe some.",
    "replay": "Evaluate policies on logged decisions.",
    "advise": "Recommend a policy for a number of arms and a memory.",
    "paper": "Reproduce the paper: tables, figures, claims, report.",
    "leaderboard": "Compare every policy on the paper's instances and on others.",
    "bench": "Compare the simulator's speed with textbook loops and other packages.",
    "serve": "Serve decisions over HTTP, from one file on disk or from PostgreSQL.",
    "keys": "Make, list and remove the keys of a store.",
    "backup": "Copy a store that may be in use.",
    "copy": "Copy a store to another one, and check that both are equal.",
    "export": "Write the log of a store as Parquet or JSON lines.",
    "doctor": "Check that this installation, or a store, works.",
}


class LazyGroup(click.Group):
    """List the commands by name and summary; import one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order that people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"handful.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a command, or an error that names the nearest ones."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(str(UnknownNameError("command", args[0], COMMANDS)))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors of handful are one line.

        Exit codes: 2 for a wrong argument, 1 for a file, a store or a cluster that cannot be used
        and for a sweep of which cells failed, 130 for an interrupt.
        """
        try:
            return super().invoke(ctx)
        except (ClusterError, StoreError, SweepError, WriteError) as error:
            raise click.ClickException(str(error)) from None
        except HandfulError as error:
            raise click.UsageError(str(error)) from None
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(130)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="handful %(version)s")
def app() -> None:
    """Bandits that only ever remember a handful of arms.

    \b
    handful run --policy ucb-m --memory 2 --instance linear:100 --horizon 1e6
    handful paper
    """
