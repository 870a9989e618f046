"""What an engine returns for a batch of runs: plain arrays, one row per run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_PULLS = 2**24
"""Pulls by run and arm are returned up to this many numbers (128 MiB); beyond it, their sums."""


@dataclass
class Outcome:
    """Regret at each time of the grid, and on request pulls by arm and the stays in memory."""

    regret: NDArray[np.float64]
    """[run, time]"""
    pulls: NDArray[np.int64] | None = None
    """[run, arm]"""
    stays: list[Stays] | None = None
    """One per run."""
    total_pulls: NDArray[Any] | None = None
    """[arm], summed over the runs, as Python integers: in place of `pulls` that are too many."""


@dataclass
class Stays:
    """Which arms were in memory when, in one run: a row each time that the memory was refilled."""

    start: NDArray[np.int64]
    """The number of pulls before this row."""
    arms: NDArray[np.int64]
    """[stay, slot]; -1: an empty slot"""
    pulls: NDArray[np.int64]
    """[stay, slot]"""
    recommended: NDArray[np.int64]
    """The arm carried over at the end."""


def joined(outcomes: Iterable[Outcome]) -> Outcome:
    """Join the runs of several batches.

    Batches are taken one at a time. Once their pulls by run and arm are more than `MOST_PULLS`
    numbers, only the sums over runs remain, so the pulls of a million runs are never in memory.
    """
    regret: list[NDArray[np.float64]] = []
    pulls: list[NDArray[np.int64]] = []
    stays: list[Stays] = []
    total: NDArray[Any] | None = None
    size = 0
    for outcome in outcomes:
        regret.append(outcome.regret)
        stays += outcome.stays or []
        if outcome.total_pulls is not None:
            total = _sum(pulls, total) + outcome.total_pulls
            pulls = []
        if outcome.pulls is not None:
            pulls.append(outcome.pulls)
            size += outcome.pulls.size
            if total is not None or size > MOST_PULLS:
                total = _sum(pulls, total)
                pulls = []
    return Outcome(
        np.concatenate(regret), np.concatenate(pulls) if pulls else None, stays or None, total
    )


def _sum(batches: list[NDArray[np.int64]], total: NDArray[Any] | None) -> NDArray[Any]:
    """Add up over runs exactly: Python integers cannot overflow."""
    for batch in batches:
        summed = batch.sum(axis=0).astype(object)
        total = summed if total is None else total + summed
    return np.zeros(1, dtype=object) if total is None else total
