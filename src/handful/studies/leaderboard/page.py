"""The leaderboard's pages: figures, comparisons and all scores in tables.

`leaderboard.html` and the pages of `conditions.py` contain their figures and open without a
network. The text is in `templates/`, the numbers come from results.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from handful import __version__
from handful.plots.style import save
from handful.studies.leaderboard import arenas, conditions, figures
from handful.studies.leaderboard.arenas import (
    ENDLESS,
    FAMILIES,
    FINITE,
    HARDER,
    LARGE,
    LEFT_OUT,
    MEMORIES,
    MORE_MEMORY,
    OTHER_REWARDS,
    Arena,
    Entry,
)
from handful.studies.leaderboard.conditions import SHEETS, Sheet
from handful.studies.leaderboard.scores import BLOWS_UP, ENOUGH, LOSES, Board, Duel, Score
from handful.studies.pages import LEADERBOARD, embedded, link_leaderboard
from handful.studies.results import Results
from handful.studies.typeset import environment

DATA = "leaderboard.json"


SHEET = "leaderboard-sheet.html"


def write(board: Board, folder: Path, seed: int) -> list[Path]:
    """Write the page, its figures as pictures and its numbers as JSON; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "leaderboard-relative": figures.relative(board),
        "leaderboard-endless": figures.endless(board),
        "leaderboard-memory": figures.by_memory(board),
    }
    page = folder / LEADERBOARD
    shown = _contents(board, seed)
    shown["pictures"] = {name: embedded(drawn) for name, drawn in made.items()}
    text = environment(LEADERBOARD).get_template(LEADERBOARD).render(shown)
    page.write_text(text, encoding="utf-8")
    data = folder / DATA
    data.write_text(json.dumps([score.to_dict() for score in board]), encoding="utf-8")
    written = [page, data]
    for name, drawn in made.items():
        path = folder / f"{name}.png"
        save(drawn, str(path))
        written.append(path)
    link_leaderboard(folder)
    return written


def write_sheet(sheet: Sheet, results: Results, folder: Path, seed: int) -> list[Path]:
    """Write the page of a sheet and its figure as a picture; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    board = sheet.board(results)
    won = conditions.winners(board)
    drawn = conditions.draw(sheet, results)
    shown = {
        "version": __version__,
        "seed": seed,
        "sheet": sheet,
        "sheets": SHEETS,
        "arenas": board.arenas(),
        "rows": _rows(board, board.arenas()),
        "families": FAMILIES,
        "winners": won,
        "race_is_best_bounded": sum(winner.bounded is winner.race for winner in won),
        "lowest": lambda score: any(score is winner.best for winner in won),
        "loses": LOSES,
        "runs": max(len(score.per_run) for score in board),
        "picture": embedded(drawn),
    }
    page = folder / sheet.file
    text = environment(SHEET).get_template(SHEET).render(shown)
    page.write_text(text, encoding="utf-8")
    picture = page.with_suffix(".png")
    save(drawn, str(picture))
    return [page, picture]


def _contents(board: Board, seed: int) -> dict[str, Any]:
    duels = board.duels()
    held_out = [duel for duel in duels if duel.race.arena.held_out]
    scored = [s for s in board if s.arena in arenas.ARENAS]
    return {
        "version": __version__,
        "seed": seed,
        "board": board,
        "entries": _entries(board),
        "duels": duels,
        "memories": MEMORIES,
        "more": MORE_MEMORY,
        "ratios": {memory: _ratio(duels, memory) for memory in MEMORIES},
        "held_out_ratios": {memory: _ratio(held_out, memory) for memory in MEMORIES if held_out},
        "sections": [(title, group, _rows(board, group)) for title, group in _sections(board)],
        "sheets": SHEETS,
        "families": FAMILIES,
        "left_out": LEFT_OUT,
        "blows_up": BLOWS_UP,
        "enough": ENOUGH,
        "pulls": sum(len(score.per_run) * score.arena.horizon for score in scored),
        "runs": max(len(score.per_run) for score in board),
        "best": _best_test(board),
    }


def _sections(board: Board) -> list[tuple[str, list[Arena]]]:
    """Return the arenas with scores under headings."""
    present = board.arenas()
    sections = (
        ("The paper's finite sets", FINITE),
        ("The paper's endless arms", ENDLESS),
        ("Harder instances", HARDER),
        ("Held out", arenas.HELD_OUT),
        ("Other rewards, and an unlucky order", (*OTHER_REWARDS, arenas.BEST_LAST)),
        ("Very many arms", LARGE),
    )
    found = [(title, [arena for arena in group if arena in present]) for title, group in sections]
    return [(title, group) for title, group in found if group]


def _entries(board: Board) -> list[tuple[str, list[tuple[Entry, str]]]]:
    """Return each policy once, by family, with the memories that it takes part with."""
    memories: dict[str, dict[str, None]] = {}
    first: dict[str, Entry] = {}
    for score in board:
        entry = score.entry
        first.setdefault(entry.policy, entry)
        memories.setdefault(entry.policy, {})[entry.shown_memory] = None
    return [
        (
            family,
            [
                (entry, ", ".join(memories[policy]))
                for policy, entry in first.items()
                if entry.family == family
            ],
        )
        for family in FAMILIES
    ]


def _ratio(duels: Sequence[Duel], memory: int) -> float:
    """Return the geometric mean of Race's regret over the paper's best with as much memory."""
    return geometric_mean(duel.ratio for duel in duels if duel.race.entry.memory == memory)


def _rows(board: Board, group: Sequence[Arena]) -> list[list[Score | None]]:
    """Return a row for each entry that takes part in any of the arenas."""
    scores = [{(s.entry.policy, s.entry.memory): s for s in board.on(arena)} for arena in group]
    order = list(dict.fromkeys(key for column in scores for key in column))
    return [[column.get(key) for column in scores] for key in order]


def _best_test(board: Board) -> Callable[[Score], bool]:
    """Return a test whether a score is the lowest on its arena with its memory."""
    lowest: dict[tuple[str, str], float] = {}
    for score in board:
        key = (score.arena.name, score.entry.shown_memory)
        lowest[key] = min(score.mean, lowest.get(key, math.inf))
    return lambda score: score.mean <= lowest[score.arena.name, score.entry.shown_memory]
