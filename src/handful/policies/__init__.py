"""Policies: when arms enter and leave memory. One family a file; the registry is here.

A new policy is one class and one line in `POLICIES`.
"""

from __future__ import annotations

from typing import Any

from handful.errors import StateError, UnknownNameError
from handful.policies.air import UCBAIR
from handful.policies.base import ArmsLike, Policy
from handful.policies.bounded import MOSSM, QMOSSM, QTSM, QUCBM, TSM, UCBM
from handful.policies.constant_space import ConstantSpace
from handful.policies.cover import Cover
from handful.policies.modern import (
    IMEDM,
    KLUCBM,
    KLUCBPPM,
    QIMEDM,
    QKLUCBM,
    QKLUCBPPM,
    QUCBVM,
    UCBVM,
    MOSSAnytimeM,
    QMOSSAnytimeM,
)
from handful.policies.pekoz import PekozA, PekozB
from handful.policies.phased import PhasedPolicy, PooledPolicy
from handful.policies.race import Race
from handful.policies.runs import (
    FixedRun,
    Herschkorn,
    KFailure,
    NonrecallingRun,
    Robbins,
    SqrtLogLearning,
    SqrtRun,
)
from handful.policies.state import unseal
from handful.policies.streaming import MBSE, MPSE, GameOfCoins, SinglePass
from handful.policies.tabulated import SqrtLogTabulated, SqrtRunTabulated
from handful.policies.two_target import TwoTarget
from handful.policies.unbounded import (
    QRM2,
    IMEDPolicy,
    KLUCBPolicy,
    KLUCBPPPolicy,
    MOSSAnytimePolicy,
    MOSSPolicy,
    ThompsonPolicy,
    UCB1Policy,
    UCBMPAPolicy,
    UCBVPolicy,
)

POLICIES: dict[str, type[Policy]] = {
    cls.name: cls
    for cls in (
        Race,
        UCBM,
        TSM,
        MOSSM,
        QUCBM,
        QTSM,
        QMOSSM,
        KLUCBM,
        KLUCBPPM,
        IMEDM,
        MOSSAnytimeM,
        UCBVM,
        QKLUCBM,
        QKLUCBPPM,
        QIMEDM,
        QMOSSAnytimeM,
        QUCBVM,
        UCB1Policy,
        UCBMPAPolicy,
        ThompsonPolicy,
        MOSSPolicy,
        MOSSAnytimePolicy,
        KLUCBPolicy,
        KLUCBPPPolicy,
        IMEDPolicy,
        UCBVPolicy,
        QRM2,
        UCBAIR,
        Herschkorn,
        FixedRun,
        Robbins,
        KFailure,
        NonrecallingRun,
        SqrtRun,
        SqrtLogLearning,
        SqrtRunTabulated,
        SqrtLogTabulated,
        ConstantSpace,
        Cover,
        PekozA,
        PekozB,
        TwoTarget,
        SinglePass,
        MPSE,
        MBSE,
        GameOfCoins,
    )
}

__all__ = [
    "MOSSM",
    "POLICIES",
    "QMOSSM",
    "QTSM",
    "QUCBM",
    "TSM",
    "UCBM",
    "PhasedPolicy",
    "Policy",
    "PooledPolicy",
    "Race",
    "from_bytes",
    "policy",
]


def policy_class(name: str) -> type[Policy]:
    """The policy of that name, UCB-M as well as ucb-m, or an error that names the nearest ones."""
    try:
        return POLICIES[str(name).lower()]
    except KeyError:
        raise UnknownNameError("policy", str(name), POLICIES) from None


def policy(name: str, arms: ArmsLike, memory: int | None = None, **settings: Any) -> Policy:
    """A policy by its name: `policy("ucb-m", arms=creatives, memory=8, eta=0.5)`."""
    return policy_class(name)(arms, memory, **settings)


def from_bytes(blob: bytes, arms: ArmsLike) -> Policy:
    """The policy that `to_bytes` saved, of whatever kind; it goes on exactly where it was."""
    name, _ = unseal(blob)
    if name not in POLICIES:
        raise StateError(
            f"this state belongs to a policy {name!r} that handful does not have: restore a policy "
            "of your own with its class's from_bytes"
        )
    return POLICIES[name].from_bytes(blob, arms)
