"""The reference page of the command line, made from the commands' --help.

    python -m handful.cli.reference > docs/cli.md

A test compares the two.
"""

from __future__ import annotations

from typing import Any

import click

from handful.cli.app import COMMANDS, app

WIDE: dict[str, Any] = {"terminal_width": 96, "max_content_width": 96}


def reference() -> str:
    """Return the whole page."""
    parts = [
        "# Command line\n",
        "Made by `python -m handful.cli.reference` from the commands' `--help`.\n",
    ]
    parent = click.Context(app, info_name="handful", **WIDE, **app.context_settings)
    for name in COMMANDS:
        command = app.get_command(parent, name)
        assert command is not None
        parts += _sections("##", command, name, parent)
    return "\n".join(parts)


def _sections(heading: str, command: click.Command, name: str, parent: click.Context) -> list[str]:
    """Return the section of a command, and those of its subcommands."""
    context = click.Context(command, info_name=name, parent=parent, **WIDE)
    parts = [f"{heading} {context.command_path}\n\n```\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            subcommand = command.get_command(context, child)
            assert subcommand is not None
            parts += _sections(f"{heading}#", subcommand, child, context)
    return parts


if __name__ == "__main__":
    click.echo(reference(), nl=False)
