"""Figures of results: the house palette, regret over time with a confidence band, bars.

Colours are Okabe and Ito's, which people with any kind of colour vision can tell apart; lines are
labelled where they end, so that no legend has to be matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from handful.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from handful.simulation.result import Result

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_END = "handful-line-end"
Z95 = 1.959964
"""Half the width of a 95% band, in standard errors."""

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
    "savefig.bbox": "tight",
}


def figure(
    rows: int, columns: int, width: float, height: float, **options: Any
) -> tuple[Figure, Any]:
    """A figure in the house style and its axes, drawn without a screen."""
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
    """Write a figure; the ending of the name says in what form."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        made.savefig(path)


def plot_regret(
    results: Sequence[Result],
    ax: Axes | None = None,
    memory: bool = True,
    labels: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
) -> Axes:
    """Mean regret over time, with a 95% band, on log axes; each line labelled at its end."""
    if ax is None:
        ax = _shown_axes()
    ends: list[tuple[float, str, str]] = []
    shown_before = len(ax.lines)
    colours = colours or _colours(shown_before, len(results))
    texts = labels or [r.label if memory else str(r.settings["label"]) for r in results]
    for result, text, colour in zip(results, texts, colours, strict=True):
        curve = result.curve
        mean, half = curve.mean, Z95 * np.nan_to_num(curve.sem)
        shown = mean > 0
        ax.plot(curve.t[shown], mean[shown], color=colour, linewidth=1.8)
        low = np.maximum(mean - half, mean * 1e-3)
        ax.fill_between(
            curve.t[shown], low[shown], (mean + half)[shown], color=colour, alpha=0.2, linewidth=0
        )
        if shown.any():
            ends.append((float(mean[-1]), text, colour))
    ax.set_xlabel("pulls")
    ax.set_ylabel("regret")
    if ends:
        ax.set_xscale("log")
        ax.set_yscale("log")
        _label_ends(ax, ends)
    return ax


def _shown_axes() -> Axes:
    """Axes of a figure that a notebook shows by itself."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("figures", "matplotlib", "sim") from None

    with plt.rc_context(STYLE):
        _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    return ax


def _colours(first: int, count: int) -> list[str]:
    """The next colours after those of lines that the axes have already."""
    return [PALETTE[i % len(PALETTE)] for i in range(first, first + count)]


def _label_ends(ax: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Labels at the right end of each line, pushed apart so that none covers another.

    Labels of an earlier call on the same axes are placed again together with the new ones.
    """
    for old in [text for text in ax.texts if text.get_gid() == _END]:
        ends.append((float(old.get_url() or "nan"), old.get_text(), str(old.get_color())))
        old.remove()
    bottom, top = ax.get_ylim()
    span = np.log10(top / bottom)
    place = -np.inf
    for height, text, colour in sorted(ends):
        share = float(np.log10(height / bottom) / span)
        place = max(share, place + 0.055)
        ax.annotate(
            text,
            (1.0, share),
            xytext=(1.02, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=colour,
            va="center",
            annotation_clip=False,
            gid=_END,
            url=repr(height),
        )
