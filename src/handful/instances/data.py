"""Instances from data: the rewards of an arm are resampled from the rows that the arm has there.

    data:FILE?arm=COLUMN&reward=COLUMN      a file: .parquet, .csv, .jsonl
    from_data(frame, arm=..., reward=...)   the same of a frame of polars or pandas, or of a file

A row is an arm and the reward that it got, in [0, 1]. A reward of an arm is one of its rows, drawn
with replacement, so the mean of an arm is exactly the mean of its rows. Where all rewards are 0 or
1, the arms are Bernoulli arms with these means, which is the same thing.

    &rescale=LO,HI   rewards lie in [LO, HI] and are mapped to [0, 1]
    &least=N         arms with fewer rows than N are left out
    &few=pool        ... or are one arm together, which has the rows of all of them
    &time=COLUMN     drift as it was: the rows are cut into periods, and rewards of a period's
                     decisions are drawn from the arm's rows in that period
    &periods=B       so many periods of equally many rows; 10 unless given
    &near=W          an arm with fewer than W rows in a period has its W rows nearest to the
                     middle of it instead; 100 unless given (`resampling.py` is exact about this)

A run of T decisions goes through the periods in turn, each for T/B decisions, so its time is that
of the rows, not of the clock. Regret is against the best arm of the period.

Arms are sorted by label: integers by value, text by code points. What is simulated depends on the
arms, their rewards and the options alone, and so does the digest that identifies the instance: not
on the name of the file, its kind or, without a time, the order of rows.

In the name of a column, the characters %, & and ? are written as %25, %26 and %3F.
"""

from __future__ import annotations

import math
import os
import re
import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from handful.errors import SettingError, UnknownNameError, integer, shortened
from handful.instances import means
from handful.instances.base import Instance, Origin
from handful.instances.distributions import BERNOULLI, ROWS
from handful.instances.resampling import Arms, arms_of, groups_of
from handful.instances.tables import UNIT, read_table

PREFIX = "data:"
FORM = "data:FILE?arm=COLUMN&reward=COLUMN"
LEAVE, POOL = "leave", "pool"
NOISY = 30
"""Arms with fewer rows are mentioned, unless `least` is given."""
SETTLED = 2 * 10**9
"""Nanoseconds after which a file that is written again has another time of change for sure."""
PERIODS, NEAR = 10, 100
MOST_PERIODS = 1000
KEPT = 4
"""Instances that are not read again as long as their files do not change."""


@dataclass(frozen=True)
class Options:
    """What the name of an instance from data can say."""

    arm: str = "arm"
    reward: str = "reward"
    rescale: tuple[float, float] = UNIT
    least: int = 1
    few: str = LEAVE
    time: str | None = None
    periods: int = PERIODS
    near: int = NEAR

    def __post_init__(self) -> None:
        if integer("least", self.least) < 1:
            raise SettingError(f"least={self.least}: give the rows that an arm needs, at least 1")
        if self.few not in (LEAVE, POOL):
            raise UnknownNameError("way with few rows", str(self.few), (LEAVE, POOL))
        if self.few == POOL and self.least < 2:
            raise SettingError(
                "few=pool: give least=N, too: arms with fewer rows than N are pooled"
            )
        lo, hi = self.rescale
        if not (math.isfinite(lo) and math.isfinite(hi) and lo < hi):
            raise SettingError(f"rescale={lo:g},{hi:g}: give two numbers, the lower one first")
        columns = self.columns
        if len(set(columns.values())) < len(columns):
            said = ", ".join(f"{what}={column}" for what, column in columns.items())
            raise SettingError(f"{said}: give each another column")
        if not 2 <= integer("periods", self.periods) <= MOST_PERIODS:
            raise SettingError(f"periods={self.periods}: give from 2 to {MOST_PERIODS}")
        if integer("near", self.near) < 1:
            raise SettingError(f"near={self.near}: give a number of rows, at least 1")
        if self.time is None and (self.periods, self.near) != (PERIODS, NEAR):
            raise SettingError("periods= and near= go with time=, the column of times")

    @property
    def columns(self) -> dict[str, str]:
        """The names of the columns that are read, by what they have."""
        times = {} if self.time is None else {"time": self.time}
        return {"arm": self.arm, "reward": self.reward, **times}

    @property
    def text(self) -> str:
        """The options as a name has them: the columns, and what is not as usual."""
        said = [f"arm={_quoted(self.arm)}", f"reward={_quoted(self.reward)}"]
        if self.rescale != UNIT:
            said.append("rescale=" + ",".join(repr(x).removesuffix(".0") for x in self.rescale))
        if self.least > 1:
            said.append(f"least={self.least}")
        if self.few != LEAVE:
            said.append(f"few={self.few}")
        if self.time is not None:
            said.append(f"time={_quoted(self.time)}")
        if self.periods != PERIODS:
            said.append(f"periods={self.periods}")
        if self.near != NEAR:
            said.append(f"near={self.near}")
        return "&".join(said)


