"""References without a memory bound: statistics of every arm, M = K.

UCB1, Thompson sampling, MOSS, MOSS-anytime, KL-UCB, kl-UCB++, IMED and UCB-V on a finite set;
UCB-MPA, which is UCB1 with the most played arm as its recommendation (Bubeck, Munos and Stoltz, ALT
2009), the forecaster inside UCB-M; and QRM2 on endless arms (Roy Chaudhuri and Kalyanakrishnan,
"Quantile-regret minimisation in infinitely many-armed bandits", UAI 2018): rounds of t_r = 2^r
pulls of fresh MOSS on the first ceil(t_r^0.347) arms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from handful.policies.bounded import ALPHA, ETA, HORIZON
from handful.policies.modern import IMED_BY, KL_UCB_BY, KL_UCBPP_BY, MOSS_ANYTIME_BY, UCB_V_BY
from handful.policies.phased import PhasedPolicy, PooledPolicy
from handful.policies.settings import Setting
from handful.rules import IMED, KL_UCB, KL_UCBPP, MOSS, MOSS_ANYTIME, THOMPSON, UCB1, UCB_V


class UCB1Policy(PhasedPolicy):
    """UCB1 on all arms."""

    name = "ucb1"
    title = "UCB1"
    summary = "UCB1 on all arms"
    citation = "Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002"
    unbounded = True
    rule = UCB1
    settings: ClassVar[Mapping[str, Setting]] = {"eta": ETA}


class UCBMPAPolicy(UCB1Policy):
    """UCB-MPA: UCB1, recommending the most played arm."""

    name = "ucb-mpa"
    title = "UCB-MPA"
    summary = "UCB1 on all arms, recommending the most played: the forecaster inside UCB-M"
    citation = "Bubeck, Munos and Stoltz, ALT 2009"


class ThompsonPolicy(PhasedPolicy):
    """Thompson sampling on all arms."""

    name = "ts"
    title = "Thompson"
    summary = "Thompson sampling on all arms"
    citation = "Agrawal and Goyal, AISTATS 2013"
    unbounded = True
    rule = THOMPSON


class MOSSPolicy(PhasedPolicy):
    """MOSS on all arms."""

    name = "moss"
    title = "MOSS"
    summary = "MOSS on all arms"
    citation = "Audibert and Bubeck, COLT 2009"
    unbounded = True
    rule = MOSS
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": HORIZON}


class KLUCBPolicy(PhasedPolicy):
    """KL-UCB on all arms."""

    name = "kl-ucb"
    title = "KL-UCB"
    summary = "KL-UCB on all arms"
    citation = KL_UCB_BY
    unbounded = True
    rule = KL_UCB


class IMEDPolicy(PhasedPolicy):
    """IMED on all arms."""

    name = "imed"
    title = "IMED"
    summary = "IMED on all arms"
    citation = IMED_BY
    unbounded = True
    rule = IMED


class MOSSAnytimePolicy(PhasedPolicy):
    """MOSS-anytime on all arms."""

    name = "moss-anytime"
    title = "MOSS-anytime"
    summary = "MOSS-anytime on all arms"
    citation = MOSS_ANYTIME_BY
    unbounded = True
    rule = MOSS_ANYTIME


class KLUCBPPPolicy(PhasedPolicy):
    """kl-UCB++ on all arms."""

    name = "kl-ucbpp"
    title = "kl-UCB++"
    summary = "kl-UCB++ on all arms"
    citation = KL_UCBPP_BY
    unbounded = True
    rule = KL_UCBPP
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": HORIZON}


class UCBVPolicy(PhasedPolicy):
    """UCB-V on all arms."""

    name = "ucb-v"
    title = "UCB-V"
    summary = "UCB-V on all arms"
    citation = UCB_V_BY
    unbounded = True
    rule = UCB_V


class QRM2(PooledPolicy):
    """QRM2: rounds of MOSS on a growing pool, statistics of all of it."""

    name = "qrm2"
    title = "QRM2"
    summary = "rounds of MOSS on a growing pool of endless arms"
    citation = "Roy Chaudhuri and Kalyanakrishnan, UAI 2018"
    unbounded = True
    rule = MOSS
    settings: ClassVar[Mapping[str, Setting]] = {"alpha": ALPHA}

    @classmethod
    def round_shape(cls, memory: int, values: dict[str, float]) -> tuple[float, float]:
        """Return the shape of rounds of 2^r pulls."""
        return 1.0, values["alpha"]
