"""Inverse propensity scores: the value of a target that does not learn, from a policy's log.

Row i counts with the weight w_i = (probability of its arm under the target) / (logged probability).

    IPS    1/n sum w_i r_i               unbiased (Horvitz and Thompson 1952)
    SNIPS  sum w_i r_i / sum w_i         self-normalised: a small bias, usually a smaller error
                                         (Swaminathan and Joachims 2015)

The effective sample size is (sum w_i)^2 / sum w_i^2 (Kish 1965). Without logged probabilities, the
logging policy is assumed to be uniform; `handful.evaluation.checks` tests this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from handful.evaluation.checks import of_an_evaluation
from handful.evaluation.intervals import (
    UNKNOWN,
    Numbers,
    ValueEstimate,
    bernstein_mean,
    normal_mean,
    weighted_mean,
)
from handful.evaluation.log import Log
from handful.evaluation.reading import LogLike, read_log
from handful.evaluation.targets import chosen_by


@dataclass(frozen=True)
class Evaluation:
    """The value of a target that does not learn, by inverse propensity scores."""

    target: str
    ips: ValueEstimate
    """With a normal interval."""
    snips: ValueEstimate
    """Self-normalised, with a normal interval by the delta method."""
    conservative: ValueEstimate
    """IPS with an empirical Bernstein bound, which holds for any number of rows."""
    rows: int
    sample: float
    """The effective sample size: how many rows with equal weights these are worth."""
    log: Log
    note: str = ""
    """Which arms these are, if the target does not say."""
    warnings: tuple[str, ...] = ()
    """What the log cannot tell of this target; those of the log itself are in `log.warnings`."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "target": self.target,
            "ips": self.ips.to_dict(),
            "snips": self.snips.to_dict(),
            "conservative": self.conservative.to_dict(),
            "rows": self.rows,
            "effective_sample_size": self.sample,
            "note": self.note,
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return "\n".join(
            [
                f"{self.target}{note}, from {self.rows:,} decisions worth {self.sample:,.0f}",
                f"  IPS: {self.ips}",
                f"  self-normalised: {self.snips}",
                f"  conservative: {self.conservative}",
                *(f"  warning: {text}" for text in (*self.log.warnings, *self.warnings)),
            ]
        )


def evaluate(log: LogLike, target: str = "uniform") -> Evaluation:
    """Estimate the mean reward of a target that does not learn, from a log of another policy.

    Args:
        log: a log as `read_log` takes it, or what that returns: there, columns can be named.
        target: "uniform"; "arm:LABEL"; "best:3", the three arms that were best in one half of the
            log, evaluated on the other half; or "recommended".
    """
    known = read_log(log)
    chosen = chosen_by(target, known)
    probability, rewards = chosen.probability[chosen.rows], known.reward[chosen.rows]
    allowed = ~np.isnan(probability)
    weights = probability[allowed] / known.logged[chosen.rows][allowed]
    rewards = rewards[allowed]
    outside = int((~allowed).sum())
    ips, snips, conservative = _estimates(weights, rewards)
    sample = _effective(weights)
    return Evaluation(
        target=str(target),
        ips=ips.scaled(*known.range),
        snips=snips.scaled(*known.range),
        conservative=conservative.scaled(*known.range),
        rows=len(weights),
        sample=sample,
        log=known,
        note=chosen.note,
        warnings=tuple(of_an_evaluation(weights, rewards, sample, outside, str(target))),
    )


def _estimates(weights: Numbers, rewards: Numbers) -> tuple[ValueEstimate, ...]:
    if _effective(weights) == 0.0:
        return UNKNOWN, UNKNOWN, UNKNOWN
    terms = weights * rewards
    return (
        normal_mean(terms),
        weighted_mean(weights, rewards),
        bernstein_mean(terms, float(weights.max())),
    )


def _effective(weights: Numbers) -> float:
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0
