"""What the commands share: numbers on the command line, names of files to write, progress, tables.

Data goes to standard output, plain when it is not a terminal; progress goes to standard error, a
bar only to a terminal.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap

import click

from handful.errors import SettingError
from handful.simulation.plan import whole

HELP = {"help_option_names": ["-h", "--help"]}
"""For every command by itself, since click remembers how it was asked for first."""
COMPILING = "compiling kernels, once"
TEXT_WIDTH, HEAD_WIDTH = 12, 9
"""A column of text is at least so wide, if its texts are; one of numbers, if a word of its head."""


def compiling(what: str) -> None:
    """Say so where no bar does: it takes seconds, and looks like nothing happens."""
    if not sys.stderr.isatty():
        click.echo(f"{COMPILING}: {what}", err=True)


def number(text: str | int) -> int:
    """A whole number on the command line, also written 1e6 or 1_000_000."""
    if isinstance(text, int):
        return text
    try:
        plain = text.strip().replace("_", "")
        return int(plain) if plain.lstrip("+-").isdigit() else whole("it", float(plain), 2**63)
    except (ValueError, SettingError):
        raise click.BadParameter(
            f"{text!r} is not a whole number below 2^63 (1000000 or 1e6)"
        ) from None


def check_out(out: Path, endings: Sequence[str]) -> None:
    """Refuse, before any work, a file that could not be written at its end."""
    if out.suffix not in endings:
        raise SettingError(f"--out {out}: give a name that ends in {' or '.join(endings)}")
    if not out.absolute().parent.is_dir():
        raise SettingError(f"--out {out}: there is no folder {out.parent}")
    if not os.access(out.absolute().parent, os.W_OK):
        raise SettingError(f"--out {out}: the folder {out.parent} cannot be written to")


@contextmanager
def progress(
    total: float, what: str, lines_every: float | None = None
) -> Iterator[Callable[[float, str], None]]:
    """A bar with the time left on a terminal. Call with (work done, what is being done).

    Elsewhere nothing, or a line every so many seconds.
    """
    if not sys.stderr.isatty():
        yield _lines(total, lines_every) if lines_every else lambda done, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True, emoji=False, markup=False),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, text: bar.update(task, completed=done, description=text)


def _lines(total: float, every: float) -> Callable[[float, str], None]:
    """Progress where no bar can be drawn, such as in a log."""
    began = said = time.monotonic()
    first = 0.0

    def report(done: float, text: str) -> None:
        nonlocal began, said, first
        now = time.monotonic()
        if first == 0.0:  # the clock starts when the first kernel is there
            began, first = now, done
        elif now - said >= every and first < done < total:
            said = now
            left = (now - began) * (total - done) / (done - first)
            share = f"{done / total:>4.0%}"
            click.echo(f"{share}, about {left / 60:.1f} min left: {text}", err=True)

    return report


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: int = 1,
    spare: Sequence[str] = (),
) -> None:
    """A table: drawn on a terminal, tab-separated in a pipe. The first `left` columns are text.

    Where the terminal is narrow, the columns of `spare` are left out, the first ones first.
    """
    if not sys.stdout.isatty():
        for row in (heads, *rows):
            click.echo("\t".join(row))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    longest = [max(len(cell) for cell in cells) for cells in zip(*rows, strict=True)]
    least = [
        min(longest[column], TEXT_WIDTH) if column < left else max(longest[column], _word(head))
        for column, head in enumerate(heads)
    ]
    shown = _fitting(heads, least, spare, console.width)
    full = [max(len(head), size) for head, size in zip(heads, longest, strict=True)]
    roomy = _total(full, shown) <= console.width
    drawn = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), collapse_padding=True)
    for column in shown:
        # Text and heads fold where the terminal is narrow; a number is never cut.
        is_text = column < left
        head = heads[column] if roomy or is_text else "\n".join(wrap(heads[column], least[column]))
        drawn.add_column(
            head,
            justify="left" if is_text else "right",
            overflow="fold",
            min_width=least[column],
            width=None if roomy or is_text else least[column],
        )
    for row in rows:
        drawn.add_row(*(Text(row[column], overflow="fold") for column in shown))
    console.print(drawn)


def _word(head: str) -> int:
    """How narrow the head of a column may get: its longest word, if that is not very long."""
    return min(HEAD_WIDTH, max(map(len, head.split())))


def _total(widths: Sequence[int], shown: Sequence[int]) -> int:
    """The width of a table: one space before, two between columns."""
    return 1 + sum(widths[column] + 2 for column in shown)


def _fitting(
    heads: Sequence[str], least: Sequence[int], spare: Sequence[str], width: int
) -> list[int]:
    """The columns that a terminal of this width has room for."""
    shown = list(range(len(heads)))
    for head in spare:
        if _total(least, shown) > width:
            shown.remove(heads.index(head))
    return shown
