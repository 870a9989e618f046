"""The style of all figures: colours, a line with its band, labels at the ends of lines.

Colours are Okabe and Ito's, which differ for every kind of colour vision. Lines are
labelled at their ends, so no legend is needed. `panels.py` makes whole figures, `timeline.py` draws
the arm memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import MissingExtraError, SettingError
from handful.files.writing import write_file
from handful.simulation.intervals import half_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from handful.simulation.result import Result

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1.5, 1.5)), (0, (7, 2, 1.5, 2)))
"""With more lines than colours, the colours are repeated with the next of these."""
SCALES = ("linear", "log")
_LINE = "handful-line"
_END = "handful-line-end"

Style = tuple[str, Any]
"""A colour and a dash."""

STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "figure.dpi": 110,
    "savefig.dpi": 160,
}


def figure(
    rows: int, columns: int, width: float, height: float, **options: Any
) -> tuple[Figure, Any]:
    """Make a figure in this style, and its axes, without pyplot."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError("figures", "matplotlib", "sim") from None
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        made = Figure(figsize=(width, height), layout="constrained")
        axes = made.subplots(rows, columns, **options)
    return made, axes


def save(made: Figure, path: str) -> None:
    """Write a figure, completely or not at all; the name's ending says in what format."""
    import matplotlib as mpl

    buffer = BytesIO()
    with mpl.rc_context(STYLE):
        made.savefig(buffer, format=Path(path).suffix.removeprefix(".") or None)
    write_file(path, buffer.getvalue())


