"""A log of decisions as arrays: which arm was shown, with which probability, and its reward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.evaluation.intervals import Numbers, ValueEstimate, plain_mean

Indices = NDArray[np.int64]

EVERY_ARM = -1
"""In `Log.subset`: all arms were allowed. In `Log.recommended`: no arm of the log."""


@dataclass(frozen=True, eq=False)
class Log:
    """The decisions of a log whose reward is known, in order. `read_log` makes and checks it."""

    labels: list[Any]
    """The arms that occur in the log, sorted; arrays have their places in this list."""
    arm: Indices
    """The arm that was shown, by row."""
    reward: Numbers
    """By row, mapped to [0, 1]."""
    probability: Numbers | None
    """With which the logging policy chose this arm, by row; None if the log does not say."""
    range: tuple[float, float]
    """(lo, hi), in which the rewards of the log lie; estimates are given in these units."""
    subset: Indices
    """Which of `subsets` was allowed, by row; EVERY_ARM: all arms."""
    subsets: list[Indices]
    recommended: Indices | None
    """The arm that the logging policy recommended, by row."""
    warnings: tuple[str, ...] = ()
    """What the log cannot tell, whatever is evaluated."""

    def __len__(self) -> int:
        return len(self.arm)

    @property
    def n_arms(self) -> int:
        """How many arms occur in the log."""
        return len(self.labels)

    @property
    def value(self) -> ValueEstimate:
        """The mean reward of the log itself: the value of the policy that wrote it."""
        return plain_mean(self.reward).scaled(*self.range)

    @property
    def logged(self) -> Numbers:
        """The probability of the logged arm, by row; uniform among the allowed arms if unknown."""
        return self._uniform() if self.probability is None else self.probability

    @property
    def least_probability(self) -> float:
        """The lowest logged probability."""
        return float(self.logged.min())

    @property
    def is_uniform(self) -> bool:
        """Whether every arm was logged with the same probability, or is assumed to have been."""
        return bool((self.logged == self.logged[0]).all())

    def weight_of_uniform(self) -> Numbers:
        """Return by row the probability of the arm under a uniform choice, over the logged one."""
        weights: Numbers = self._uniform() / self.logged
        return weights

    def _uniform(self) -> Numbers:
        sizes = np.array([*map(len, self.subsets), self.n_arms], dtype=np.float64)
        shares: Numbers = 1.0 / sizes[self.subset]  # EVERY_ARM, -1, is the last place
        return shares

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        known = self.probability
        return {
            "rows": len(self),
            "arms": self.n_arms,
            **self.value.to_dict(),
            "least_probability": None if known is None else float(known.min()),
            "largest_probability": None if known is None else float(known.max()),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        known = self.probability
        chosen = (
            "no probabilities"
            if known is None
            else f"probabilities from {known.min():.4g} to {known.max():.4g}"
        )
        return "\n".join(
            [
                f"log of {len(self):,} decisions on {self.n_arms:,} arms, {chosen}",
                f"  mean reward: {self.value}",
                *(f"  warning: {text}" for text in self.warnings),
            ]
        )
