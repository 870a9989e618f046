"""The leaderboard's scores: the regret of each entry on each arena, and comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from handful.core.shuffle import Shuffle
from handful.policies.given import seed_word
from handful.simulation.intervals import half_width
from handful.simulation.plan import Cell
from handful.simulation.result import Estimate
from handful.simulation.seeds import policy_seed
from handful.studies.leaderboard import arenas
from handful.studies.leaderboard.arenas import (
    MEMORIES,
    MORE_MEMORY,
    OURS,
    PAPER,
    REFERENCE,
    Arena,
    Entry,
    entries,
    planned,
)
from handful.studies.results import Results

LOSES = 1.10
"""Race loses to the paper's best where its regret is more than so many times as high."""
BLOWS_UP = 5.0
"""A 99th percentile of more than so many means is a tail to warn of."""
ENOUGH = 50
"""With fewer runs no 99th percentile is shown."""
LATE = 0.9
"""The best arm is last if it stands at or after this share of the order."""


@dataclass(frozen=True, repr=False)
class Score(Estimate):
    """The regret of an entry on an arena, run by run."""

    arena: Arena
    entry: Entry

    @property
    def half(self) -> float:
        """Half of its 95% interval; NaN for a single run."""
        return float(half_width(self.per_run)) if len(self.per_run) > 1 else math.nan

    @property
    def p99(self) -> float:
        """The 99th percentile over runs."""
        return self.quantile(0.99)

    @property
    def enough(self) -> bool:
        """Whether there are enough runs to estimate a 99th percentile."""
        return len(self.per_run) >= ENOUGH

    @property
    def tail(self) -> float:
        """The 99th percentile in means."""
        return self.p99 / self.mean if self.mean > 0 else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; NaN becomes null."""
        values = {
            "arena": self.arena.name.replace("$", ""),
            "instance": self.arena.instance,
            "horizon": self.arena.horizon,
            "delay": self.arena.delay,
            "lost": self.arena.lost,
            "drift": self.arena.drift,
            "policy": self.arena.named(self.entry.policy),
            "family": self.entry.family,
            "memory": self.entry.shown_memory,
            "runs": len(self.per_run),
            "mean": self.mean,
            "half_width": self.half,
            "p99": self.p99,
        }
        return {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in values.items()
        }


@dataclass(frozen=True)
class Duel:
    """Race beside the best of the paper's own policies with the same memory."""

    race: Score
    best: Score

    @property
    def ratio(self) -> float:
        """Race's regret over the other's."""
        return self.race.mean / self.best.mean

    @property
    def lost(self) -> bool:
        """Whether Race is more than a tenth worse."""
        return self.ratio > LOSES


class Board:
    """All scores."""

    def __init__(self, scores: Sequence[Score]) -> None:
        self.scores = list(scores)
        self._by_key = {(s.arena.name, s.entry.policy, s.entry.memory): s for s in scores}

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def arenas(self) -> list[Arena]:
        """Return those with scores, in order."""
        return list(dict.fromkeys(score.arena for score in self.scores))

    def of(self, arena: Arena, policy: str, memory: int | None = None) -> Score:
        """Return the score of an entry."""
        return self._by_key[arena.name, policy, memory]

    def on(self, arena: Arena) -> list[Score]:
        """Return all scores of an arena."""
        return [score for score in self.scores if score.arena == arena]

    def duels(self) -> list[Duel]:
        """Return Race against the paper's best, by arena and memory."""
        found = []
        for arena in self.arenas():
            for memory in MEMORIES:
                theirs = [
                    score
                    for score in self.on(arena)
                    if score.entry.family == PAPER and score.entry.memory == memory
                ]
                best = min(theirs, key=lambda score: score.mean)
                found.append(Duel(self.of(arena, OURS, memory), best))
        return found

    def has_reference(self, arena: Arena) -> bool:
        """Return whether IMED with every arm in memory takes part."""
        return (arena.name, REFERENCE, None) in self._by_key

    def to_reference(self, score: Score) -> float:
        """Return the regret in units of IMED's with every arm in memory, where it takes part."""
        return score.mean / self.of(score.arena, REFERENCE).mean

    def by_memory(self, arena: Arena) -> list[Score]:
        """Return Race with more and more memory."""
        return [self.of(arena, OURS, memory) for memory in MORE_MEMORY]

    def hurt_by_memory(self) -> list[tuple[Score, Score]]:
        """Return where Race with more memory is worse than with two arms by over 3 s.e."""
        found = []
        for arena in self.arenas():
            two, *more = self.by_memory(arena)
            for score in more:
                if score.mean - two.mean > 3.0 * math.hypot(two.sem, score.sem):
                    found.append((two, score))
        return found

    @property
    def enough(self) -> bool:
        """Whether Race has enough runs everywhere to judge tails and small differences."""
        return all(score.enough for score in self.scores if score.entry.policy == OURS)

    def blow_ups(self) -> list[Score]:
        """Return Race's scores with a long tail."""
        return [s for s in self.scores if s.entry.policy == OURS and s.tail > BLOWS_UP]


def board_on(shown: Sequence[Arena], results: Results) -> Board:
    """Return the scores on some arenas, in the order of arenas and entries."""
    return Board(
        [
            Score(results.at(planned(arena, entry)).regret.per_run, arena, entry)
            for arena in shown
            for entry in entries(arena)
        ]
    )


def board(results: Results) -> Board:
    """Return all scores, in the order of arenas and entries; the best arm last after the others."""
    scores = board_on(arenas.ARENAS, results).scores
    last = [_best_last(results, entry) for entry in entries(arenas.BEST_LAST)]
    if all(len(score.per_run) > 1 for score in last):  # else there are too few runs to choose from
        scores += last
    return Board(scores)


def _best_last(results: Results, entry: Entry) -> Score:
    own = planned(arenas.BEST_LAST, entry)
    result = results.at(own)
    regrets = result.regret.per_run
    seed = result.settings["seed"]
    late = [run for run in range(len(regrets)) if place_of_best(own, seed, run) >= LATE]
    return Score(regrets[late], arenas.BEST_LAST, entry)


def place_of_best(own: Cell, seed: int, run: int) -> float:
    """Return where the best arm of the instance, arm 0, stands in a run's order, from 0 to 1."""
    K = own.instance.n_arms
    key = seed_word(policy_seed(seed, own.id, run))
    return Shuffle.of(K, key).position_of(0) / K
