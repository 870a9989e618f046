"""Two more pages of the leaderboard: rewards that come late or never, and means that change.

Few policies take part, on few instances: such runs are simulated pull by pull. Policies that
remember every arm are slow to simulate, and have fewer runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from handful.plots.style import DASHES, PALETTE, figure, label_ends, line_with_band
from handful.simulation.plan import Cell
from handful.studies.leaderboard.arenas import (
    PAPER,
    RACE,
    RULES,
    UNBOUNDED,
    Arena,
    Entry,
    evenly,
    planned,
    repeated,
)
from handful.studies.leaderboard.scores import Board, Score
from handful.studies.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVERY = "race:every=20000"
COLUMNS = 3
"""Panels beside each other."""
LOOKS = (
    (PALETTE[1], "-"), (PALETTE[1], DASHES[1]), (PALETTE[0], "-"), ("#707070", "-"),
    ("#707070", DASHES[1]), ("#707070", DASHES[2]),
)  # fmt: skip
"""Of the lines that are shown: Race's two, the paper's, and three that remember every arm."""


@dataclass(frozen=True)
class Sheet:
    """A page: instances under conditions, and the policies that take part."""

    name: str
    title: str
    words: str
    arenas: tuple[Arena, ...]
    entries: tuple[Entry, ...]
    shown: tuple[Entry, ...]
    """The entries whose regret over time is drawn."""

    @property
    def file(self) -> str:
        """The page's file."""
        return f"leaderboard-{self.name}.html"

    def taking_part(self, arena: Arena) -> Iterator[Entry]:
        """Yield the entries that can be run on an arena."""
        for entry in self.entries:
            if entry.cls.any_arms or entry.cls.endless is arena.endless:
                yield entry

    def cells(self, runs: int, seed: int) -> Iterator[Cell]:
        """Yield the cells of all entries on all arenas."""
        for arena in self.arenas:
            for entry in self.taking_part(arena):
                yield planned(arena, entry, runs, seed)

    def board(self, results: Results) -> Board:
        """Return the scores."""
        return Board(
            [
                Score(results.at(planned(arena, entry)).regret.per_run, arena, entry)
                for arena in self.arenas
                for entry in self.taking_part(arena)
            ]
        )


def _arena(name: str, instance: str, words: str, horizon: int = 100_000) -> Arena:
    return Arena(name, instance, words, horizon, stepwise=True)


_CLICKS = _arena("clicks", "linear:300:0.05", "300 click rates up to 0.05", 50_000)
_LINEAR = _arena("linear", "linear:100", "100 arms, means evenly spaced up to 1")
_FIFTY = _arena("fifty", evenly(0.9, 0.1, 50), "50 arms, means from 0.1 to 0.9")
_NEEDLE = _arena("one of 300", repeated((1, 0.5), (299, 0.3)), "0.5 among 299 of 0.3")


def _late(arena: Arena, delay: str | None, words: str, lost: float | None = None) -> Arena:
    name = f"{arena.name}, {words}"
    words = f"{arena.words}, rewards {words}"
    return replace(arena, name=name, words=words, delay=delay, lost=lost)


def _drifting(drift: str, words: str) -> Arena:
    return replace(_FIFTY, name=drift, words=f"{_FIFTY.words}; {words}", drift=drift)


