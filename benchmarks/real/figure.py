"""docs/images/real.png: regret on each data set, in per cent of that of an arm at random."""

from __future__ import annotations

from pathlib import Path

from benchmarks.real.contestants import ALL_ARMS, BOUNDED, CONTESTANTS, OTHERS
from benchmarks.real.results import Facts, Results, Row
from benchmarks.real.sources import SOURCES
from handful.plots.style import PALETTE, STYLE, figure, save

HORIZON = 10**5
BLUE, VERMILION, GREEN, *_ = PALETTE
COLOURS = {BOUNDED: BLUE, ALL_ARMS: GREEN, OTHERS: VERMILION}


def save_figure(results: Results, file: Path, horizon: int = HORIZON) -> None:
    """Draw a panel for each data set: a line for each contestant, a dot for each delay."""
    import matplotlib as mpl

    present = {fact.data: fact for fact in results.facts}
    sources = [source for source in SOURCES if source.name in present]
    made, axes = figure(1, len(sources), 2.6 * len(sources) + 2.2, 4.6, sharey=True, squeeze=False)
    run = {row.contestant for row in results.rows if row.horizon == horizon and row.runs}
    shown = [one for one in CONTESTANTS if one.key in run]
    heights = {one.key: -float(i) for i, one in enumerate(shown)}
    with mpl.rc_context(STYLE):
        for ax, source in zip(axes[0], sources, strict=True):
            fact = present[source.name]
            for one in shown:
                for delay, filled in ((0, True), (200, False)):
                    row = results.row(source.name, one.key, horizon, delay)
                    if row is None or row.regret is None:
                        continue
                    low, middle, high = _share(row, fact)
                    colour = COLOURS[one.group]
                    ax.plot([low, high], [heights[one.key]] * 2, color=colour, linewidth=1.5)
                    ax.plot(
                        middle, heights[one.key], "o", color=colour, markersize=6,
                        markerfacecolor=colour if filled else "white",
                    )  # fmt: skip
            ax.axvline(100.0, color="#888888", linewidth=0.8)
            ax.set_title(f"{source.title}, {fact.arms:,} arms", fontsize=10)
            ax.set_xlim(0.0, 106.0)
            ax.set_xticks([0, 25, 50, 75, 100])
        axes[0][0].set_yticks(list(heights.values()), [one.title for one in shown])
        for label, one in zip(axes[0][0].get_yticklabels(), shown, strict=True):
            label.set_color(COLOURS[one.group])
        axes[0][0].set_ylim(-len(shown) + 0.4, 0.6)
        made.supxlabel(
            f"regret after {horizon:,} decisions, in % of that of an arm at random "
            "(filled: rewards at once; hollow: 200 decisions late)",
            fontsize=9,
        )
    save(made, str(file))


def _share(row: Row, fact: Facts) -> tuple[float, float, float]:
    """Return the interval's ends and the mean, in per cent."""
    whole = row.horizon * (fact.best - fact.average) / 100.0
    regret, half = row.regret or 0.0, row.half or 0.0
    return (regret - half) / whole, regret / whole, (regret + half) / whole
