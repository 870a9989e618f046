"""The command line: `handful run | plot | paper | leaderboard | ...`. Each command has a file.

A command's file is imported when the command is called, so that `--help` answers at once.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the `handful` program."""
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
    sys.path.append("")  # policies of one's own are imported from the current directory
    try:
        try:
            app(prog_name="handful")
        finally:
            if sys.stdout is not None:  # it may have been closed by the shell
                sys.stdout.flush()
    except KeyboardInterrupt:  # before the command itself could catch it
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        print(f"handful: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)


def _drop_output() -> None:
    """Send what is still in the buffer nowhere, or the interpreter would fail again at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
