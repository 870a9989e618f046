"""The arm memory over time: which arms were in memory when, and which one was recommended.

One bar for each arm and stay, from when the arm entered to when it left; the larger its share of
the pulls in that time, the darker the bar. A line marks the recommended arm; for the paper's
algorithms, dashed lines mark where phases or rounds begin. Arms are sorted by mean, best on top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from handful.errors import shortened
from handful.plots.stays import Rows, phase_starts, recommended_last, stays_of
from handful.plots.style import set_scales, shown_axes
from handful.simulation.outcome import Stays

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from handful.simulation.result import Result

_MANY_BARS = 1500
"""More bars are drawn as pixels in SVG and PDF too, to keep the file small."""
_NAMED_ARMS = 30
_MANY_CHANGES = 250
_PALE, _DARK = "#cddff0", "#08306b"
_RECOMMENDED = "#D55E00"
_FAINT = "#767676"

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def plot_memory(
    result: Result,
    run: int = 0,
    ax: Axes | None = None,
    *,
    x: str | None = None,
    caption: str | None = None,
) -> Axes:
    """Draw the arm memory of one run over time.

    Args:
        result: of a simulation with `record=True`.
        run: which run of the result, from 0 on.
        ax: where to draw; a new figure unless given.
        x: "log" or "linear"; unless given, log, or linear if the memory was never refilled.
        caption: below the axes; unless given, it explains the marks.
    """
    stays = stays_of(result, run)
    settings = result.settings
    rows = Rows(result, run, stays)
    ends = np.append(stays.start[1:], settings["horizon"])
    if ax is None:
        ax = shown_axes(8.0, rows.inches)
    if x is None:
        x = "log" if len(ends) > 1 else "linear"
    set_scales(ax, x, "linear")
    left = 0.0
    if x == "log":
        # Half of the first stay is enough to show it.
        left = max(0.5, ends[0] / 2) if len(ends) > 1 else 0.5
    starts = np.maximum(stays.start, left)
    ax.set_xlim(left, settings["horizon"])
    ax.set_ylim(len(rows.arms) - 0.4, -0.6)
    ax.grid(visible=False)
    _draw_bars(ax, stays, rows, starts, ends)
    alone = stays.arms.shape[1] == 1
    last = recommended_last(result, stays)
    if not alone:
        _draw_recommended(ax, stays, rows, ends, last)
    marks = phase_starts(result)
    _draw_marks(ax, marks)
    _label_rows(ax, rows)
    ax.set_xlabel("pulls")
    number = run + settings.get("first_run", 0)
    whose = f"{result.label} on {shortened(result.world, 44)}, run {number}:"
    verdict = f"ends with {rows.described(last)}"
    ax.set_title(
        f"{whose}{' ' if len(whose + verdict) < 80 else chr(10)}{verdict}",
        loc="left", fontsize=10.5, pad=17 if len(marks) > 1 else 8,
    )  # fmt: skip
    add_caption(ax, legend([result]) if caption is None else caption)
    return ax


def add_caption(ax: Axes, text: str) -> None:
    """Add a few lines below the label of the horizontal axis."""
    ax.annotate(
        text,
        (0.0, 0.0),
        xycoords=("axes fraction", ax.xaxis.label),
        xytext=(0, -8),
        textcoords="offset points",
        va="top",
        fontsize=8.5,
        color="#444444",
        annotation_clip=False,
    )


def _label_rows(ax: Axes, rows: Rows) -> None:
    """Label every arm if there are few, otherwise some."""
    n = len(rows.arms)
    few = n <= _NAMED_ARMS
    ticks = range(n) if few else sorted({round(q * (n - 1) / 8) for q in range(9)})
    digits = _digits(rows.means, len(ticks))
    texts = []
    for row in ticks:
        name = str(rows.arms[row])
        texts.append(name if rows.means is None else f"{rows.means[row]:.{digits}f}")
        if few and rows.means is not None:
            texts[-1] = f"arm {name}   {texts[-1]}"
    ax.set_yticks(list(ticks), texts, fontsize=8 if n > 15 else 9)
    ax.tick_params(axis="y", length=0 if few else 3)
    which = f"all {n} arms" if rows.all_shown else f"the {n:,} arms seen"
    ax.set_ylabel(f"{which}, {'first' if rows.means is None else 'best'} on top")


def _digits(means: Floats | None, ticks: int) -> int:
    """Return how many decimals, at least two, tell the means at neighbouring ticks apart.

    >>> _digits(np.linspace(0.05, 0.0, 100), 9), _digits(np.linspace(0.99, 0.01, 10), 10)
    (3, 2)
    """
    step = 0.0 if means is None else float(means.max() - means.min()) / max(1, ticks - 1)
    return 2 if step <= 0.0 else min(6, max(2, -math.floor(math.log10(step))))


def _draw_bars(ax: Axes, stays: Stays, rows: Rows, starts: Floats, ends: Ints) -> None:
    """Draw the stays as one collection of rectangles with a least width."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LinearSegmentedColormap

    stay, slot = np.nonzero(stays.arms >= 0)
    row = rows.of(stays.arms[stay, slot])
    pulls = stays.pulls[stay, slot]
    share = pulls / np.maximum(1, stays.pulls.sum(axis=1)[stay])
    half = 0.4 if len(rows.arms) <= 60 else 0.5
    left, right = starts[stay], ends[stay]
    corners = np.empty((len(row), 4, 2))
    corners[:, 0, 0] = corners[:, 1, 0] = left
    corners[:, 2, 0] = corners[:, 3, 0] = right
    corners[:, 0, 1] = corners[:, 3, 1] = row - half
    corners[:, 1, 1] = corners[:, 2, 1] = row + half
    # The darkest last: where bars are thinner than a pixel, the most pulled arms stay visible.
    order = np.argsort(share, kind="stable")
    shades = LinearSegmentedColormap.from_list("handful", [_PALE, _DARK])
    bars = PolyCollection(
        list(corners[order]), array=share[order], cmap=shades, edgecolors="face",
        linewidths=0.5 if len(rows.arms) <= _NAMED_ARMS else 1.0,
        rasterized=len(row) > _MANY_BARS, gid="handful-stays",
    )  # fmt: skip
    top = float(share.max())
    bars.set_clim(0.0, top)
    ax.add_collection(bars, autolim=False)
    if stays.arms.shape[1] > 1:
        ax.figure.colorbar(
            bars, ax=ax, label="share of the pulls in the stay", fraction=0.03, pad=0.01, aspect=30,
            format=lambda value, _: f"{value:.0%}",
        )  # fmt: skip


