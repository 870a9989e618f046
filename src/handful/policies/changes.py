"""Adding and removing arms: how the record of a policy continues with another set of arms.

`handful.core.change` defines how arms are renumbered. The policy defines what becomes of its own
fields (`withdraw`, `resized`, `adopt`); otherwise it starts again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from handful.core.arms import FiniteArms, plain_label
from handful.core.change import as_record, changer, rename_removed, vacate, without_arms
from handful.core.reservoir import Reservoir
from handful.core.slots import slot_of
from handful.core.state import State
from handful.errors import SettingError, UnknownArmError
from handful.policies.definition import Definition


def listed(arms: FiniteArms | Reservoir) -> FiniteArms:
    """Return the arms of a policy if some can be added and removed."""
    if isinstance(arms, Reservoir):
        raise SettingError(
            "endless arms are not added or removed one by one: let the function or the iterator "
            "give other labels, or bar arms with decide(allowed=...)"
        )
    arms.listed()
    return arms


def new_labels(labels: Iterable[Hashable], arms: FiniteArms) -> list[Hashable]:
    """Return labels to add as a list; refuse those that are none, or are arms already."""
    given = list(labels) if isinstance(labels, list | tuple) else labels
    if isinstance(given, list) and not given:
        return []
    added = FiniteArms(given).listed()
    known = arms.indices_of(added)
    if known:
        raise SettingError(
            f"the label {arms.label(known[0])!r} already belongs to an arm: add other labels"
        )
    FiniteArms([*arms.listed(), *added])  # refuses labels such as True beside 1
    return added


def indices_to_remove(labels: Iterable[Hashable], arms: FiniteArms) -> list[int]:
    """Return the indices of the arms to remove; refuse labels of no arm, and all arms at once."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise SettingError(f"{labels!r} is not a list of labels: give [{labels!r}]")
    given = list(labels)
    try:
        found = arms.indices_of(given)
    except TypeError:
        raise SettingError(f"{given!r} contains a value that is not a label of an arm") from None
    if len(found) < len(given):
        seen: set[Hashable] = set()
        present = {arms.label(index) for index in found}
        for label in map(plain_label, given):
            if label not in present:
                raise UnknownArmError(f"there is no arm {label!r} to remove: see policy.arms")
            if label in seen:
                raise SettingError(f"the label {label!r} is given twice: give each arm once")
            seen.add(label)
    if len(found) == arms.n:
        raise SettingError(
            f"a policy needs at least one arm, and all {arms.n} would be removed: add others first"
        )
    return found


def changed(
    state: State,
    labels: list[Hashable],
    added: list[Hashable],
    removed: list[int],
    before: type[Definition],
    after: type[Definition],
    p: Any,
) -> State:
    """Return the record of a policy after some arms were added and others removed.

    The record and the list of labels are changed; p is for the new number of arms. The policy acts
    as `before`, and then as `after`.
    """
    n_arms = len(labels)
    # From the last index on, so that the order in which labels were given plays no part.
    removed = sorted(removed, reverse=True)
    for arm in removed:
        del labels[arm]
    labels += added
    if before is after:
        change_arms = changer(after.start, after.withdraw, after.resized, after.news_first)
        change_arms(state, removed, len(added), n_arms, p)
        return state
    for gone, arm in enumerate(removed):
        slot = slot_of(state, arm)
        rename_removed(state, arm, n_arms - gone)
        if slot >= 0:
            vacate(state, slot)
    state.news = state.news + len(added) if after.news_first else 0
    state = as_record(state, after.State)
    if state.held == 0 or not after.adopt(state, n_arms, p):
        state = without_arms(state, after.State)
        after.start(state, p)
    return state
