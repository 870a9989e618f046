"""Arms whose rewards are resampled: which rows each arm has, and what their means are.

Groups of rows are arms. All of it is exact: a mean is the correctly rounded sum of an arm's rewards
divided by their number.
"""

from __future__ import annotations

import math
from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from handful.errors import SettingError
from handful.instances.base import Rows

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray


class Arms(NamedTuple):
    """The arms of a table, by index, and the arm and the reward of each row that is used."""

    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    """The rows of each arm."""
    arm: NDArray[np.int64]
    reward: NDArray[np.float64]
    few: int
    """How many arms had fewer rows than they need; these were left out or pooled."""
    few_rows: int
    """The rows of those arms."""


def arms_of(table: pl.DataFrame, least: int, pool: bool) -> Arms:
    """Return the arms of a table: those that have `least` rows, and a pool of the others if any."""
    import numpy as np

    index = table["arm"].rank("dense").to_numpy().astype(np.int64) - 1
    labels = np.array(table["arm"].unique().sort().cast(str).to_list(), dtype=object)
    counts = np.bincount(index)
    few = counts < least
    reward = table["reward"].to_numpy()
    n_few, few_rows = int(few.sum()), int(counts[few].sum())
    if n_few:
        new = np.cumsum(~few) - 1
        names = list(labels[~few])
        if pool:
            new[few] = len(names)
            names.append(f"({n_few:,} arms pooled)")
        else:
            used = ~few[index]
            index, reward = index[used], reward[used]
        index, labels = new[index], np.array(names, dtype=object)
        counts = np.bincount(index, minlength=len(names))
    if len(labels) < 2:
        raise SettingError(
            _too_few(len(labels), n_few, least) + ": there is nothing to choose from"
        )
    return Arms(tuple(labels), counts, index, reward, n_few, few_rows)


def _too_few(arms: int, few: int, least: int) -> str:
    have = "no arm has" if arms == 0 else "only one arm has"
    return f"{have} {least} rows or more" if few else "there is one arm"


def groups_of(arms: Arms) -> tuple[list[float], Rows | None, str]:
    """Return the means of groups, their rows unless all rewards are 0 or 1, and a digest."""
    import numpy as np

    binary = bool(((arms.reward == 0.0) | (arms.reward == 1.0)).all())
    # Sorted, so that the order of rows in a file has no influence.
    order = np.lexsort((arms.reward, arms.arm))
    rewards = np.ascontiguousarray(arms.reward[order], dtype="<f8")
    stops = np.cumsum(arms.counts)
    starts = stops - arms.counts
    if binary:
        ones = np.concatenate([[0.0], np.cumsum(rewards)])
        means = ((ones[stops] - ones[starts]) / (stops - starts)).tolist()
    else:
        values = rewards.tolist()
        means = [
            math.fsum(values[start:stop]) / (stop - start)
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
    digest = blake2b(repr(arms.labels).encode(), digest_size=8)
    for numbers in (starts, stops, rewards):
        digest.update(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes())
    rows = None if binary else Rows(_array("d", rewards), _array("q", starts), _array("q", stops))
    return means, rows, digest.hexdigest()


def _array(code: str, numbers: NDArray[Any]) -> array[Any]:
    made = array(code)
    made.frombytes(numbers.astype(numbers.dtype.newbyteorder("=")).tobytes())
    return made