def _draw_recommended(ax: Axes, stays: Stays, rows: Rows, ends: Ints, last: int) -> None:
    """Draw the arm recommended by the last finished stay, until the next is finished."""
    from matplotlib.collections import LineCollection

    held = rows.of(stays.recommended[:-1])
    since, until = ends[:-1], ends[1:]
    if len(held):
        first = np.flatnonzero(np.append(True, held[1:] != held[:-1]))
        final = np.append(first[1:], len(held)) - 1
        flat = [
            [(since[a], held[a]), (until[b], held[a])] for a, b in zip(first, final, strict=True)
        ]
        if len(flat) <= _MANY_CHANGES:
            steps = [[one[1], other[0]] for one, other in pairwise(flat)]
            ax.add_collection(
                LineCollection(steps, colors=_RECOMMENDED, linewidths=0.7, alpha=0.6), autolim=False
            )
        ax.add_collection(
            LineCollection(
                flat, colors=_RECOMMENDED, linewidths=2.0 if len(rows.arms) <= 60 else 1.2,
                rasterized=len(flat) > _MANY_BARS, gid="handful-recommended",
            ),
            autolim=False,
        )  # fmt: skip
    ax.plot(
        [ends[-1]], rows.of(np.array([last])), "o", color=_RECOMMENDED, markersize=6,
        clip_on=False, zorder=5, gid="handful-last",
    )  # fmt: skip


def _draw_marks(ax: Axes, marks: list[tuple[int, int, int]]) -> None:
    """Draw lines where phases begin, or rounds if there are several, with their numbers above."""
    if len(marks) < 2:
        return
    several = marks[-1][1] > 1
    left, right = ax.get_xlim()
    points = 72 * ax.bbox.width / ax.figure.dpi
    free = -math.inf
    for at, r, w in marks:
        if several and w > 1:
            continue
        place = max(float(at), left)
        if at > left:
            ax.axvline(at, color="#9a9a9a", linewidth=0.6, linestyle=(0, (4, 3)), zorder=0.5)
        share = (place - left) / (right - left)
        if ax.get_xscale() == "log":
            share = math.log(place / left) / math.log(right / left)
        text = str(r if several else w)
        if text == "1":
            text = "round 1" if several else "phase 1"
        if share * points >= free:
            ax.annotate(
                text, (place, 1.0), xycoords=("data", "axes fraction"), xytext=(1, 3),
                textcoords="offset points", fontsize=8, color=_FAINT, annotation_clip=False,
            )  # fmt: skip
            free = share * points + 5.2 * len(text) + 4


def legend(results: Sequence[Result]) -> str:
    """Explain the marks in timelines of these results."""
    lines = ["Bar: an arm in memory, from when it entered to when it left"]
    if all(result.settings["memory"] == 1 for result in results):
        lines[0] += "."
        lines.append("There is room for one arm, which is also the one recommended.")
    else:
        lines[0] += (
            ";\nthe darker, the larger its share of the pulls; pale: in memory, hardly pulled."
        )
        lines.append("Orange: the recommended arm; the dot: at the end.")
    marks = [phase_starts(result) for result in results]
    if any(len(mine) > 1 and mine[-1][1] == 1 for mine in marks):
        lines.append("Dashed: a new phase, in which every arm has a stay twice as long as before.")
    if any(mine and mine[-1][1] > 1 for mine in marks):
        lines.append("Dashed: a new round, twice as long and on a larger pool of arms.")
    return "\n".join(lines)