TRAFFIC = Sheet(
    "traffic",
    "Rewards that come late, in batches or never",
    "The reward of a decision is known only after many others were made. A policy must go on "
    "without it, and must not wait for ever for one that never comes.",
    (
        _late(_CLICKS, None, "at once"),
        _late(_CLICKS, "20", "20 decisions late"),
        _late(_CLICKS, "200", "200 decisions late"),
        _late(_CLICKS, "2000", "2000 decisions late"),
        _late(_CLICKS, "geometric:200", "200 late on average, a fifth lost", 0.2),
        _late(_CLICKS, "batch:500", "in batches of 500"),
        _late(_LINEAR, None, "at once"),
        _late(_LINEAR, "200", "200 decisions late"),
        _late(_LINEAR, "2000", "2000 decisions late"),
        _late(_LINEAR, "batch:500", "in batches of 500"),
        _late(_NEEDLE, "200", "200 decisions late"),
        _late(_arena("I2", "I2", "endless, uniform, best 1"), "200", "200 decisions late"),
        _late(_arena("I4", "I4", "endless, uniform, best 0.6"), "200", "200 decisions late"),
    ),
    (
        Entry("race", 2, RACE), Entry("race", 8, RACE), Entry("race", 64, RACE),
        Entry("ucb-m", 8, PAPER), Entry("ts-m", 8, PAPER), Entry("moss-m", 8, PAPER),
        Entry("qucb-m", 8, PAPER), Entry("qts-m", 8, PAPER), Entry("qmoss-m", 8, PAPER),
        Entry("imed-m", 8, RULES),
        Entry("ucb1", None, UNBOUNDED), Entry("thompson", None, UNBOUNDED),
        Entry("imed", None, UNBOUNDED), Entry("qpm-d", None, UNBOUNDED),
    ),
    (
        Entry("race", 8, RACE), Entry("race", 2, RACE), Entry("ts-m", 8, PAPER),
        Entry("thompson", None, UNBOUNDED), Entry("qpm-d", None, UNBOUNDED),
        Entry("ucb1", None, UNBOUNDED),
    ),
)  # fmt: skip
DRIFT = Sheet(
    "drift",
    "Means that change",
    "Regret is against the arm that is the best at the time.",
    (
        replace(_FIFTY, name="no drift"),
        _drifting("falls", "half way the best arm's mean becomes 0.1"),
        _drifting("rises", "half way a random arm's mean becomes 0.97"),
        _drifting("swap:5", "after every fifth of the time the best arm and a random one change "
                  "places"),
        _drifting("walk:0.01", "every 100 decisions each mean moves by a normal step of 0.01"),
    ),
    (
        Entry("race", 2, RACE), Entry("race", 8, RACE), Entry(EVERY, 8, RACE),
        Entry("race:watch=0", 8, RACE),
        Entry("ucb-m", 8, PAPER), Entry("ts-m", 8, PAPER), Entry("moss-m", 8, PAPER),
        Entry("thompson", None, UNBOUNDED), Entry("imed", None, UNBOUNDED),
        Entry("discounted-ts", None, UNBOUNDED),
        Entry("sliding-window-ts", None, UNBOUNDED), Entry("glr-klucb", None, UNBOUNDED),
    ),
    (
        Entry("race", 8, RACE), Entry(EVERY, 8, RACE), Entry("ts-m", 8, PAPER),
        Entry("thompson", None, UNBOUNDED), Entry("discounted-ts", None, UNBOUNDED),
        Entry("sliding-window-ts", None, UNBOUNDED),
    ),
)  # fmt: skip
SHEETS = (TRAFFIC, DRIFT)


@dataclass(frozen=True)
class Winner:
    """The lowest regret on an arena: of all, with bounded memory, and of Race."""

    best: Score
    bounded: Score
    race: Score

    @property
    def ratio(self) -> float:
        """Race's regret over the lowest."""
        return self.race.mean / self.best.mean

    @property
    def is_race(self) -> bool:
        """Whether Race, with some memory or setting, has the lowest regret."""
        return self.best is self.race


def winners(board: Board) -> list[Winner]:
    """Return who wins on each arena."""

    def lowest(scores: Sequence[Score]) -> Score:
        return min(scores, key=lambda score: score.mean)

    found = []
    for arena in board.arenas():
        scores = board.on(arena)
        bounded = [score for score in scores if score.entry.family != UNBOUNDED]
        race = [score for score in scores if score.entry.family == RACE]
        found.append(Winner(lowest(scores), lowest(bounded), lowest(race)))
    return found


def draw(sheet: Sheet, results: Results) -> Figure:
    """Draw regret over time, a panel for each arena."""
    rows = -(-len(sheet.arenas) // COLUMNS)
    made, axes = figure(rows, COLUMNS, 4.1 * COLUMNS, 2.9 * rows, squeeze=False)
    for ax in axes.flat[len(sheet.arenas) :]:
        ax.remove()
    for ax, arena in zip(axes.flat, sheet.arenas, strict=False):
        present = set(sheet.taking_part(arena))
        for entry, look in zip(sheet.shown, LOOKS, strict=True):
            if entry in present:
                curve = results.at(planned(arena, entry)).curve
                line_with_band(ax, curve.t, curve.per_run, entry.label, look)
        ax.set_title(arena.name, fontsize=10)
        ax.set_xlabel("decisions")
        ax.set_ylabel("regret")
        label_ends(ax)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.set_xticks([0, arena.horizon // 2, arena.horizon])
    return made
