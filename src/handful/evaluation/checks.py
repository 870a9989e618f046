"""Warnings about what a log cannot tell: each check returns warnings, none raises an error.

Checks that are significance tests have a false-alarm rate of about `FALSE_ALARM`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc, ndtri

from handful.evaluation.intervals import Numbers
from handful.evaluation.log import Log

FALSE_ALARM = 1e-4
"""How often a check by a test of significance warns of a log that is as it should be.

With skewed weights it is more: 4e-4 if they are exponential.
"""
FEW_MATCHES = 100
"""Fewer matched rows say little of a policy that learns."""
SMALL_SAMPLE = 100
"""Of a smaller effective sample size, the normal intervals are too short."""
FEW_REWARDED = 10
"""Of fewer rows with a reward, the normal intervals are too short."""
FEW_A_CELL = 5
"""The chi-square test needs so many rows for each arm."""


def of_the_log(log: Log, left_out: Mapping[str, int], rows: int) -> Log:
    """Return the log with the warnings that hold for whatever is evaluated on it."""
    found = [
        f"{count:,} of {rows:,} decisions have {why} and are left out: estimates are right only if "
        "that has nothing to do with the arm or the reward"
        for why, count in left_out.items()
        if count
    ]
    if log.probability is None:
        found += _uneven(log)
    else:
        found += off_balance(log.weight_of_uniform(), "the arms of the log, chosen uniformly,")
    return replace(log, warnings=tuple(found))


def _uneven(log: Log) -> list[str]:
    """Warn if arms without probabilities are clearly not uniform, by a chi-square test."""
    counts = np.bincount(log.arm, minlength=log.n_arms)
    expected = len(log) / log.n_arms
    if log.n_arms < 2:
        return ["only one arm occurs in the log: there is nothing to compare"]
    if expected < FEW_A_CELL:
        return [
            f"there are no probabilities, and {len(log):,} rows are too few to see whether the "
            f"{log.n_arms:,} arms were chosen uniformly, which is assumed"
        ]
    statistic = float(((counts - expected) ** 2).sum() / expected)
    if float(chdtrc(log.n_arms - 1, statistic)) >= FALSE_ALARM:
        return []
    return [
        "there are no probabilities, and the arms were not chosen uniformly (from "
        f"{counts.min():,} to {counts.max():,} rows each): estimates are biased unless the reward "
        "has nothing to do with why an arm was chosen; log the probability of each decision"
    ]


def off_balance(weights: Numbers, what: str) -> list[str]:
    """Warn if the weights of a target are not 1 on average, as they are if probabilities are true.

    They are less where the target chooses arms that the log never or hardly ever does.
    """
    n, mean = len(weights), float(weights.mean())
    error = float(weights.std()) / math.sqrt(n)
    if abs(mean - 1.0) <= max(-float(ndtri(FALSE_ALARM / 2)) * error, 1e-6):
        return []
    return [
        f"{what} have an average weight of {mean:.3g} and not about 1: the probabilities are "
        "wrong, or the log hardly ever chose some of these arms"
    ]


def of_an_evaluation(
    weights: Numbers, rewards: Numbers, sample: float, outside: int, what: str
) -> list[str]:
    """Return what a log cannot tell of a target that does not learn."""
    found = []
    if outside:
        found.append(
            f"in {outside:,} decisions no arm of {what} was allowed: they are left out, and the "
            "value is that of the others"
        )
    if sample == 0.0:
        return [*found, f"the log has no row with an arm of {what}: its value is unknown"]
    found += off_balance(weights, f"the rows of {what}")
    if sample < SMALL_SAMPLE:
        found.append(
            f"the rows of {what} are worth {sample:.1f} rows with equal weights: the normal "
            "intervals are too short; the conservative one holds"
        )
    rewarded = int(((weights > 0.0) & (rewards > 0.0)).sum())
    if rewarded < FEW_REWARDED:
        found.append(
            f"fewer than {FEW_REWARDED} rows of {what} ({rewarded}) have a reward above the "
            "lowest: the normal intervals are too short; the conservative one holds"
        )
    return found


def of_a_replay(log: Log, matches: int, every_row: bool) -> list[str]:
    """Return what a log cannot tell of a policy that was replayed."""
    found = []
    if every_row and not log.is_uniform:
        found.append(
            "arms were not logged uniformly, and every row is accepted: the value is right only if "
            "the reward depends on the arm alone, and not on the time or the user"
        )
    if log.subsets:
        found.append(
            "some decisions allowed a subset of the arms: an arm is replayed on the decisions "
            "that allowed it, as if these were like the others"
        )
    if matches < FEW_MATCHES:
        found.append(
            f"fewer than {FEW_MATCHES} rows match ({matches}), which says little of a policy that "
            f"learns: {_more(log, every_row)}"
        )
    return found


def _more(log: Log, every_row: bool) -> str:
    """Say what would give more matches."""
    if every_row:
        return "give a longer log"
    rows = math.ceil(FEW_MATCHES / log.least_probability)
    more = f"give a log of about {rows:,} rows"
    if log.is_uniform:
        return more
    return f"{more}, or accept every row if the reward depends on the arm alone (--every-row)"
