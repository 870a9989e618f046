"""Policies: when arms enter and leave memory. Each family has a file; the registry is here.

A new policy is one class and one line in `POLICIES`.
"""

from __future__ import annotations

from typing import Any

from handful.core.envelope import unseal
from handful.errors import SettingError, StateError, UnknownNameError
from handful.policies.air import UCBAIR
from handful.policies.base import Policy
from handful.policies.bounded import MOSSM, QMOSSM, QTSM, QUCBM, TSM, UCBM
from handful.policies.cbt import CBT
from handful.policies.constant_space import ConstantSpace
from handful.policies.cover import Cover
from handful.policies.forgetting import DiscountedThompson, SlidingWindowThompson
from handful.policies.game_of_coins import GameOfCoins
from handful.policies.given import ArmsLike
from handful.policies.mbse import MBSE
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
from handful.policies.moss_plus import MOSSPlus
from handful.policies.mpse import MPSE
from handful.policies.pekoz import PekozA, PekozB
from handful.policies.phased import PhasedPolicy, PooledPolicy
from handful.policies.proposed import Proposed
from handful.policies.proven_race import ProvenRace
from handful.policies.queued import QPMD
from handful.policies.race import Race
from handful.policies.random import RandomPolicy
from handful.policies.restarting import GLRKLUCB
from handful.policies.runs import (
    FixedRun,
    Herschkorn,
    KFailure,
    NonrecallingRun,
    Robbins,
    SqrtLogLearning,
    SqrtRun,
)
from handful.policies.single_pass import SinglePass
from handful.policies.subsampled import SubsampledGreedy
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
        ProvenRace,
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
        DiscountedThompson,
        SlidingWindowThompson,
        GLRKLUCB,
        QPMD,
        SubsampledGreedy,
        CBT,
        MOSSPlus,
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
        RandomPolicy,
    )
}

ALIASES = {
    "thompson": "ts",
    "thompson-m": "ts-m",
    "klucb": "kl-ucb",
    "klucbpp": "kl-ucbpp",
    "ucbv": "ucb-v",
    "kl-ucb-m": "klucb-m",
    "kl-ucbpp-m": "klucbpp-m",
    "kl-ucb++": "kl-ucbpp",
    "kl-ucb++-m": "klucbpp-m",
    "ucb-v-m": "ucbv-m",
    "qkl-ucb-m": "qklucb-m",
    "qkl-ucbpp-m": "qklucbpp-m",
    "qucb-v-m": "qucbv-m",
    "ucb": "ucb1",
    "moss++": "mosspp",
    "discounted-thompson": "discounted-ts",
    "sliding-window-thompson": "sliding-window-ts",
}
"""Other spellings of the names."""

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
    "Proposed",
    "Race",
    "from_bytes",
    "policy",
]


COUNTS = ("window", "clicks_only")
"""What any policy can be given besides its settings that is an integer."""


def policy_class(name: str) -> type[Policy]:
    """Return the policy of that name, in any case, or raise an error that lists the nearest."""
    plain = str(name).strip().lower()
    plain = ALIASES.get(plain, plain)
    try:
        return POLICIES[plain]
    except KeyError:
        raise UnknownNameError("policy", str(name), POLICIES) from None


def parse_name(text: str) -> tuple[type[Policy], dict[str, float]]:
    """Return the policy and the settings that a text such as "ucb-m:eta=0.2" names."""
    name, _, rest = str(text).partition(":")
    return policy_class(name), parse_settings(rest, text)


def parse_settings(text: str, whole: str) -> dict[str, float]:
    """Return the settings of a text such as "eta=0.2,horizon=1e6"; `whole` is for messages."""
    settings: dict[str, float] = {}
    for pair in filter(None, text.split(",")):
        key, _, value = pair.partition("=")
        try:
            settings[key.strip()] = float(value)
        except ValueError:
            raise SettingError(
                f"policy {whole!r}: {pair!r} is not of the form setting=number"
            ) from None
    return settings


def policy(name: str, arms: ArmsLike, memory: int | None = None, **settings: Any) -> Policy:
    """Return a policy by its name: `policy("ucb-m:eta=0.5", arms=creatives, memory=8)`."""
    cls, inline = parse_name(name)
    whole = {key: int(inline[key]) for key in COUNTS if inline.get(key, 0.5).is_integer()}
    return cls(arms, memory, **{**settings, **inline, **whole})


def from_bytes(blob: bytes, arms: ArmsLike) -> Policy:
    """Restore a policy of any kind that `to_bytes` saved; it continues exactly where it was."""
    name, _ = unseal(blob)
    if name not in POLICIES:
        raise StateError(
            f"this state belongs to a policy {name!r} that handful does not have: restore a policy "
            "of your own with its class's from_bytes"
        )
    return POLICIES[name].from_bytes(blob, arms)
