"""Drifting means: when the means of a finite set of arms change during a run, and how.

    falls        after T/2 decisions the best arm's mean becomes the lowest mean of the instance
    rises:P      after T/2 decisions a random arm other than the best gets the mean P; 0.97 unless
                 given
    swap:N       every T/N decisions the best arm and a random other one exchange their means
    walk:SD      every 100 decisions each mean moves by a normal step with standard deviation SD,
                 reflected at the lowest and the highest mean of the instance

Data with a time have a drift of their own, as logged: every T/N decisions the means of the next of
N periods (`handful.instances.data`).

The best arm is that of the moment, the first one of several. The simulator compiles the functions
of numbers as they stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from handful.core.rng import Generator, normal, uniform
from handful.errors import SettingError, UnknownNameError
from handful.instances.base import Instance
from handful.instances.distributions import DISTRIBUTIONS
from handful.instances.means import Listed

NONE, FALLS, RISES, SWAP, WALK, LOGGED = range(6)
NAMES = ("", "falls", "rises", "swap", "walk")
FORMS = "falls, rises, rises:P, swap:N or walk:SD"
RISEN = 0.97
"""The mean of an arm that rises, unless another is given."""
PACE = 100
"""Decisions between two steps of a walk."""
MOST_SWAPS = 10**6
NEVER = 2**62
"""The time of a change that does not come."""


class Means(Protocol):
    """The means of all arms: a list, or an array in kernels."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> float: ...

    def __setitem__(self, index: int, mean: float, /) -> None: ...


@dataclass(frozen=True)
class Drift:
    """A kind of change, and its number: P, N or SD; 0 where there is none."""

    kind: int
    number: float = 0.0

    @property
    def name(self) -> str:
        """The canonical name, such as swap:5."""
        if self.kind == FALLS:
            return NAMES[FALLS]
        return f"{NAMES[self.kind]}:{repr(self.number).removesuffix('.0')}"

    def check(self, world: Instance, most_arms: int, horizon: int) -> None:
        """Refuse a change that the instance cannot go through."""
        given = f"drift={self.name}"
        refuse_rows(given, world)
        if world.n_arms > most_arms:
            arms = "endless arms" if world.endless else f"{world.n_arms} arms"
            raise SettingError(
                f"{given}: {world.name} has {arms}, and the means of at most {most_arms} can drift"
            )
        if world.n_arms < 2:
            raise SettingError(f"{given}: {world.name} has one arm: give at least 2")
        low, high = mean_range(world)
        if self.kind == RISES and not high < self.number <= 1.0:
            raise SettingError(
                f"{given}: give a mean above the best mean, {high:g}, and at most 1, as in "
                f"rises:{round((1.0 + high) / 2.0, 4):g}"
            )
        if self.kind == SWAP and self.number > horizon:
            raise SettingError(
                f"{given}: there are only {horizon} decisions: give at most swap:{horizon}"
            )
        if self.kind == WALK and not 0.0 < self.number <= high - low:
            raise SettingError(
                f"{given}: the means lie from {low:g} to {high:g}: give a step above 0 and at most "
                f"their difference, {high - low:g}"
            )
        distribution = DISTRIBUTIONS[world.distribution]
        reached = {RISES: (self.number,), WALK: (low, high)}.get(self.kind, ())
        inner = (p for p in reached if self.kind == WALK or 0.0 < p < 1.0)
        if any(min(p, 1.0 - p) < distribution.margin for p in inner):
            margin = distribution.margin
            raise SettingError(
                f"{given}: {distribution.name} needs means in [{margin:g}, 1 - {margin:g}]"
            )


def drift(spec: str) -> Drift:
    """Return the drift of that name."""
    name, colon, text = str(spec).strip().partition(":")
    if name not in NAMES[1:]:
        raise UnknownNameError("drift", name, NAMES[1:])
    kind = NAMES.index(name)
    if kind == FALLS:
        if colon:
            raise SettingError(f"drift={spec}: falls takes no number")
        return Drift(FALLS)
    if kind == RISES and not colon:
        return Drift(RISES, RISEN)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise SettingError(f"drift={spec} is not of the form {FORMS}")
    if kind == SWAP and not (number == int(number) and 1 <= number <= MOST_SWAPS):
        raise SettingError(f"drift={spec}: N must be an integer from 1 to {MOST_SWAPS}")
    return Drift(kind, number)


def refuse_rows(given: str, world: Instance) -> None:
    """Refuse arms whose means would change although their rewards are drawn from rows."""
    if world.rows is not None:
        raise SettingError(
            f"{given}: the rewards of {world.name} are not all 0 or 1: they are drawn from rows, "
            "and there are none for other means"
        )


def mean_range(world: Instance) -> tuple[float, float]:
    """Return the lowest and the highest mean of a finite instance."""
    means = [world.mean(arm) for arm in range(world.n_arms)]
    return min(means), max(means)


# Functions of numbers, which kernels compile.


def change_time(kind: int, number: float, T: int, k: int) -> int:
    """Return after how many decisions of T change k = 1, 2, ... comes; `NEVER` if it does not."""
    if kind == WALK:
        return k * PACE
    if kind in (SWAP, LOGGED):
        n = int(number)
        # k T / n, rounded down, without a product that overflows in a kernel.
        return k * (T // n) + k * (T % n) // n if k < n else NEVER
    return T // 2 if k == 1 and kind != NONE else NEVER


def best_arm(means: Means) -> int:
    """Return the arm with the highest mean, the first of several."""
    best = 0
    for arm in range(1, len(means)):
        if means[arm] > means[best]:
            best = arm
    return best


def change(kind: int, number: float, low: float, high: float, means: Means, rng: Generator) -> None:
    """Change the means once; `low` and `high` are the lowest and highest mean of the instance."""
    if kind == WALK:
        for arm in range(len(means)):
            means[arm] = reflected(means[arm] + number * normal(rng), low, high)
        return
    best = best_arm(means)
    if kind == FALLS:
        means[best] = low
        return
    other = int(uniform(rng) * (len(means) - 1))
    if other >= best:
        other += 1
    if kind == RISES:
        means[other] = number
    else:
        mean = means[best]
        means[best] = means[other]
        means[other] = mean


def as_logged(period: int, listed: Listed, means: Means) -> None:
    """Change the means to those of a period; all means are listed, period by period."""
    for arm in range(len(means)):
        means[arm] = listed[period * len(means) + arm]


def reflected(x: float, low: float, high: float) -> float:
    """Return x reflected at low and high as often as it takes to lie between them."""
    while x < low or x > high:
        x = 2.0 * low - x if x < low else 2.0 * high - x
    return x
