"""Statistics of members, in columns, and of all members together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]


class FleetStats(NamedTuple):
    """What is known of some members: an element, or a row of slots, for each.

    Where a member has fewer arms in memory than the fleet has slots, the rest is -1, 0 and NaN.
    """

    id: Column
    decisions: Column
    rewards: Column
    in_flight: Column
    """Decisions whose reward is waited for."""
    lost: Column
    forgotten: Column
    refused: Column
    recommended: Column
    """The label of the arm that the member recommends."""
    arms: Column
    """The index of the arm in each slot (`fleet.arms`), -1 where a slot is free."""
    pulls: Column
    means: Column

    def columns(self) -> dict[str, Column]:
        """Return the same as columns of a frame, with three for each slot."""
        found: dict[str, Column] = {}
        for name, array in zip(self._fields, self, strict=True):
            if array.ndim == 1:
                found[name] = array
            else:
                for slot in range(array.shape[1]):
                    found[f"{name.removesuffix('s')}_{slot}"] = array[:, slot]
        return found


class Totals(NamedTuple):
    """What is known of a whole fleet."""

    members: int
    begun: int
    """Members that have made a decision or been given a reward."""
    wide: int
    """Members that did not fit into an ordinary row."""
    decisions: int
    rewards: int
    in_flight: int
    lost: int
    forgotten: int
    refused: int


def means_of(pulls: Column, sums: Column, lo: float, hi: float) -> Column:
    """Return the mean reward of each arm; NaN where there are none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Column = lo + (hi - lo) * (sums / pulls)
    return means
