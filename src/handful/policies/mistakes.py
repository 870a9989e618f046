"""What a wrong rule or policy of a user did, as an error: online and from every engine the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from handful.errors import RuleError

if TYPE_CHECKING:
    from handful.policies.definition import Definition

SHOWN = 8
"""Arms whose statistics a message has."""


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


def _statistics(arms: Iterable[tuple[int, float]]) -> str:
    return ", ".join(f"(n={n}, s={s:g})" for n, s in list(arms)[:SHOWN])
