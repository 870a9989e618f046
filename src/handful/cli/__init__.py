"""The command line: `handful run | plot | policies | paper | bench | doctor`. One file a command.

A command's file is imported when the command is called, so that `--help` answers at once.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point of the `handful` program."""
    try:
        from handful.cli.app import app
    except ImportError as error:
        if error.name != "click":
            raise
        print(
            "handful: the command line needs click, which is not installed: "
            "pip install 'handful[sim]'",
            file=sys.stderr,
        )
        sys.exit(1)
    try:
        app(prog_name="handful")
    except KeyboardInterrupt:  # before the command itself could catch it
        sys.exit(130)
