"""A progress bar for `simulate(progress=True)`: on a terminal, in a notebook, nowhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from handful.errors import MissingExtraError, SettingError
from handful.simulation.execution import Progress

_EVERY = 0.2
"""Seconds between two updates of a notebook's bar."""


@contextmanager
def shown_progress(
    progress: Progress | bool | None, total: int, what: str
) -> Iterator[Progress | None]:
    """Yield the function to which an engine reports its pulls; None if none was asked for."""
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    elif progress is not True:
        raise SettingError(
            f"progress={progress!r}: give True for a bar, or a function of the pulls done so far"
        )
    elif _in_notebook():
        yield _notebook_bar(total, what)
    elif sys.stderr.isatty():
        with _terminal_bar(total, what) as report:
            yield report
    else:
        yield None


@contextmanager
def _terminal_bar(total: int, what: str) -> Iterator[Progress]:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        raise MissingExtraError("a progress bar", "rich", "sim") from None
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True, emoji=False, markup=False),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda pulls: bar.update(task, completed=pulls)


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this; it can update what a cell displays."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _notebook_bar(total: int, what: str, now: Callable[[], float] = time.monotonic) -> Progress:
    """Return a bar of HTML that is updated in place; rich would need ipywidgets."""
    from importlib import import_module

    display: Any = import_module("IPython.display")
    handle = display.display(display.HTML(_html(0, total, what)), display_id=True)
    said = now()

    def report(pulls: int) -> None:
        nonlocal said
        if pulls >= total or now() - said >= _EVERY:
            said = now()
            handle.update(display.HTML(_html(pulls, total, what)))

    return report


def _html(pulls: int, total: int, what: str) -> str:
    return f'<progress max="{total}" value="{pulls}"></progress> {pulls / total:.0%} {escape(what)}'
