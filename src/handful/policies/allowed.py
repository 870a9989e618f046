"""Allowed arms of a decision: `policy.decide(allowed=...)`, the same for every policy.

The arm that the policy proposes is pulled if it is allowed. Otherwise another one stands in for it:

    in memory    the allowed arm with the highest mean, (sum + 1/2) / (pulls + 1); ties go to the
                 first slot
    a **guest**  if no arm in memory is allowed: any allowed arm, each with the same probability.
                 The policy may give it a slot (`Definition.admit_guest`); otherwise its reward is
                 forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

from handful.core.arms import FiniteArms, plain_label, refuse_frame, same_label
from handful.core.reservoir import Reservoir
from handful.core.rng import uniform
from handful.core.state import State
from handful.errors import ExhaustedError, SettingError

Allowed: TypeAlias = Iterable[Hashable] | Callable[[Any], object]
"""What users give as `allowed`: labels, or a predicate of a label."""

DRAWS = 64
"""Random draws before all arms are looked at."""
MOST_LOOKS = 2**20
"""If there are more arms than this, they are not all looked at."""
MOST_DRAWS = 2**16
"""Random draws where not all arms are looked at."""
LOOKS_AHEAD = 4096
"""The most endless arms that are looked at, from the last in memory on."""


class Permission:
    """Says of any label whether it is allowed."""

    def __init__(self, allowed: Any) -> None:
        self.labels: dict[Any, Any] | Collection[Any] | None = None
        refuse_frame(allowed, "allowed")
        if isinstance(allowed, set | frozenset | dict):
            self.labels = allowed
        elif callable(allowed) and not isinstance(allowed, Iterable):
            self._says = allowed
            return
        elif isinstance(allowed, str | bytes) or not isinstance(allowed, Iterable):
            raise SettingError(
                f"allowed={allowed!r} is neither a collection of labels nor a function of a label: "
                f"give [{allowed!r}] to allow one arm"
            )
        else:
            try:
                self.labels = {plain_label(label): label for label in allowed}
            except TypeError as error:
                raise SettingError(
                    f"allowed contains a value that is not a label of an arm: {error}"
                ) from None
        if not self.labels:
            raise SettingError("allowed is empty: allow at least one arm")
        self._says = self._listed

    def __call__(self, label: Any) -> bool:
        """Return whether an arm with this label is allowed."""
        return bool(self._says(label))

    def _listed(self, label: Any) -> bool:
        assert self.labels is not None
        if label not in self.labels:
            return False
        # True == 1 in Python, but they are not the same label.
        return label not in (0, 1) or any(same_label(label, each) for each in self.labels)


def stand_in(state: State, permitted: Callable[[int], bool]) -> int:
    """Return the slot of the allowed arm in memory with the highest mean; -1 if there is none."""
    best = -1
    highest = -1.0
    for slot in range(state.held):
        mean = (state.sums[slot] + 0.5) / (state.pulls[slot] + 1)
        if mean > highest and permitted(state.arm[slot]):
            best, highest = slot, mean
    return best


def drawn_guest(arms: FiniteArms | Reservoir, permission: Permission, state: State) -> int:
    """Return an allowed arm by index, drawn with the policy's generator.

    Of endless arms, which cannot be drawn from uniformly, it is the first allowed one after those
    that have come up.
    """
    if isinstance(arms, Reservoir):
        return _next_endless(arms, permission, state)
    if permission.labels is not None and not arms.is_made:
        among = arms.indices_of(permission.labels)
        if not among:
            raise SettingError(
                "no label in allowed belongs to an arm: give labels from policy.arms"
            )
        return among[_below(len(among), state)]
    for _ in range(DRAWS if arms.n <= MOST_LOOKS else MOST_DRAWS):
        arm = _below(arms.n, state)
        if permission(arms.label(arm)):
            return arm
    if arms.n <= MOST_LOOKS:
        among = [arm for arm in range(arms.n) if permission(arms.label(arm))]
        if among:
            return among[_below(len(among), state)]
        raise SettingError(f"none of the {arms.n} arms is allowed: allow at least one")
    raise SettingError(
        f"none of {MOST_DRAWS} arms drawn at random out of {arms.n} is allowed: allow more, or "
        "give labels instead of a function"
    )


def _next_endless(arms: Reservoir, permission: Permission, state: State) -> int:
    if arms.looks_ahead:
        first = max(state.arm[: state.held], default=-1) + 1
        with suppress(ExhaustedError):
            for arm in range(first, first + LOOKS_AHEAD):
                if permission(arms.label(arm)):
                    return arm
        raise SettingError(f"none of the next {LOOKS_AHEAD} endless arms is allowed: allow more")
    raise SettingError(
        "no arm in memory is allowed, and an iterator or a proposer cannot be searched for another "
        "one: allow an arm of policy.arms_in_memory, or give a function from index to label"
    )


def _below(n: int, state: State) -> int:
    """Return an index below n, each with the same probability."""
    return min(n - 1, int(uniform(state.rng) * n))
