"""The figure on the README's first screen: 8 of 10,000 headlines in memory, or all of them.

Every headline has a click rate between 0 and 5%, evenly spaced; 100,000 views. Thompson sampling
with statistics of every headline has about ten views for each, too few to separate them: it loses
nearly as many clicks as a random choice. Race tries some of the headlines, with statistics of eight
at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handful.plots.style import PALETTE, figure
from handful.simulation import Cell, Result
from handful.simulation.intervals import half_width
from handful.simulation.plan import cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADLINES = 10_000
BEST_RATE = 0.05
INSTANCE = f"linear:{HEADLINES}:{BEST_RATE}"
VIEWS = 100_000
MEMORY = 8
RUNS = {"race": 100, "ts": 20}
"""Thompson sampling on 10,000 arms takes seconds a run; its runs hardly differ."""
_GREY = "#5f5f5f"


def cells(seed: int) -> list[Cell]:
    """Return the cells of the picture: Race, then Thompson sampling."""
    return [
        cell("race", INSTANCE, MEMORY, VIEWS, RUNS["race"], seed),
        cell("ts", INSTANCE, None, VIEWS, RUNS["ts"], seed),
    ]


def lost_at_random(views: int) -> float:
    """Return the expected clicks lost by showing a random headline at each view."""
    world = cells(0)[0].instance
    gaps = (world.best_mean - world.mean(arm) for arm in range(world.n_arms))
    return views * sum(gaps) / world.n_arms


def draw(race: Result, thompson: Result) -> Figure:
    """Draw clicks lost over views, with 95% bands, labelled at the ends of the lines."""
    made, ax = figure(1, 1, 8.0, 4.2)
    random = lost_at_random(VIEWS)
    ax.plot([0, VIEWS], [0, random], color=_GREY, linewidth=1.3, linestyle=(0, (5, 3)))
    ends = []
    for result, colour in ((thompson, PALETTE[0]), (race, PALETTE[1])):
        t, mean = result.curve.t, result.curve.mean
        half = half_width(result.curve.per_run)
        ax.plot([0, *t], [0.0, *mean], color=colour, linewidth=2.6)
        ax.fill_between(t, mean - half, mean + half, color=colour, alpha=0.25, linewidth=0)
        ends.append(result.regret.mean)
    top = 1.15 * random
    labels = (
        (random + 0.045 * top, _GREY, "a headline at random", f"{random:,.0f} clicks lost"),
        (ends[0] - 0.095 * top, PALETTE[0], f"Thompson sampling,\nremembers all {HEADLINES:,}",
         f"{ends[0]:,.0f} clicks lost"),
        (ends[1], "#b04e00", f"handful's Race,\nremembers {MEMORY}", f"{ends[1]:,.0f} clicks lost"),
    )  # fmt: skip
    for y, colour, who, lost in labels:
        ax.annotate(
            f"{who}:\n{lost}", (1.015, y / top), xycoords="axes fraction", color=colour,
            va="center", fontsize=10.5, linespacing=1.25, annotation_clip=False,
            weight="bold" if colour != _GREY else "normal",
        )  # fmt: skip
    ax.set_xlim(0, VIEWS)
    ax.set_ylim(0, top)
    ax.set_xticks(range(0, VIEWS + 1, VIEWS // 5))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    runs = [len(result.regret.per_run) for result in (race, thompson)]
    ax.set_xlabel(f"views  (means of {runs[0]} runs of Race and {runs[1]} of Thompson, 95% bands)")
    ax.set_ylabel("clicks lost, against the best headline")
    ax.set_title(
        f"{HEADLINES:,} headlines, click rates up to {BEST_RATE:.0%}: clicks lost while learning",
        loc="left", fontsize=12, weight="bold",
    )  # fmt: skip
    return made
