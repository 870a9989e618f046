"""The leaderboard's figures: regret relative to IMED, on endless arms, and by Race's memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from handful.plots.style import PALETTE, figure, style
from handful.studies.leaderboard.arenas import (
    ENDLESS,
    FINITE,
    HARDER,
    LITERATURE,
    MEMORIES,
    MORE_MEMORY,
    PAPER,
    RACE,
    REFERENCE,
    RULES,
    UNBOUNDED,
    Arena,
)
from handful.studies.leaderboard.scores import Board, Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {
    RACE: (PALETTE[1], "D", 46),
    PAPER: (PALETTE[0], "o", 26),
    RULES: (PALETTE[5], "s", 20),
    LITERATURE: (PALETTE[3], "^", 24),
    UNBOUNDED: ("#707070", "|", 60),
}
"""Colour, marker and size of each family's dots."""
WIDTH = 9.0
"""Inches; shown 800 pixels wide, text of size 10 is then 12 pixels high."""
STAR = "* held out: no setting of Race was tried on the instance"


def relative(board: Board) -> Figure:
    """Draw every score on the finite sets, in units of that of IMED with every arm in memory."""
    arenas = [arena for arena in board.arenas() if board.has_reference(arena)]
    reference = {arena: _relative(board.of(arena, REFERENCE)) for arena in arenas}

    def error_of_ratio(score: Score) -> float:
        if score.entry.policy == REFERENCE:
            return 0.0
        return math.hypot(_relative(score), reference[score.arena])

    xlabel = "regret / regret of IMED with every arm in memory"
    made = _dot_plot(board, arenas, xlabel, board.to_reference, error_of_ratio)
    for ax in made.axes:
        ax.axvline(1.0, color="#333333", linewidth=1.0, zorder=1)
    return made


def endless(board: Board) -> Figure:
    """Draw every score on endless arms, and on sets too large for statistics of every arm."""
    arenas = [arena for arena in board.arenas() if not board.has_reference(arena)]
    return _dot_plot(board, arenas, "regret", lambda score: score.mean, _relative)


def by_memory(board: Board) -> Figure:
    """Draw Race's regret with more memory, relative to two arms, on every arena."""
    papers = (*FINITE, *ENDLESS)
    others = [arena for arena in board.arenas() if arena not in (*papers, *HARDER)]
    groups: tuple[tuple[str, Sequence[Arena]], ...] = (
        ("the paper's instances", papers),
        ("harder instances", HARDER),
        ("held out, other rewards, many arms", others),
    )
    groups = tuple(group for group in groups if any(a in group[1] for a in board.arenas()))
    made, axes = figure(1, len(groups), 4.2 * len(groups), 4.6, sharey=True, squeeze=False)
    highest = 1.4
    for ax, (title, group) in zip(axes.flat, groups, strict=True):
        arenas = [arena for arena in board.arenas() if arena in group]
        for index, arena in enumerate(arenas):
            colour, dash = style(index)
            scores = board.by_memory(arena)
            two = scores[0]
            ys = [score.mean / two.mean for score in scores]
            errors = [0.0] + [
                score.mean / two.mean * math.hypot(_relative(score), _relative(two))
                for score in scores[1:]
            ]
            highest = max(highest, *ys)
            ax.errorbar(
                np.array(MORE_MEMORY) * (1.0 + 0.012 * (index - len(arenas) / 2)), ys, errors,
                color=colour, linestyle=dash, linewidth=1.3, elinewidth=0.7, marker="o",
                markersize=3, label=arena.starred,
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks(MORE_MEMORY, [str(m) for m in MORE_MEMORY])
        ax.minorticks_off()
        ax.axhline(1.0, color="#333333", linewidth=0.8, zorder=0)
        ax.set_ylim(0.0, 1.35 * highest)
        ax.set_xlabel("arms in memory, M")
        ax.set_title(title, fontsize=10)
        ax.legend(fontsize=8, ncols=3, frameon=False, loc="upper center", columnspacing=1.0)
    axes[0, 0].set_ylabel("Race's regret / its regret with M = 2")
    return made


def _dot_plot(
    board: Board,
    arenas: Sequence[Arena],
    xlabel: str,
    value: Callable[[Score], float],
    error_of: Callable[[Score], float],
) -> Figure:
    """Draw a panel for each memory with a row of dots for each arena; `error_of` as for `_dots`."""
    made, axes = figure(1, len(MEMORIES), WIDTH, 0.34 * len(arenas) + 1.8, sharey=True)
    placed = [[(score, value(score)) for score in board.on(arena)] for arena in arenas]
    for ax, memory in zip(axes, MEMORIES, strict=True):
        _dots(ax, placed, memory, error_of)
        ax.set_xlabel(xlabel)
    axes[0].set_yticks(range(len(arenas)), [arena.starred for arena in arenas])
    _legend(made, axes[0])
    if any(arena.held_out for arena in arenas):
        made.supxlabel(STAR, x=0.01, ha="left", fontsize=9, color="#444444")
    return made


def _dots(
    ax: Axes,
    placed: Sequence[Sequence[tuple[Score, float]]],
    memory: int,
    error_of: Callable[[Score], float],
) -> None:
    """Draw the scores with so much memory, and those of policies whose memory is not given.

    `error_of` is half of the 95% interval, in units of the value shown.
    """
    ax.set_xscale("log")
    ax.set_ylim(len(placed) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.set_title(f"M = {memory}", fontsize=10)
    for row, scores in enumerate(placed):
        ax.axhline(row, color="#e4e4e4", linewidth=0.8, zorder=0)
        for score, x in scores:
            if score.entry.memory in (memory, None):
                colour, marker, size = LOOKS[score.entry.family]
                ax.errorbar(x, row, xerr=x * error_of(score), color=colour, linewidth=0.9, zorder=2)
                mine = score.entry.family == RACE
                ax.scatter(x, row, s=size, c=colour, marker=marker, zorder=4 if mine else 3)


def _relative(score: Score) -> float:
    """Return half of the 95% interval in means; 0 for a single run."""
    return 0.0 if math.isnan(score.half) or score.mean <= 0 else score.half / score.mean


def _legend(made: Figure, ax: Axes) -> None:
    for family, (colour, marker, size) in LOOKS.items():
        ax.scatter([], [], s=size, c=colour, marker=marker, label=family)
    handles, labels = ax.get_legend_handles_labels()
    made.legend(
        handles, labels, loc="outside upper center", ncols=len(labels), frameon=False,
        columnspacing=1.2, handletextpad=0.2,
    )  # fmt: skip
