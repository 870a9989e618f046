"""The reference page of the command line, made from the commands' own --help.

    python -m handful.cli.reference > docs/cli.md

A test compares the two.
"""

from __future__ import annotations

from typing import Any

import click

from handful.cli.app import COMMANDS, app


def reference() -> str:
    """The whole page."""
    parts = [
        "# Command line\n",
        "Made by `python -m handful.cli.reference` from the commands' `--help`.\n",
    ]
    wide: dict[str, Any] = {"terminal_width": 96, "max_content_width": 96}
    parent = click.Context(app, info_name="handful", **wide, **app.context_settings)
    for name in COMMANDS:
        command = app.get_command(parent, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=parent, **wide)
        parts.append(f"## handful {name}\n\n```\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
