"""The paper's own policies: Algorithm 1, Algorithm 2, and three allocation rules for each.

UCB-M, TS-M and MOSS-M are for finite sets, QUCB-M, QTS-M and QMoss-M for endless arms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from handful.policies.given import ArmsLike
from handful.policies.phased import PhasedPolicy, PooledPolicy
from handful.policies.settings import Setting, whole_setting
from handful.rules import MOSS, THOMPSON, UCB1

ETA = Setting(1.0, "scale of the exploration bonus", lambda x: x >= 0.0, "eta >= 0")
HORIZON = whole_setting(math.nan, "total pulls; used only if all arms fit in memory", "T")
ALPHA = Setting(
    0.347, "the pool grows like pulls^alpha", lambda x: 0.0 < x < 1.0, "alpha between 0 and 1"
)


class UCBM(PhasedPolicy):
    """UCB-M: Algorithm 1 with UCB1.

    >>> policy = UCBM(arms=["red", "green", "blue"], memory=2, seed=1)
    >>> for _ in range(100):
    ...     arm = policy.select()
    ...     policy.update(arm, 1.0 if arm == "blue" else 0.0)
    >>> policy.recommend()
    'blue'
    """

    name = "ucb-m"
    title = "UCB-M"
    summary = "Algorithm 1 with UCB1; eta scales its exploration"
    rule = UCB1
    settings: ClassVar[Mapping[str, Setting]] = {"eta": ETA}

    def __init__(
        self,
        arms: ArmsLike,
        memory: int | None = None,
        *,
        eta: float = 1.0,
        seed: int | None = None,
        rescale: tuple[float, float] | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__(arms, memory, seed=seed, rescale=rescale, eta=eta, **unknown)


class TSM(PhasedPolicy):
    """TS-M: Algorithm 1 with Thompson sampling."""

    name = "ts-m"
    title = "TS-M"
    summary = "Algorithm 1 with Thompson sampling"
    rule = THOMPSON


class MOSSM(PhasedPolicy):
    """MOSS-M: Algorithm 1 with MOSS.

    `horizon` matters only when all arms fit in memory, where MOSS needs it; without it, the number
    of pulls so far stands in for it.
    """

    name = "moss-m"
    title = "MOSS-M"
    summary = "Algorithm 1 with MOSS"
    rule = MOSS
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": HORIZON}

    def __init__(
        self,
        arms: ArmsLike,
        memory: int | None = None,
        *,
        horizon: int | None = None,
        seed: int | None = None,
        rescale: tuple[float, float] | None = None,
        **unknown: Any,
    ) -> None:
        given = {} if horizon is None else {"horizon": horizon}
        super().__init__(arms, memory, seed=seed, rescale=rescale, **given, **unknown)


class QUCBM(PooledPolicy):
    """QUCB-M: Algorithm 2 around UCB-M.

    >>> policy = QUCBM(arms=lambda i: f"prompt {i}", memory=4, seed=1)
    >>> policy.select().startswith("prompt")
    True
    """

    name = "qucb-m"
    title = "QUCB-M"
    summary = "Algorithm 2 around UCB-M, for endless arms"
    rule = UCB1
    settings: ClassVar[Mapping[str, Setting]] = {"alpha": ALPHA, "eta": ETA}


class QTSM(PooledPolicy):
    """QTS-M: Algorithm 2 around TS-M."""

    name = "qts-m"
    title = "QTS-M"
    summary = "Algorithm 2 around TS-M, for endless arms"
    rule = THOMPSON
    settings: ClassVar[Mapping[str, Setting]] = {"alpha": ALPHA}


class QMOSSM(PooledPolicy):
    """QMoss-M: Algorithm 2 around MOSS-M."""

    name = "qmoss-m"
    title = "QMoss-M"
    summary = "Algorithm 2 around MOSS-M, for endless arms"
    rule = MOSS
    settings: ClassVar[Mapping[str, Setting]] = {"alpha": ALPHA}