def from_data(
    data: Any,
    *,
    arm: str = "arm",
    reward: str = "reward",
    rescale: tuple[float, float] | None = None,
    least: int = 1,
    few: str = LEAVE,
    time: str | None = None,
    periods: int = PERIODS,
    near: int = NEAR,
    name: str | None = None,
) -> Instance:
    """Return an instance whose rewards are resampled from the rows of each arm.

    Args:
        data: a file (.parquet, .csv or .jsonl), a frame of polars or pandas, or lists by the
            names of columns.
        arm: which column has the arm.
        reward: which column has the reward, in [0, 1].
        rescale: (lo, hi) if rewards lie in [lo, hi] and not in [0, 1].
        least: the fewest rows of an arm; arms with fewer are left out.
        few: "pool" if arms with fewer rows are not left out, but are one arm together.
        time: which column has the time of a row, if means are to change as they did in the data.
        periods: into how many periods with equally many rows the data are cut.
        near: the rows of an arm that has fewer in a period; its nearest in time.
        name: what results call the data; the name of the file, or "frame", unless given.
    """
    try:
        lo, hi = UNIT if rescale is None else map(float, rescale)
    except (TypeError, ValueError):
        raise SettingError(f"rescale={rescale!r} is not a pair (lo, hi) of numbers") from None
    options = Options(arm, reward, (lo, hi), least, few, time, periods, near)
    if isinstance(data, str | os.PathLike):
        return _of_file(os.fspath(data), options, name)
    return _instance(data, options, name or "frame", "")


def from_name(spec: str) -> Instance:
    """Return the instance of a name such as `data:clicks.parquet?arm=item&reward=click`."""
    try:
        return _of_file(*_parsed(spec.strip()))
    except SettingError as error:
        raise SettingError(f"instance {shortened(spec)!r}: {error}") from None


def _parsed(spec: str) -> tuple[str, Options]:
    """Return the file and the options in a name."""
    text = spec.removeprefix(PREFIX)
    # The last question mark: there may be others in the name of the file.
    file, options = text.rpartition("?")[::2] if "?" in text else (text, "")
    if not file:
        raise SettingError(f"it is not of the form {FORM}")
    given: dict[str, Any] = {}
    for part in options.split("&") if options else ():
        key, equals, value = part.partition("=")
        if key not in READERS:
            raise UnknownNameError("option", key, READERS)
        if not equals or not value or key in given:
            raise SettingError(f"{key}= is {'there twice' if key in given else 'empty'}")
        try:
            given[key] = READERS[key](value)
        except ValueError:
            raise SettingError(f"{part} is not of the form {FORMS[key]}") from None
    return file, Options(**given)


def _pair(text: str) -> tuple[float, float]:
    lo, hi = map(float, text.split(","))
    return lo, hi


READERS: Mapping[str, Callable[[str], Any]] = {
    "arm": unquote,
    "reward": unquote,
    "rescale": _pair,
    "least": int,
    "few": str,
    "time": unquote,
    "periods": int,
    "near": int,
}
"""How the options of a name are read."""
FORMS = {
    "rescale": "rescale=LO,HI", "least": "least=N", "periods": "periods=B", "near": "near=W"
}  # fmt: skip


def _quoted(column: str) -> str:
    return re.sub("[%&?]", lambda found: f"%{ord(found[0]):02X}", column)


_kept: dict[tuple[str, Options], tuple[tuple[int, ...], Instance]] = {}


def _of_file(file: str, options: Options, name: str | None = None) -> Instance:
    """Return the instance of a file; one that was just read is not read again."""
    path = Path(file)
    before = _stamp(path)
    if (file, options) in _kept and _kept[file, options][0] == before:
        found = _kept[file, options][1]
    else:
        found = _instance(path, options, path.name, file)
        _kept.pop((file, options), None)
        # A file that was changed just now might change again without a sign of it.
        if before and before == _stamp(path) and clock.time_ns() - max(before[:2]) > SETTLED:
            while len(_kept) >= KEPT:
                del _kept[next(iter(_kept))]
            _kept[file, options] = before, found
    return found if name is None else replace(found, name=f"{PREFIX}{name}?{options.text}")


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what changes when a file does; nothing if there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _instance(data: Any, options: Options, name: str, file: str) -> Instance:
    table = read_table(data, options.columns, options.rescale)
    periods = 1 if options.time is None else options.periods
    try:
        arms = arms_of(table, options.least, options.few == POOL)
        if periods > len(arms.arm):
            raise SettingError(f"{len(arms.arm)} rows are fewer than the {periods} periods")
    except SettingError as error:
        raise SettingError(f"{file or 'the table'}: {error}") from None
    listed, rows, digest, widened = groups_of(arms, periods, options.near)
    return Instance(
        f"{PREFIX}{name}?{options.text}",
        len(arms.labels),
        means.LISTED,
        listed=tuple(listed),
        best_among=len(arms.labels),
        distribution=BERNOULLI if rows is None else ROWS,
        origin=Origin(
            digest, file, _said(arms, options, widened), arms.labels, tuple(arms.counts.tolist())
        ),
        periods=periods,
        rows=rows,
    )


def _said(arms: Arms, options: Options, widened: int) -> str:
    """Say how many arms and rows are used, left out and pooled."""
    rows = int(arms.counts.sum())
    said = [f"{len(arms.labels):,} arms with {rows:,} rows"]
    if arms.few:
        what = f"{_counted(arms.few, 'arm')} with fewer than {options.least} rows"
        done = "pooled into one" if options.few == POOL else "left out"
        were = "were" if arms.few > 1 else "was"
        said.append(f"{what} ({_counted(arms.few_rows, 'row')} in all) {were} {done}")
    noisy = int((arms.counts < NOISY).sum())
    if noisy and options.least == 1:
        said.append(
            f"{_counted(noisy, 'arm')} {'have' if noisy > 1 else 'has'} fewer than {NOISY} rows, "
            f"so that the highest of the means may be luck (least={NOISY} leaves such arms out)"
        )
    if options.time is not None:
        periods = f"{options.periods} periods of about {rows / options.periods:,.0f} rows"
        share = widened / (len(arms.labels) * options.periods)
        near = f"with fewer than {options.near} rows of an arm in a period its nearest are taken"
        said.append(f"{periods}; {near}, in {share:.0%} of the cases")
    return "; ".join(said)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
