"""The page "the same memory, lower regret": the leaderboard in tables and figures.

`beyond.html` holds its pictures and opens with no network. The words are in `templates/`, the
numbers come from results.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

import numpy as np

from handful import __version__
from handful.plots.style import PALETTE, figure, save, style
from handful.studies.leaderboard import drift
from handful.studies.leaderboard.arenas import (
    ARENAS,
    ENDLESS,
    FAMILIES,
    FINITE,
    HARDER,
    HELD_OUT,
    LARGE,
    LAWS,
    LEFT_OUT,
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
from handful.studies.leaderboard.scores import BLOWS_UP, ENOUGH, Board, Duel, Score
from handful.studies.paper import report
from handful.studies.typeset import environment

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = report.BEYOND
DATA = "beyond.json"
LOOKS = {
    RACE: (PALETTE[1], "D", 46),
    PAPER: (PALETTE[0], "o", 26),
    RULES: (PALETTE[5], "s", 20),
    LITERATURE: (PALETTE[3], "^", 24),
    UNBOUNDED: ("#8a8a8a", "|", 60),
}
"""Colour, marker and size of each family's dots."""


def write(board: Board, drifts: drift.Drifts, folder: Path, seed: int) -> list[Path]:
    """Write the page, its figures as pictures and its numbers as JSON; returns them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "beyond-relative": relative(board),
        "beyond-endless": endless(board),
        "beyond-memory": by_memory(board),
        "beyond-drift": drift.draw(drifts),
    }
    page = folder / PAGE
    shown = {**_contents(board, seed), "drift": drifts, "scenarios": drift.SCENARIOS}
    shown["pictures"] = {name: report.embedded(drawn) for name, drawn in made.items()}
    text = environment(PAGE).get_template(PAGE).render(shown)
    page.write_text(text, encoding="utf-8")
    data = folder / DATA
    data.write_text(json.dumps([score.to_dict() for score in board]), encoding="utf-8")
    written = [page, data]
    for name, drawn in made.items():
        path = folder / f"{name}.png"
        save(drawn, str(path))
        written.append(path)
    report.link_beyond(folder)
    return written


def _contents(board: Board, seed: int) -> dict[str, Any]:
    present = board.arenas()
    duels = board.duels()
    held_out = [duel for duel in duels if duel.race.arena in HELD_OUT]
    sections = [
        ("The paper's finite sets", FINITE),
        ("Endless arms", ENDLESS),
        ("Harder sets", HARDER),
        ("Held out", HELD_OUT),
        ("Other rewards, and an unlucky order", (*LAWS, *_last(present))),
        ("Very many arms", LARGE),
    ]
    return {
        "version": __version__,
        "seed": seed,
        "board": board,
        "duels": duels,
        "memories": MEMORIES,
        "more": MORE_MEMORY,
        "ratios": {memory: _ratio(duels, memory) for memory in MEMORIES},
        "held_out": HELD_OUT,
        "held_out_ratios": {memory: _ratio(held_out, memory) for memory in MEMORIES if held_out},
        "sections": [(title, arenas, _rows(board, arenas)) for title, arenas in sections],
        "families": FAMILIES,
        "left_out": LEFT_OUT,
        "blows_up": BLOWS_UP,
        "enough": ENOUGH,
        "pulls": sum(len(s.per_run) * s.arena.horizon for s in board if s.arena in ARENAS),
        "runs": max(len(score.per_run) for score in board),
        "best": _best_test(board),
    }


def _ratio(duels: Sequence[Duel], memory: int) -> float:
    """The geometric mean of Race's regret over that of the paper's best with as much memory."""
    return geometric_mean(duel.ratio for duel in duels if duel.race.entry.memory == memory)


def _last(present: Sequence[Arena]) -> tuple[Arena, ...]:
    return tuple(arena for arena in present if arena not in ARENAS)


def _rows(board: Board, arenas: Sequence[Arena]) -> list[list[Score | None]]:
    """A row for each entry that takes part in any of the arenas."""
    scores = [{(s.entry.policy, s.entry.memory): s for s in board.on(arena)} for arena in arenas]
    order = list(dict.fromkeys(key for column in scores for key in column))
    return [[column.get(key) for column in scores] for key in order]


def _best_test(board: Board) -> Callable[[Score], bool]:
    """Whether a score is the lowest on its arena with its memory."""
    lowest: dict[tuple[str, str], float] = {}
    for score in board:
        key = (score.arena.name, score.entry.shown_memory)
        lowest[key] = min(score.mean, lowest.get(key, math.inf))
    return lambda score: score.mean <= lowest[score.arena.name, score.entry.shown_memory]


def relative(board: Board) -> Figure:
    """Every score on finite sets, in units of the regret of IMED with every arm in memory."""
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
    """Every score on endless arms, and on sets too large to keep every arm."""
    arenas = [arena for arena in board.arenas() if not board.has_reference(arena)]
    return _dot_plot(board, arenas, "regret", lambda score: score.mean, _relative)


def _dot_plot(
    board: Board,
    arenas: Sequence[Arena],
    xlabel: str,
    value: Callable[[Score], float],
    error_of: Callable[[Score], float],
) -> Figure:
    """A panel for each memory with a row of dots for each arena; `error_of` as for `_dots`."""
    made, axes = figure(1, len(MEMORIES), 11.0, 0.36 * len(arenas) + 1.6, sharey=True)
    placed = [[(score, value(score)) for score in board.on(arena)] for arena in arenas]
    for ax, memory in zip(axes, MEMORIES, strict=True):
        _dots(ax, placed, memory, error_of)
        ax.set_xlabel(xlabel)
    axes[0].set_yticks(range(len(arenas)), [arena.name for arena in arenas])
    _legend(made, axes[0])
    return made


def _dots(
    ax: Axes,
    placed: Sequence[Sequence[tuple[Score, float]]],
    memory: int,
    error_of: Callable[[Score], float],
) -> None:
    """A row of dots for each arena: those with so much memory, and those with their own.

    `error_of` is half of the 95% interval, in units of what is shown.
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
    """Half of the 95% interval in means; 0 for a single run."""
    return 0.0 if math.isnan(score.half) or score.mean <= 0 else score.half / score.mean


def _legend(made: Figure, ax: Axes) -> None:
    for family, (colour, marker, size) in LOOKS.items():
        ax.scatter([], [], s=size, c=colour, marker=marker, label=family)
    handles, labels = ax.get_legend_handles_labels()
    made.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)


def by_memory(board: Board) -> Figure:
    """Race with more memory, relative to two arms, on every arena."""
    papers = (*FINITE, *ENDLESS)
    others = [arena for arena in board.arenas() if arena not in (*papers, *HARDER)]
    groups: tuple[tuple[str, Sequence[Arena]], ...] = (
        ("the paper's sets", papers),
        ("harder ones", HARDER),
        ("held out, other rewards, very many arms", others),
    )
    made, axes = figure(1, len(groups), 12.5, 4.6, sharey=True)
    highest = 1.4
    for ax, (title, group) in zip(axes, groups, strict=True):
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
                markersize=3, label=arena.name,
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks(MORE_MEMORY, [str(m) for m in MORE_MEMORY])
        ax.minorticks_off()
        ax.axhline(1.0, color="#333333", linewidth=0.8, zorder=0)
        ax.set_ylim(0.0, 1.3 * highest)
        ax.set_xlabel("arms in memory, M")
        ax.set_title(title, fontsize=10)
        if arenas:
            ax.legend(fontsize=7, ncols=3, frameon=False, loc="upper center")
    axes[0].set_ylabel("Race's regret / its regret with M = 2")
    return made
