"""The recorded stays of a run: which arms were in memory when, and the starts of phases."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from handful.errors import SettingError, UnknownNameError, integer, shortened
from handful.instances.catalogue import instance_of
from handful.policies import policy_class
from handful.policies.phased import PhasedPolicy
from handful.policies.schedule import pulls_before, rounds
from handful.simulation.outcome import Stays
from handful.simulation.seeds import world_key

if TYPE_CHECKING:
    from handful.simulation.result import Result

FULL_SET = 300
"""A finite set of at most this many arms is shown whole; else only arms that were in memory."""
MOST_BARS = 300_000

Ints = NDArray[np.int64]


def stays_of(result: Result, run: int) -> Stays:
    """Return the recorded stays of a run, or raise an error that says what to do."""
    run = integer("run", run)
    if result.stays is None:
        raise SettingError(
            f"{result.label} on {shortened(result.world)} has no record of its "
            "memory: simulate with record=True (on the command line: handful run --record --out "
            "...)"
        )
    if not 0 <= run < len(result.stays):
        raise SettingError(
            f"run={run}: give 0 to {len(result.stays) - 1}, counted from the first run that the "
            f"result has, number {result.run_numbers[0]}"
        )
    stays = result.stays[run]
    bars = int((stays.arms >= 0).sum())
    if bars > MOST_BARS:
        raise SettingError(
            f"run {run} of {result.label} has {bars:,} stays in memory, more than can be drawn "
            f"({MOST_BARS:,}): simulate it with a smaller horizon"
        )
    return stays


class Rows:
    """The row of each arm, from the top: sorted by mean, or in order of arrival if it is unknown.

    The arms of a reservoir follow from the seed and the cell; a file of an older version does not
    name the cell.
    """

    def __init__(self, result: Result, run: int, stays: Stays) -> None:
        n_arms = result.settings["n_arms"]
        # An arm that entered with the last pull may be recommended, though it had no stay.
        came = np.append(stays.arms[stays.arms >= 0], stays.recommended)
        seen, first = np.unique(came, return_index=True)
        self.all_shown = n_arms <= FULL_SET
        shown = np.arange(n_arms) if self.all_shown else seen[np.argsort(first)]
        self.means = means_of(result, run, shown)
        if self.means is not None:
            order = np.argsort(-self.means, kind="stable")
            shown, self.means = shown[order], self.means[order]
        self.arms: Ints = shown
        self._sorter = np.argsort(shown)

    def of(self, arms: Ints) -> Ints:
        """Return the rows of arms."""
        rows: Ints = self._sorter[np.searchsorted(self.arms, arms, sorter=self._sorter)]
        return rows

    @property
    def inches(self) -> float:
        """The height of the figure."""
        return min(6.0, 2.8 + 0.14 * len(self.arms))

    def described(self, arm: int) -> str:
        """Describe an arm by its mean and rank, if they are known."""
        if self.means is None:
            return f"arm {arm}"
        row = int(self.of(np.array([arm]))[0])
        rank = f", {_nth(row + 1)} of {len(self.arms)}" if self.all_shown else ""
        return f"arm {arm} (mean {self.means[row]:.3f}{rank})"


def means_of(result: Result, run: int, arms: Ints) -> NDArray[np.float64] | None:
    """Return the means of arms in a run, if the instance is known by name."""
    settings = result.settings
    try:
        world = instance_of(settings)
    except SettingError:  # an instance of one's own, or data that are not there
        return None
    if world.n_arms != settings["n_arms"] or (world.endless and "id" not in settings):
        return None
    key = 0
    if world.endless:
        number = run + settings.get("first_run", 0)
        key = world_key(settings["seed"], settings["id"], number, settings["tape"])
    return np.array([world.mean(int(arm), key) for arm in arms])


def recommended_last(result: Result, stays: Stays) -> int:
    """Return the last recommended arm; in the paper's algorithms, that of the last full stay."""
    horizon, memory = result.settings["horizon"], result.settings["memory"]
    marks = phase_starts(result, horizon + 1)
    if len(stays.start) > 1 and marks:
        *_, (at, _, w) = marks
        full = memory * (memory + 2) * 2 ** (w - 1)
        if at < horizon and horizon - stays.start[-1] < full:
            return int(stays.recommended[-2])
    return int(stays.recommended[-1])


def phase_starts(result: Result, until: int | None = None) -> list[tuple[int, int, int]]:
    """Return (pulls before it, round, phase) of each phase that began; none for other algorithms.

    Late and lost rewards make phases longer, so that their starts are not known.
    """
    settings = result.settings
    if result.traffic:
        return []
    try:
        policy = policy_class(settings["policy"])
    except UnknownNameError:  # a policy of one's own
        return []
    if not issubclass(policy, PhasedPolicy):
        return []
    horizon = settings["horizon"] if until is None else until
    memory = settings["memory"]
    found = []
    began = 0
    for lap in rounds(settings["n_arms"], *policy.round_shape(memory, settings["settings"])):
        end = min(horizon, began + lap.pulls)
        for w in count(1):
            at = began + pulls_before(lap.arms, memory, w, 1)
            if at >= end or (w > 1 and memory >= lap.arms):
                break
            found.append((at, lap.r, w))
        began = end
        if began == horizon:
            return found
    raise AssertionError("the rounds never end before the horizon")


def _nth(n: int) -> str:
    if n == 1:
        return "the best"
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
