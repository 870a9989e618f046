"""Algorithms 1 and 2 with allocation rules that are stronger than the paper's.

    klucb-m         qklucb-m          KL-UCB
    klucbpp-m       qklucbpp-m        kl-UCB++, horizon the sub-phase's budget
    imed-m          qimed-m           IMED
    moss-anytime-m  qmoss-anytime-m   MOSS with the time in place of the horizon
    ucbv-m          qucbv-m           UCB-V

The schedule is the paper's; each rule is defined in its file in `rules/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from handful.policies.bounded import ALPHA, HORIZON
from handful.policies.phased import PhasedPolicy, PooledPolicy
from handful.policies.settings import Setting
from handful.rules import IMED, KL_UCB, KL_UCBPP, MOSS_ANYTIME, UCB_V

KL_UCB_BY = "Garivier and Cappe, COLT 2011"
KL_UCBPP_BY = "Menard and Garivier, ALT 2017"
IMED_BY = "Honda and Takemura, JMLR 16, 2015"
MOSS_ANYTIME_BY = "Degenne and Perchet, ICML 2016"
UCB_V_BY = "Audibert, Munos and Szepesvari, Theoretical Computer Science 410, 2009"


class KLUCBM(PhasedPolicy):
    """Algorithm 1 with KL-UCB."""

    name = "klucb-m"
    title = "KL-UCB-M"
    summary = "Algorithm 1 with KL-UCB"
    citation = KL_UCB_BY
    rule = KL_UCB


class KLUCBPPM(PhasedPolicy):
    """Algorithm 1 with kl-UCB++; `horizon` matters only when all arms fit in memory."""

    name = "klucbpp-m"
    title = "kl-UCB++-M"
    summary = "Algorithm 1 with kl-UCB++"
    citation = KL_UCBPP_BY
    rule = KL_UCBPP
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": HORIZON}


class IMEDM(PhasedPolicy):
    """Algorithm 1 with IMED."""

    name = "imed-m"
    title = "IMED-M"
    summary = "Algorithm 1 with IMED"
    citation = IMED_BY
    rule = IMED


class MOSSAnytimeM(PhasedPolicy):
    """Algorithm 1 with MOSS-anytime."""

    name = "moss-anytime-m"
    title = "MOSS-anytime-M"
    summary = "Algorithm 1 with MOSS-anytime"
    citation = MOSS_ANYTIME_BY
    rule = MOSS_ANYTIME


class UCBVM(PhasedPolicy):
    """Algorithm 1 with UCB-V."""

    name = "ucbv-m"
    title = "UCB-V-M"
    summary = "Algorithm 1 with UCB-V"
    citation = UCB_V_BY
    rule = UCB_V


class QKLUCBM(PooledPolicy):
    """Algorithm 2 around `klucb-m`."""

    name = "qklucb-m"
    title = "QKL-UCB-M"
    summary = "Algorithm 2 around klucb-m, for endless arms"
    citation = KL_UCB_BY
    rule = KL_UCB
    settings: ClassVar[Mapping[str, Setting]] = {"alpha": ALPHA}


class QKLUCBPPM(PooledPolicy):
    """Algorithm 2 around `klucbpp-m`."""

    name = "qklucbpp-m"
    title = "Qkl-UCB++-M"
    summary = "Algorithm 2 around klucbpp-m, for endless arms"
    citation = KL_UCBPP_BY
    rule = KL_UCBPP
    settings: ClassVar[Mapping[str, Setting]] = {"alpha": ALPHA}


class QIMEDM(PooledPolicy):
    """Algorithm 2 around `imed-m`."""

    name = "qimed-m"
    title = "QIMED-M"
    summary = "Algorithm 2 around imed-m, for endless arms"
    citation = IMED_BY
    rule = IMED
    settings: ClassVar[Mapping[str, Setting]] = {"alpha": ALPHA}


class QMOSSAnytimeM(PooledPolicy):
    """Algorithm 2 around `moss-anytime-m`."""

    name = "qmoss-anytime-m"
    title = "QMOSS-anytime-M"
    summary = "Algorithm 2 around moss-anytime-m, for endless arms"
    citation = MOSS_ANYTIME_BY
    rule = MOSS_ANYTIME
    settings: ClassVar[Mapping[str, Setting]] = {"alpha": ALPHA}


class QUCBVM(PooledPolicy):
    """Algorithm 2 around `ucbv-m`."""

    name = "qucbv-m"
    title = "QUCB-V-M"
    summary = "Algorithm 2 around ucbv-m, for endless arms"
    citation = UCB_V_BY
    rule = UCB_V
    settings: ClassVar[Mapping[str, Setting]] = {"alpha": ALPHA}
