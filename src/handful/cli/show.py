"""Helpers of all commands: numbers on the command line, files to write, progress, tables.

Data goes to standard output, as plain text unless it is a terminal. Progress goes to standard
error; only a terminal gets a bar.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from handful.errors import SettingError

# The commands of the service are installed without the packages of the simulator, which is loaded
# where it is needed.
if TYPE_CHECKING:
    from rich.console import Console

    from handful.instances import Instance
    from handful.simulation.plan import Cell

HELP = {"help_option_names": ["-h", "--help"]}
"""Given to every command, since click caches the option that was asked for first."""
TEXT_WIDTH, HEAD_WIDTH = 12, 9
"""The least width of a column of text, and of the heading of a column of numbers."""


def console(stderr: bool = False) -> Console:
    """Return a console that prints text unchanged: `power:100:0.3` has no emoji or markup."""
    from rich.console import Console

    return Console(stderr=stderr, emoji=False, markup=False, highlight=False)


def compiling(planned: Cell) -> str:
    """Say that kernels are compiled where no bar does: it takes seconds. Return what to show."""
    from handful.simulation.execution import compiling_message

    what = compiling_message(planned)
    if not sys.stderr.isatty():
        click.echo(f"{what}: {planned.policy.name}", err=True)
    return what


def say_data(worlds: Iterable[Instance]) -> None:
    """Say, once for each, which arms and rows of instances from data are used."""
    for said in dict.fromkeys(str(world) for world in worlds if world.origin is not None):
        click.echo(said, err=True)


def number(text: str | int) -> int:
    """Read an integer of the command line, also written 1e6 or 1_000_000."""
    from handful.simulation.plan import whole

    if isinstance(text, int):
        return text
    try:
        plain = text.strip().replace("_", "")
        return int(plain) if plain.lstrip("+-").isdigit() else whole("it", float(plain), 2**63)
    except (ValueError, SettingError):
        raise click.BadParameter(
            f"{text!r} is not an integer below 2^63 (1000000 or 1e6)"
        ) from None


def check_out(out: Path, endings: Sequence[str]) -> None:
    """Refuse, before any work, a file that cannot be written."""
    from handful.files.writing import part_of, reason

    if out.suffix not in endings:
        raise SettingError(f"--out {out}: give a name that ends in {' or '.join(endings)}")
    if not out.absolute().parent.is_dir():
        raise SettingError(f"--out {out}: there is no folder {out.parent}")
    if not os.access(out.absolute().parent, os.W_OK):
        raise SettingError(f"--out {out}: the folder {out.parent} cannot be written to")
    part = part_of(out)
    try:  # some folders, such as /proc, refuse new files whatever their permissions say
        part.touch(exist_ok=False)
        part.unlink()
    except OSError as error:
        raise SettingError(f"--out {out}: no file can be made there: {reason(error)}") from None


class Average:
    """The seconds left if the work continues at its average speed since its first report."""

    def __init__(self, total: float, clock: Callable[[], float]) -> None:
        self.total = total
        self._clock = clock
        self._first: tuple[float, float] | None = None
        self._last: tuple[float, float] = (0.0, 0.0)

    def update(self, done: float) -> None:
        """Take note of the work done so far; the clock starts with the first work seen."""
        self._last = (self._clock(), done)
        if self._first is None and done > 0:
            self._first = self._last

    def seconds(self) -> float | None:
        """Estimate the seconds left; None before there is anything to go by."""
        if self._first is None or self._last[1] <= self._first[1]:
            return None
        since, first = self._first
        then, done = self._last
        left = (then - since) * (self.total - done) / (done - first)
        return max(0.0, left - (self._clock() - then))


@contextmanager
def progress(
    total: float,
    what: str,
    lines_every: float | None = None,
    left: Callable[[], float | None] | None = None,
) -> Iterator[Callable[[float, str], None]]:
    """Show a bar with the time left on a terminal. Call with (work done, what is being done).

    Elsewhere nothing is shown, or a line every so many seconds. `left` estimates the seconds left;
    unless given, the work is taken to go on at its average pace.
    """
    average = Average(total, time.monotonic)
    left = left or average.seconds
    if not sys.stderr.isatty():
        yield _lines(average, lines_every, left) if lines_every else lambda done, text: None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%", markup=False),
        TextColumn("{task.fields[left]}", markup=False),
        console=console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=total, left="")

        def report(done: float, text: str) -> None:
            average.update(done)
            bar.update(task, completed=done, description=text, left=in_words(left()))

        yield report


def in_words(seconds: float | None) -> str:
    """Return the time left in words; an empty text while it is unknown."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    if seconds < 5400:
        return f"about {seconds / 60:.1f} min left"
    return f"about {seconds / 3600:.1f} h left"


def _lines(
    average: Average, every: float, left: Callable[[], float | None]
) -> Callable[[float, str], None]:
    """Return a function that reports progress in lines, where no bar can be drawn."""
    said = time.monotonic()

    def report(done: float, text: str) -> None:
        nonlocal said
        average.update(done)
        now = time.monotonic()
        seconds = left()
        if now - said >= every and done < average.total and seconds is not None:
            said = now
            share = f"{done / average.total:>4.0%}"
            click.echo(f"{share}, {in_words(seconds)}: {text}", err=True)

    return report


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: int = 1,
    spare: Sequence[str] = (),
) -> None:
    """Print a table, drawn on a terminal, tab-separated in a pipe; `left` columns are text.

    Where the terminal is narrow, the columns of `spare` are left out, the first ones first.
    """
    if not sys.stdout.isatty():
        for row in (heads, *rows):
            click.echo("\t".join(row))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    screen = console()
    longest = [max(len(cell) for cell in cells) for cells in zip(*rows, strict=True)]
    least = [
        min(longest[column], TEXT_WIDTH) if column < left else max(longest[column], _word(head))
        for column, head in enumerate(heads)
    ]
    shown = _fitting(heads, least, spare, screen.width)
    full = [max(len(head), size) for head, size in zip(heads, longest, strict=True)]
    roomy = _total(full, shown) <= screen.width
    drawn = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), collapse_padding=True)
    for column in shown:
        # Text and heads fold where the terminal is narrow; a number is never cut.
        is_text = column < left
        head = heads[column] if roomy or is_text else "\n".join(wrap(heads[column], least[column]))
        drawn.add_column(
            Text(head),
            justify="left" if is_text else "right",
            overflow="fold",
            min_width=least[column],
            width=None if roomy or is_text else least[column],
        )
    for row in rows:
        drawn.add_row(*(Text(row[column], overflow="fold") for column in shown))
    screen.print(drawn)


def _word(head: str) -> int:
    """Return the least width of a column's head: its longest word, if that is not very long."""
    return min(HEAD_WIDTH, max(map(len, head.split())))


def _total(widths: Sequence[int], shown: Sequence[int]) -> int:
    """Return the width of a table: one space before, two between columns."""
    return 1 + sum(widths[column] + 2 for column in shown)


def _fitting(
    heads: Sequence[str], least: Sequence[int], spare: Sequence[str], width: int
) -> list[int]:
    """Return the columns that a terminal of this width has room for."""
    shown = list(range(len(heads)))
    for head in spare:
        if _total(least, shown) > width:
            shown.remove(heads.index(head))
    return shown
