"""What an engine returns for a batch of runs: plain arrays, one row a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass
class Outcome:
    """Regret at each time of the grid, and on request pulls by arm and the stays in memory."""

    regret: NDArray[np.float64]
    """[run, time]"""
    pulls: NDArray[np.int64] | None = None
    """[run, arm]"""
    stays: list[Stays] | None = None
    """One per run."""


@dataclass
class Stays:
    """Which arms were in memory when, in one run: a row each time that the memory was refilled."""

    start: NDArray[np.int64]
    """The number of pulls before."""
    arms: NDArray[np.int64]
    """[stay, slot]; -1: an empty slot"""
    pulls: NDArray[np.int64]
    """[stay, slot]"""
    recommended: NDArray[np.int64]
    """The arm carried over at the end."""


def joined(outcomes: list[Outcome]) -> Outcome:
    """The runs of several batches as one."""
    pulls = [outcome.pulls for outcome in outcomes if outcome.pulls is not None]
    stays = [stay for outcome in outcomes for stay in outcome.stays or []]
    return Outcome(
        np.concatenate([outcome.regret for outcome in outcomes]),
        np.concatenate(pulls) if pulls else None,
        stays or None,
    )
