"""A simulated world: arms with means, and the distribution of their rewards."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from handful.core.arms import ENDLESS
from handful.core.rng import Generator
from handful.errors import MissingExtraError, SettingError
from handful.instances import distributions, means

MAX_SORTED = 10**6
"""The largest number of means that are sorted to find a quantile."""


class Rows(NamedTuple):
    """Rewards that are drawn from rows: those of group g are from starts[g] to before stops[g].

    A group is an arm, or an arm in a period (`handful.instances.data`).
    """

    rewards: array[float]
    starts: array[int]
    stops: array[int]


@dataclass(frozen=True)
class Origin:
    """The data that an instance was made from."""

    digest: str
    """Of all that a simulation takes from the data. Equal data have it, whatever the file."""
    file: str
    """The file as it was given; empty for a frame."""
    said: str
    """How many rows and arms were used, left out and pooled, in a sentence or two."""
    labels: tuple[str, ...] = field(repr=False)
    """The labels of the arms, by index."""
    counts: tuple[int, ...] = field(repr=False)
    """The rows of the arms, by index."""


@dataclass(frozen=True)
class Instance:
    """K arms, or endlessly many, whose rewards have one kind of distribution.

    `kind` and `distribution` are codes of `means` and `distributions`; `a`, `b`, `top` and `listed`
    are the numbers that the means follow from, and `spread` that of the distribution.
    """

    name: str
    n_arms: int
    kind: int
    a: float = 1.0
    b: float = 1.0
    top: float = means.TOP
    listed: tuple[float, ...] = ()
    best_among: int = 2
    """The best arm of a finite set is among the first so many."""
    distribution: int = distributions.BERNOULLI
    spread: float = 0.0
    origin: Origin | None = None
    """Of an instance from data."""
    periods: int = 1
    """Of data with a time, the periods of the log: `listed` has the means of each in turn."""
    rows: Rows | None = field(default=None, repr=False, compare=False)
    """What rewards are drawn from, if the distribution is `distributions.ROWS`."""
    _centres: dict[float, float] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return self.name if self.origin is None else f"{self.name}: {self.origin.said}"

    @property
    def key(self) -> str:
        """Identify the instance: its name, or a digest of the data that it was made from."""
        return self.name if self.origin is None else f"data:{self.origin.digest}"

    @property
    def endless(self) -> bool:
        """Whether this is a reservoir, whose arms follow from the key of the run."""
        return self.n_arms == ENDLESS

    def mean(self, arm: int, key: int = 0) -> float:
        """Return the mean reward of an arm, in the first period if there are several."""
        if self.endless:
            return means.reservoir_mean(arm, self.a, self.b, self.top, key, [0, 0])
        return means.mean_of(self.kind, arm, self.n_arms, self.a, self.top, self.listed)

    @property
    def best_mean(self) -> float:
        """The largest mean mu*; for endless arms the supremum of the means."""
        if self.endless:
            return self.top
        return max(self.mean(arm) for arm in range(min(self.best_among, self.n_arms)))

    def quantile(self, rho: float) -> float:
        """Return mu_rho, the mean that quantile regret compares with (docs/mathematics.md)."""
        if not 0.0 < rho < 1.0:
            raise SettingError(f"rho={rho!r} is not between 0 and 1")
        if self.periods > 1:
            raise SettingError(
                f"quantile regret compares with a fixed mean, and those of {self.name} change: "
                "leave rho or time= out"
            )
        if self.endless:
            try:
                from scipy.special import betaincinv
            except ImportError:
                raise MissingExtraError("quantile regret", "scipy", "sim") from None
            return self.top * float(betaincinv(self.a, self.b, 1.0 - rho))
        if self.n_arms > MAX_SORTED:
            raise SettingError(
                f"{self.n_arms} means are too many to sort for a quantile: give at most "
                f"{MAX_SORTED} arms"
            )
        ordered = sorted(self.mean(arm) for arm in range(self.n_arms))
        return ordered[max(0, math.ceil((1.0 - rho) * self.n_arms - 1e-9) - 1)]

    def draw(self, arm: int, rng: Generator, key: int = 0) -> float:
        """Draw a reward of an arm."""
        return self.draw_at(self.mean(arm, key), rng, arm)

    def draw_at(self, mean: float, rng: Generator, group: int) -> float:
        """Draw a reward of an arm that has this mean, or of a group of rows."""
        if self.rows is not None:
            rows = self.rows
            return distributions.resampled(rows.rewards, rows.starts[group], rows.stops[group], rng)
        return distributions.draw(self.distribution, mean, self._centre(mean), self.spread, rng)

    def _centre(self, mean: float) -> float:
        if not distributions.DISTRIBUTIONS[self.distribution].has_centre:
            return 0.0
        if mean not in self._centres:
            if len(self._centres) >= 1024:
                self._centres.clear()
            self._centres[mean] = distributions.centre_of(self.distribution, mean, self.spread)
        return self._centres[mean]
