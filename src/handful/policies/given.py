"""Checks of what users give a policy, before any work: arms, seeds and tickets."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from handful.core.arms import FiniteArms
from handful.core.reservoir import Reservoir
from handful.core.rng import words
from handful.errors import SettingError, integer
from handful.policies.proposed import Proposed

if TYPE_CHECKING:
    from handful.policies.definition import Definition

ArmsLike: TypeAlias = FiniteArms | Reservoir | int | Iterable[Hashable] | Callable[[int], Hashable]
"""What users give as arms: see `Policy`."""


def arms_for(policy: type[Definition], arms: Any) -> FiniteArms | Reservoir:
    """Return the arms that a user gave, as the policy takes them."""
    if isinstance(arms, Proposed) and policy.recalls:
        raise SettingError(
            f"{policy.name} goes back to arms that have left memory, whose labels a proposer does "
            "not give again: take a policy that does not, such as race"
        )
    if policy.endless or (policy.any_arms and _has_no_end(arms)):
        return Reservoir.of(arms)
    if isinstance(arms, Reservoir):
        raise SettingError(
            f"{policy.name} is for finite sets of arms, and a reservoir is endless: take a policy "
            "for endless arms, such as qucb-m"
        )
    return FiniteArms.of(arms)


@contextmanager
def lent(policy: type[Definition], arms: Any) -> Iterator[FiniteArms | Reservoir]:
    """Yield the arms that a user gave for a policy to be made; if that fails, give them back.

    Otherwise the next policy would get a clone of them, and `arms.labels`, `arms.post` and the like
    of the object that the user has would not be those of the policy.
    """
    known = arms_for(policy, arms)
    try:
        yield known
    except BaseException:
        known.give_back()
        raise


def _has_no_end(arms: Any) -> bool:
    """Return whether only a reservoir can be made of this: of a function or an iterator."""
    if isinstance(arms, Reservoir | Iterator):
        return True
    return callable(arms) and not isinstance(arms, FiniteArms | Iterable)


def seed_word(seed: int | None) -> int:
    """Return the 64 bits that everything random in a policy follows from: its key."""
    if seed is None:
        return int.from_bytes(os.urandom(8), "little")
    return words("policy", integer("seed", seed), count=1)[0]


def whole_ticket(ticket: Any) -> int:
    """Return a ticket as an integer, or raise an error that says what to give."""
    hint = ": give decision.ticket"
    if isinstance(ticket, str | bytes):
        hint = ": give int(ticket)"
    try:
        return integer("ticket", ticket)
    except SettingError as error:
        raise SettingError(f"{error}{hint}") from None
