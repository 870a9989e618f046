"""Policies: when arms enter and leave memory. One family a file; the registry is here.

A new policy is one class and one line in `POLICIES`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from handful.arms import FiniteArms
from handful.errors import StateError, UnknownNameError
from handful.policies.base import Policy
from handful.policies.phased import MOSSM, TSM, UCBM, PhasedPolicy
from handful.policies.state import unseal

POLICIES: dict[str, type[Policy]] = {
    cls.name: cls
    for cls in (
        UCBM,
        TSM,
        MOSSM,
    )
}

__all__ = ["MOSSM", "POLICIES", "TSM", "UCBM", "PhasedPolicy", "Policy", "from_bytes", "policy"]


def policy_class(name: str) -> type[Policy]:
    """The policy of that name, or an error that names the nearest ones."""
    try:
        return POLICIES[name]
    except (KeyError, TypeError):
        raise UnknownNameError("policy", str(name), POLICIES) from None


def policy(
    name: str, arms: FiniteArms | int | Iterable[Hashable], memory: int, **settings: Any
) -> Policy:
    """A policy by its name: `policy("ucb-m", arms=creatives, memory=8, eta=0.5)`."""
    return policy_class(name)(arms, memory, **settings)


def from_bytes(blob: bytes, arms: FiniteArms | int | Iterable[Hashable]) -> Policy:
    """The policy that `to_bytes` saved, of whatever kind; it goes on exactly where it was."""
    name, _ = unseal(blob)
    if name not in POLICIES:
        raise StateError(
            f"this state belongs to a policy {name!r} that handful does not have: restore a policy "
            "of your own with its class's from_bytes"
        )
    return POLICIES[name].from_bytes(blob, arms)
