"""Whole figures of results: a panel for each instance and horizon, or for each timeline.

regret   mean regret over time with 95% bands
bars     regret at the horizon with 95% intervals; dots on a log axis, where bars have no zero
pulls    mean pulls by arm with 95% bands, if pulls are stored run by run
memory   the arm memory of one run over time (`timeline.py`)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import SettingError, UnknownNameError, shortened
from handful.instances.catalogue import instance_of
from handful.plots.stays import FULL_SET, stays_of
from handful.plots.style import (
    DASHES,
    PALETTE,
    Style,
    figure,
    label_ends,
    line_with_band,
    log_ticks,
    plot_regret,
    set_scales,
    style,
)
from handful.plots.timeline import add_caption, legend, plot_memory
from handful.simulation.intervals import half_width
from handful.simulation.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("regret", "bars", "pulls", "memory")
MOST_LINES = len(PALETTE) * len(DASHES)
MOST_PANELS = 12
MOST_TIMELINES = 4
_TELLING = ("seed", "runs", "tape", "engine", "version")
"""Settings that distinguish results of one name, in this order."""


def draw(
    kind: str,
    results: Sequence[Result],
    *,
    run: int = 0,
    x: str | None = None,
    y: str | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a figure of results.

    Args:
        kind: "regret", "bars", "pulls" or "memory".
        results: of any policies, instances and horizons.
        run: which run, for "memory".
        x: "linear" or "log", the horizontal axis; chosen by the kind unless given.
        y: the same for the vertical axis.
        title: in place of the usual one.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of figure", kind, KINDS)
    if not results:
        raise SettingError("there are no results to draw")
    if kind == "memory":
        return _timelines(results, run, x, y, title)
    if y is not None and kind == "bars":
        raise SettingError("bars are horizontal: give the scale of the regret as x")
    panels = _panels(results)
    looks = _looks(panels)
    rows, columns = _shape(len(panels))
    most = max(len(panel) for panel in panels.values())
    longest = max(len(name) for name in looks)
    made, axes = figure(
        rows, columns, (4.2 + 0.075 * longest + (kind == "bars")) * columns,
        max(3.4, 0.9 + 0.19 * most) * rows, squeeze=False,
    )  # fmt: skip
    x = x or _fitting(kind, results)
    horizons = {horizon for _, horizon in panels}
    for ax, ((world, horizon), panel) in zip(axes.flat, panels.items(), strict=False):
        names = list(panel)
        shown, styles = list(panel.values()), [looks[name] for name in names]
        if kind == "regret":
            if y == "log" and not any((result.curve.mean > 0).any() for result in shown):
                raise SettingError(f"no regret on {world} is above 0: a log axis shows nothing")
            plot_regret(shown, ax, names=names, styles=styles, x=x, y=y or "log")
        elif kind == "bars":
            plot_final(shown, ax, names, styles, x)
        else:
            plot_pulls(shown, ax, names, styles, x, y or "log")
        after = f", {horizon:,} pulls" if len(horizons) > 1 else ""
        ax.set_title(shortened(world, 44) + after, fontsize=10.5)
    for ax in list(axes.flat)[len(panels) :]:
        ax.remove()
    made.suptitle(title or _title(kind, results), fontsize=11)
    return made


def plot_final(
    results: Sequence[Result], ax: Axes, names: Sequence[str], styles: Sequence[Style], x: str
) -> None:
    """Draw regret at the horizon, a row for each result with its value beside it."""
    set_scales(ax, x, "linear")
    means = np.array([result.regret.mean for result in results])
    if x == "log" and (means <= 0).any():
        raise SettingError("a regret of 0 cannot be shown on a log axis: give a linear one")
    halves = np.array([float(half_width(result.regret.per_run)) for result in results])
    for row, (mean, half, look) in enumerate(zip(means, halves, styles, strict=True)):
        colour = look[0]
        if x == "log":
            low = min(half, mean * 0.999)
            ax.errorbar(
                [mean], [row], xerr=[[low], [half]], fmt="o", color=colour, markersize=7, capsize=3
            )
        else:
            ax.barh([row], [mean], height=0.62, color=colour, alpha=0.7)
            ax.errorbar(
                [mean], [row], xerr=[[half], [half]], fmt="none", color="#222222", capsize=3
            )
        ax.annotate(
            _amount(mean, half),
            (1.03, row), xycoords=("axes fraction", "data"), va="center", fontsize=9,
            annotation_clip=False,
        )  # fmt: skip
    if x == "log":
        left, right = ax.get_xlim()
        ax.set_xlim(max(left, float(means.min()) / 2), right)
        log_ticks(ax.xaxis)
    else:
        ax.set_xlim(left=min(0.0, float((means - halves).min())))
    ax.set_ylim(len(results) - 0.4, -0.6)
    ax.set_yticks(range(len(results)), list(names))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("regret")


def plot_pulls(
    results: Sequence[Result],
    ax: Axes,
    names: Sequence[str],
    styles: Sequence[Style],
    x: str,
    y: str,
) -> None:
    """Draw the mean pulls of each arm, the best arm first."""
    set_scales(ax, x, y)
    for result, name, look in zip(results, names, styles, strict=True):
        pulls = pulls_of(result)
        ranks = np.arange(1, pulls.shape[1] + 1)
        line_with_band(ax, ranks, pulls, name, look, "o" if len(ranks) <= 30 else "")
    label_ends(ax)
    if x == "linear":
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("arm, best first")
    ax.set_ylabel("pulls")


def pulls_of(result: Result) -> NDArray[Any]:
    """Return the pulls by run and arm, the arms sorted by mean if it is known.

    Where only the mean over runs is stored, that is the one row.
    """
    pulls: NDArray[Any] | None = result.pulls
    if pulls is None and result.mean_pulls is not None:
        pulls = result.mean_pulls.reshape(1, -1)
    if pulls is None:
        raise SettingError(
            f"{result.label} on {shortened(result.world)} has no pulls by arm: they "
            "are counted for finite sets of up to 4096 arms"
        )
    try:
        world = instance_of(result.settings)
    except SettingError:  # an instance of one's own, or data that are not there
        return pulls
    means = np.array([world.mean(arm) for arm in range(pulls.shape[1])])
    ordered: NDArray[Any] = pulls[:, np.argsort(-means, kind="stable")]
    return ordered


def _timelines(
    results: Sequence[Result], run: int, x: str | None, y: str | None, title: str | None
) -> Figure:
    if y is not None:
        raise SettingError("the vertical axis of a timeline lists arms: y cannot be given")
    if not any(result.stays for result in results):
        stays_of(results[0], run)
    if len(results) > MOST_TIMELINES:
        raise SettingError(
            f"{len(results)} timelines are more than can be drawn ({MOST_TIMELINES}): choose by "
            f"policy, memory or instance among {_listed(_full_names(results))}"
        )
    for result in results:
        stays_of(result, run)
    heights = [3.0 if result.settings["n_arms"] <= 15 else 4.4 for result in results]
    made, axes = figure(
        len(results), 1, 8.0, sum(heights) + 0.8, squeeze=False,
        gridspec_kw={"height_ratios": heights},
    )  # fmt: skip
    for ax, result in zip(axes.flat, results, strict=True):
        plot_memory(result, run, ax, x=x, caption="")
    add_caption(axes.flat[-1], legend(results))
    if title:
        made.suptitle(title, fontsize=11)
    return made


def _panels(results: Iterable[Result]) -> dict[tuple[str, int], dict[str, Result]]:
    """Return results by instance, traffic and horizon, then by a unique name."""
    groups: dict[tuple[str, int], list[Result]] = {}
    for result in results:
        key = (result.world, result.settings["horizon"])
        groups.setdefault(key, []).append(result)
    if len(groups) > MOST_PANELS:
        raise SettingError(
            f"{len(groups)} panels, one for each instance and horizon, are more than can be drawn "
            f"({MOST_PANELS}): choose by instance among {_listed(world for world, _ in groups)}"
        )
    for (world, _), group in groups.items():
        if len(group) > MOST_LINES:
            raise SettingError(
                f"{len(group)} results on {world} are more than can be drawn in one panel "
                f"({MOST_LINES}): choose by policy or memory among "
                f"{_listed(result.label for result in group)}"
            )
    return {key: dict(zip(names(group), group, strict=True)) for key, group in groups.items()}


def names(results: Sequence[Result]) -> list[str]:
    """Return unique names: policy and memory, with a setting or number where two are alike.

    >>> from handful import simulate
    >>> alike = [simulate("ucb-m", "linear:3", memory=2, horizon=9, runs=1, seed=s) for s in (4, 5)]
    >>> names(alike)
    ['UCB-M, M = 2, seed 4', 'UCB-M, M = 2, seed 5']
    """
    made = [result.label for result in results]
    for key in _TELLING:
        for name in [name for name in set(made) if made.count(name) > 1]:
            alike = [i for i, other in enumerate(made) if other == name]
            if len({results[i].settings[key] for i in alike}) > 1:
                for i in alike:
                    made[i] = f"{name}, {key} {results[i].settings[key]}"
    return [
        f"{name} #{made[: i + 1].count(name)}" if made.count(name) > 1 else name
        for i, name in enumerate(made)
    ]


def _looks(panels: dict[tuple[str, int], dict[str, Result]]) -> dict[str, Style]:
    """Return one look per name for all panels: a colour a policy, a dash a memory, if enough."""
    policies: dict[str, list[str]] = {}
    for panel in panels.values():
        for name, result in panel.items():
            mine = policies.setdefault(result.settings["label"], [])
            mine += [name] * (name not in mine)
    most = max(len(mine) for mine in policies.values())
    if 1 < len(policies) <= len(PALETTE) and most <= len(DASHES):
        return {
            name: (PALETTE[i], DASHES[j])
            for i, mine in enumerate(policies.values())
            for j, name in enumerate(mine)
        }
    return {name: style(i) for i, name in enumerate(n for mine in policies.values() for n in mine)}


def _full_names(results: Iterable[Result]) -> list[str]:
    return [f"{result.label} on {result.world}" for result in results]


def _listed(texts: Iterable[str], most: int = 8) -> str:
    distinct = list(dict.fromkeys(texts))
    more = f" and {len(distinct) - most} more" if len(distinct) > most else ""
    return "; ".join(shortened(text, 60) for text in distinct[:most]) + more


def _shape(panels: int) -> tuple[int, int]:
    columns = panels if panels <= 3 else 2 if panels == 4 else 3
    return math.ceil(panels / columns), columns


def _fitting(kind: str, results: Sequence[Result]) -> str:
    """Return the default scale of the horizontal axis."""
    if kind == "regret":
        return "log"
    if kind == "pulls":
        arms = max(result.settings["n_arms"] for result in results)
        return "log" if arms > FULL_SET else "linear"
    means = [result.regret.mean for result in results]
    return "log" if min(means) > 0 and max(means) > 10 * min(means) else "linear"


def _title(kind: str, results: Sequence[Result]) -> str:
    what = {"regret": "Regret", "bars": "Regret at the horizon", "pulls": "Pulls by arm"}[kind]
    runs = {result.settings["runs"] for result in results}
    if runs == {1}:
        return f"{what}, one run"
    if kind == "pulls" and any(result.pulls is None for result in results):
        return f"{what}: mean over runs (too many runs to store each: no bands)"
    sure = "95% intervals" if kind == "bars" else "95% bands"
    of = f" of {runs.copy().pop():,} runs" if len(runs) == 1 else ""
    return f"{what}: mean{of}, {sure}"


def _amount(mean: float, half: float) -> str:
    """Return a mean and its interval, with two digits of the interval at least."""
    if half <= 0:
        return f"{mean:,.1f}"
    digits = max(0, 1 - math.floor(math.log10(half)))
    return f"{mean:,.{digits}f} ± {half:,.{digits}f}"