def style(index: int) -> Style:
    """Return the look of a line by its index; the first `len(PALETTE) * len(DASHES)` differ."""
    colours = len(PALETTE)
    return PALETTE[index % colours], DASHES[index // colours % len(DASHES)]


def plot_regret(
    results: Sequence[Result],
    ax: Axes | None = None,
    memory: bool = True,
    *,
    names: Sequence[str] | None = None,
    styles: Sequence[Style] | None = None,
    x: str = "log",
    y: str = "log",
) -> Axes:
    """Draw mean regret over time with a 95% band; each line is labelled at its end.

    If no regret is above 0, the axes are linear: a log axis would show nothing.
    """
    if ax is None:
        ax = shown_axes()
    if names is None:
        names = [result.label if memory else result.settings["label"] for result in results]
    if styles is None:
        before = len(ax.lines)
        styles = [style(before + index) for index in range(len(results))]
    ax.set_xlabel("pulls")
    ax.set_ylabel("regret")
    if "log" in (x, y) and not any((result.curve.mean > 0).any() for result in results):
        x = y = "linear"
    set_scales(ax, x, y)
    for result, name, look in zip(results, names, styles, strict=True):
        line_with_band(ax, result.curve.t, result.curve.per_run, name, look)
    label_ends(ax)
    return ax


def set_scales(ax: Axes, x: str, y: str) -> None:
    """Make the axes linear or logarithmic."""
    for name, scale in (("x", x), ("y", y)):
        if scale not in SCALES:
            raise SettingError(f"{name}={scale!r} is not a scale: give linear or log")
    ax.set_xscale(x)
    ax.set_yscale(y)


def line_with_band(
    ax: Axes, xs: NDArray[Any], per_run: NDArray[Any], name: str, look: Style, marker: str = ""
) -> None:
    """Draw the mean over runs and its 95% band; `label_ends` adds the name."""
    colour, dash = look
    mean, half = per_run.mean(axis=0), half_width(per_run)
    low, high = mean - half, mean + half
    shown = np.ones(len(mean), dtype=bool)
    if ax.get_yscale() == "log":
        shown = mean > 0
        # A band that reaches 0 has no lower end on a log axis: cut it below the lowest line.
        low = np.maximum(low, mean * 1e-3)
    ax.plot(
        xs[shown], mean[shown], color=colour, linestyle=dash, linewidth=1.8,
        marker=marker, markersize=4, label=name, gid=_LINE,
    )  # fmt: skip
    ax.fill_between(
        xs[shown], low[shown], high[shown], color=colour, alpha=0.18, linewidth=0, zorder=1
    )


def shown_axes(width: float = 6.4, height: float = 4.0) -> Axes:
    """Make a figure that a notebook displays by itself, once, and return its axes.

    pyplot creates the figure outside `rc_context`. A notebook's backend is loaded with the first
    figure and then sets `interactive`; leaving the context would reset it, and no later figure of
    the notebook would be displayed.
    """
    try:
        import matplotlib as mpl
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("figures", "matplotlib", "sim") from None
    made = plt.figure(figsize=(width, height), dpi=STYLE["figure.dpi"], layout="constrained")
    with mpl.rc_context(STYLE):
        return made.subplots()


def label_ends(ax: Axes, size: float = 9.0) -> None:
    """Label lines to the right of the axes, each label tied to its line's end, without overlap.

    Labels of an earlier call on the same axes are placed again, together with the new ones.
    """
    for old in [text for text in ax.texts if text.get_gid() == _END]:
        old.remove()
    lines = [line for line in ax.lines if line.get_gid() == _LINE and np.size(line.get_xdata())]
    if not lines:
        return
    _fit(ax, [np.asarray(line.get_ydata(), dtype=float) for line in lines])
    ends = [np.asarray(line.get_xydata(), dtype=float)[-1] for line in lines]
    to_axes = ax.transData + ax.transAxes.inverted()
    heights = to_axes.transform(np.array(ends))[:, 1]
    gap = 1.25 * size / 72 / (ax.bbox.height / ax.figure.dpi)
    if gap * (len(lines) - 1) > 1.0:
        size, gap = max(5.0, size / (gap * (len(lines) - 1))), 1.0 / (len(lines) - 1)
    for line, end, place in zip(lines, ends, spread(heights, gap), strict=True):
        colour = str(line.get_color())
        ax.annotate(
            str(line.get_label()),
            (float(end[0]), float(end[1])),
            xytext=(1.03, float(place)),
            textcoords="axes fraction",
            color=_darker(colour),
            fontsize=size,
            va="center",
            annotation_clip=False,
            gid=_END,
            arrowprops={
                "arrowstyle": "-", "color": colour, "linewidth": 0.6, "relpos": (0.0, 0.5),
                "shrinkA": 1, "shrinkB": 0,
            },
        )  # fmt: skip


def _fit(ax: Axes, drawn: list[NDArray[np.float64]]) -> None:
    """Set limits by the bands, but by the lines at the bottom of a log axis."""
    ax.margins(x=0.01)
    ax.autoscale()
    ax.autoscale_view()
    bottom, top = ax.get_ylim()
    if ax.get_yscale() == "log":
        lowest = min(float(ys.min()) for ys in drawn)
        ax.set_ylim(max(bottom, lowest / 1.6), top)
        log_ticks(ax.yaxis)
    if ax.get_xscale() == "log":
        log_ticks(ax.xaxis)


def log_ticks(axis: Axis) -> None:
    """Set ticks at powers of ten; where these are too few, between them too, written in full."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    axis.set_minor_formatter(NullFormatter())
    low, high = axis.get_view_interval()
    if high > 150 * low:
        return
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)))
    for steps in ([1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7]):
        ticks = np.outer(powers, steps).ravel()
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) > 2:
            break
    axis.set_major_locator(FixedLocator(ticks.tolist()))
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:.3g}")
    )


def spread(wanted: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Find places in [0, 1] at least a gap apart, in the same order, nearest to the wanted ones.

    By least squares: with the gaps subtracted, this is isotonic regression.
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    groups: list[tuple[float, int]] = []
    for target in np.asarray(wanted)[order] - steps:
        total, count = float(target), 1
        while groups and groups[-1][0] / groups[-1][1] >= total / count:
            more, others = groups.pop()
            total, count = total + more, count + others
        groups.append((total, count))
    level = np.repeat([total / count for total, count in groups], [count for _, count in groups])
    places = np.empty(len(wanted))
    places[order] = np.clip(level, 0.0, max(0.0, 1.0 - steps[-1])) + steps
    return places


def _darker(colour: str) -> str:
    """Return a darker colour for text, which needs more contrast than a line."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = (0.75 * part for part in to_rgb(colour))
    return to_hex((red, green, blue))
