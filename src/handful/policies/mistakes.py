"""Errors for mistakes of users, rules and policies.

Wrong rules and policies raise the same errors online and in every engine.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from handful.errors import ForgottenArmError, RuleError, UnknownArmError

if TYPE_CHECKING:
    from handful.policies.definition import Definition

SHOWN = 8
"""The most arms that a message names."""


def wrong_slot(policy: type[Definition], decisions: int, slot: Any, held: int) -> RuleError:
    """Return the error of a policy that proposed a slot that is not in use."""
    used = f"slots 0 to {held - 1} are in use" if held else "no slot is in use"
    return RuleError(
        f"{policy.name} proposed slot {slot} after {decisions} decisions, and {used}: admit an arm "
        "to a slot before it is pulled"
    )


def wrong_arm(policy: type[Definition], decisions: int, arm: int, n_arms: int) -> RuleError:
    """Return the error of a policy that proposed an arm that does not exist."""
    return RuleError(
        f"{policy.name} proposed arm {arm} after {decisions} decisions, and the arms are 0 to "
        f"{n_arms - 1}: admit an arm of that range"
    )


def no_score(
    policy: type[Definition], decisions: int, arms: Iterable[tuple[int, float]]
) -> RuleError:
    """Return the error of a rule with a score that is NaN, given n and s of the arms in memory."""
    return RuleError(
        f"{policy.name} found no score that is a number among arms with {_statistics(arms)} after "
        f"{decisions} decisions: a score is a number for every n >= 1"
    )


def not_in_memory(arm: object, held: list[Any], known: bool | None) -> LookupError:
    """Return the error of an update for an arm that has no statistics now.

    `held` are the labels in memory; `known` says whether this is an arm; None if that is unknown.
    """
    shown = ", ".join(reprlib.repr(label) for label in held[:SHOWN])
    if known is False:
        return UnknownArmError(
            f"arm {reprlib.repr(arm)} was never given; the arms in memory are {shown}: give "
            "the label that select() returned"
        )
    return ForgottenArmError(
        f"arm {reprlib.repr(arm)} is not in memory now (it holds {shown}), so its reward "
        "cannot be credited: reward an arm while it is in memory, or drop late rewards"
        + ("" if known else " (labels are not listed: whether this is an arm is not known)")
    )


def _statistics(arms: Iterable[tuple[int, float]]) -> str:
    return ", ".join(f"(n={n}, s={s:g})" for n, s in list(arms)[:SHOWN])
