"""Evaluation on logged decisions: what a policy would have earned, and where a log cannot tell.

`replay` runs a policy that learns on the rows of a log (Li et al. 2011). `evaluate` estimates the
value of a target that does not learn from a log with probabilities (inverse propensity scores).
`read_log` reads a log once for several evaluations.

The package is named `evaluation`, not `replay`, which would hide the function `handful.replay`.
"""

from __future__ import annotations

from handful.evaluation.estimators import Evaluation, evaluate
from handful.evaluation.intervals import ValueEstimate
from handful.evaluation.log import Log
from handful.evaluation.reading import Columns, read_log
from handful.evaluation.replaying import Replay, replay

__all__ = [
    "Columns",
    "Evaluation",
    "Log",
    "Replay",
    "ValueEstimate",
    "evaluate",
    "read_log",
    "replay",
]
