"""Targets that do not learn: which arm they would choose in each row of a log.

    uniform       each arm with the same probability
    arm:LABEL     always this arm
    best:K        uniform among the K arms that were best in the even rows, on the odd rows
    recommended   the arm that the logging policy recommended at the time

Where a decision allowed a subset of the arms only, a target chooses among its arms in the subset.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from handful.errors import SettingError, UnknownNameError, shortened
from handful.evaluation.intervals import Numbers
from handful.evaluation.log import Log

FORMS = "uniform, arm:LABEL, best:K or recommended"


class Chosen(NamedTuple):
    """The probability of the logged arm under a target, by row, and what else its value needs."""

    probability: Numbers
    """NaN where no arm of the target was allowed."""
    rows: slice = slice(None)
    """The rows to evaluate on."""
    note: str = ""
    """Which arms these are, if the target does not say."""


def chosen_by(target: str, log: Log) -> Chosen:
    """Return what a target chooses in a log, or raise an error that says what is wrong with it."""
    kind, colon, rest = str(target).partition(":")
    if kind == "arm" and colon:
        return Chosen(_shared(_only(_place(rest, log), log), log))
    if kind == "best" and colon:
        return _best(rest, log)
    if target == "uniform":
        return Chosen(_shared(np.ones(log.n_arms), log))
    if target == "recommended":
        return Chosen(_recommended(log))
    raise SettingError(f"target={target!r} is not a target: give {FORMS}")


def _shared(among: NDArray[Any], log: Log) -> Numbers:
    """Return the probability of the logged arm, by row, if one of `among` is chosen uniformly."""
    sizes = np.array([*(among[each].sum() for each in log.subsets), among.sum()], dtype=np.float64)
    sizes[sizes == 0.0] = np.nan
    return np.asarray(among[log.arm] / sizes[log.subset], dtype=np.float64)


def _only(arm: int, log: Log) -> Numbers:
    among = np.zeros(log.n_arms)
    among[arm] = 1.0
    return among


def _place(text: str, log: Log) -> int:
    """Return the place of an arm whose label is written so."""
    written = [str(label) for label in log.labels]
    if text not in written:
        raise UnknownNameError("arm in this log", text, written[:1000])
    return written.index(text)


def _best(text: str, log: Log) -> Chosen:
    if not text.isdigit() or not 1 <= int(text) <= log.n_arms:
        raise SettingError(
            f"target='best:{text}': give from 1 to {log.n_arms} arms, such as best:1"
        )
    arm, reward, weight = log.arm[::2], log.reward[::2], 1.0 / log.logged[::2]
    total = np.bincount(arm, weight, minlength=log.n_arms)
    sums = np.bincount(arm, weight * reward, minlength=log.n_arms)
    means = np.where(total > 0.0, sums / np.maximum(total, 1e-300), -1.0)
    best = np.argsort(-means, kind="stable")[: int(text)]
    among = np.zeros(log.n_arms)
    among[best] = 1.0
    names = shortened(", ".join(str(log.labels[arm]) for arm in best))
    note = f"chosen by the even rows and evaluated on the odd ones: {names}"
    return Chosen(_shared(among, log), slice(1, None, 2), note)


def _recommended(log: Log) -> Numbers:
    if log.recommended is None:
        raise SettingError(
            "target='recommended' needs a column 'recommended', the arm that was recommended when "
            "the decision was made: give arm:LABEL"
        )
    probability: Numbers = (log.arm == log.recommended).astype(np.float64)
    for number, allowed in enumerate(log.subsets):
        barred = (log.subset == number) & ~np.isin(log.recommended, allowed)
        probability[barred] = np.nan
    return probability
