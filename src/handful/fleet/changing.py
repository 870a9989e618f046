"""A change of the arms of a whole fleet: every member that has begun follows its policy's rule.

A kernel changes the records. If the policy acts as another one from then on (`stands_for`), as Race
does when all arms fit in memory, its record is of another class, and Python changes one member
after the other.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from handful.errors import HandfulError
from handful.fleet.kernels.bulk import kernels_of
from handful.fleet.kernels.members import SHIFT, desk_for
from handful.fleet.layout import NOT_BEGUN
from handful.fleet.members import Members, blocks_of
from handful.fleet.shared import Shared
from handful.policies.changes import changed


def converted(
    members: Members, before: Shared, after: Shared, added: list[Any], removed: list[int],
    threads: int,
) -> Members:  # fmt: skip
    """Return the members after a change of the arms.

    They are new members, so that an error leaves the old ones as they were.
    """
    made = Members(after.layout, members.count, members.first_seed)
    made.dirty[:] = 1
    if before.acts_as is not after.acts_as:
        _one_by_one(members, made, before, after, added, removed)
        return made
    waiting = np.flatnonzero(members.rows[: members.count, 0] == NOT_BEGUN)
    step = 1 << 16
    for at in range(0, len(waiting), step):  # seeds of those that have not begun
        some = waiting[at : at + step]
        made.rows[some, 1:9] = members.rows[some, 1:9]
    kernel = kernels_of(after.acts_as).change_arms
    gone = np.array(sorted(removed, reverse=True), np.int64)
    blocks = blocks_of(members.count)
    source = members.seen

    def change(part: int, parts: int, desk: Any) -> int:
        first = (blocks * part // parts) << SHIFT
        last = min(members.count, (blocks * (part + 1) // parts) << SHIFT)
        # The desk must hold what there was and what there will be.
        size = max(before.layout.memory, after.layout.memory)
        roomy = desk_for(after.layout, desk.spare, size)._replace(at=desk.at)
        target = made.seen
        return kernel(first, last, after.p, source, target, roomy, gone, len(added), before.n_arms)

    made.run(members.count, threads, change)
    return made


def _one_by_one(
    members: Members, made: Members, before: Shared, after: Shared, added: list[Any],
    removed: list[int],
) -> None:  # fmt: skip
    for row in range(members.count):
        state = members.state(row)
        if state is None:
            made.set_word(row, members.word(row))
            continue
        state.capacity = max(after.layout.memory, state.held)
        labels: list[Hashable] = list(range(before.n_arms))
        try:
            state = changed(
                state, labels, list(added), removed, before.acts_as, after.acts_as, after.p
            )
        except HandfulError as error:
            error.add_note(f"while row {row} of the fleet was changed")
            raise
        made.put(row, state)
