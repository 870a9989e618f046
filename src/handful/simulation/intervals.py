"""Confidence intervals of means over runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import MissingExtraError


def half_width(per_run: NDArray[Any]) -> NDArray[np.float64]:
    """Return half a 95% interval of the mean over runs (first axis), by Student's t; 0 for one."""
    runs = len(per_run)
    if runs < 2:
        return np.zeros(per_run.shape[1:])
    try:
        from scipy.special import stdtrit
    except ImportError:
        raise MissingExtraError("a confidence interval", "scipy", "sim") from None
    half: NDArray[np.float64] = (
        stdtrit(runs - 1, 0.975) * per_run.std(axis=0, ddof=1) / np.sqrt(runs)
    )
    return half
