"""Arms whose rewards are resampled: which rows each arm has, in each period, and their means.

Without a time, all rows of an arm are one group. With a time, the N rows that are used, in the
order of their times, are cut into B periods of N/B rows each (rounded), and an arm has a group in
each: its rows in the period; or, if these are fewer than a number W, its W rows nearest to the
middle of the period, by their places in the order of all rows; all its rows, if it has no more.
Rows with the same time keep the order that they have in the file.

All of it is exact: a mean is the correctly rounded sum of a group's rewards divided by their
number.
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
    """Both in the order of time, if there is one."""
    few: int
    """How many arms had fewer rows than they need; these were left out or pooled."""
    few_rows: int
    """The rows of those arms."""


class Groups(NamedTuple):
    """The groups of rows: group b K + i is arm i of K in period b."""

    means: list[float]
    rows: Rows | None
    """None if all rewards are 0 or 1, so that the means say everything."""
    digest: str
    widened: int
    """How many groups have rows from outside of their period."""


def arms_of(table: pl.DataFrame, least: int, pool: bool) -> Arms:
    """Return the arms of a table: those that have `least` rows, and a pool of the others if any."""
    import numpy as np
    import polars as pl

    if "time" in table.columns:
        table = table.sort("time", maintain_order=True)
    known = table["arm"].unique().sort()
    places = pl.Series(np.arange(len(known)))
    index = table["arm"].replace_strict(known, places, return_dtype=pl.Int64).to_numpy()
    labels = np.array(known.cast(pl.String).to_list(), dtype=object)
    counts = np.bincount(index)
    few = counts < least
    reward = table["reward"].to_numpy()
    n_few, few_rows = int(few.sum()), int(counts[few].sum())
    if n_few:
        new = np.cumsum(~few) - 1
        names = list(labels[~few])
        if pool:
            new[few] = len(names)
            names.append(f"({n_few:,} arm{'s' * (n_few > 1)} pooled)")
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


def groups_of(arms: Arms, periods: int, near: int) -> Groups:
    """Return the groups of arms; in several periods, those that have at least `near` rows."""
    import numpy as np

    binary = bool(((arms.reward == 0.0) | (arms.reward == 1.0)).all())
    # Without a time, the order of rows in a file has no influence.
    order = np.lexsort((arms.arm,) if periods > 1 or binary else (arms.reward, arms.arm))
    rewards = np.ascontiguousarray(arms.reward[order])
    ends = np.cumsum(arms.counts)
    starts, stops, widened = ends - arms.counts, ends, 0
    if periods > 1:
        starts, stops, widened = _in_periods(order, starts, stops, periods, near)
    if binary:
        ones = np.concatenate([[0.0], np.cumsum(rewards)])
        sums = ones[stops] - ones[starts]
        means = (sums / (stops - starts)).tolist()
    else:
        means = [
            math.fsum(rewards[start:stop].tolist()) / (stop - start)
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
    digest = blake2b(repr(arms.labels).encode(), digest_size=8)
    for numbers in (starts, stops, sums if binary else rewards):
        digest.update(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes())
    rows = None if binary else Rows(_array("d", rewards), _array("q", starts), _array("q", stops))
    return Groups(means, rows, digest.hexdigest(), widened)


def _in_periods(
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    periods: int,
    near: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return where the group of each arm in each period starts and stops.

    The rows of arm i are from starts[i] to before stops[i], in the order of time; `places` says
    where they are in the order of all rows.
    """
    import numpy as np

    bounds = np.arange(periods + 1) * len(places) // periods
    lo, hi = bounds[:-1], bounds[1:]
    first = np.empty((periods, len(starts)), dtype=np.int64)
    last = np.empty_like(first)
    widened = 0
    for arm, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        own = places[start:stop]
        begin, end = np.searchsorted(own, lo), np.searchsorted(own, hi)
        most = min(near, stop - start)
        # The window moves on while the row that it would gain is nearer to the middle of the
        # period, (lo + hi - 1) / 2, than the row that it would lose.
        window = np.searchsorted(own[: stop - start - most] + own[most:], lo + hi - 1)
        few = end - begin < most
        first[:, arm] = start + np.where(few, window, begin)
        last[:, arm] = start + np.where(few, window + most, end)
        widened += int(few.sum())
    return first.ravel(), last.ravel(), widened


def _array(code: str, numbers: NDArray[Any]) -> array[Any]:
    made = array(code)
    made.frombytes(numbers.tobytes())
    return made
