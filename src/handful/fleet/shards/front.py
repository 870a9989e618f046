"""The front of a sharded fleet: it checks calls, splits them by shard, and joins the answers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import ShardLostError, StoreError
from handful.fleet.fleet import Codes
from handful.fleet.kernels.bulk import COUNTS
from handful.fleet.members import Ids
from handful.fleet.shards.log import Arrays
from handful.fleet.shards.router import Outcome, Router
from handful.fleet.shards.shard import ShardFleet


class Front(ShardFleet):
    """A fleet without members of its own: calls are checked here, and served by shards."""

    router: Router
    interrupted = False
    """Whether a change of the arms has reached some shards only."""
    size: int
    """Members of a shard; the last one may have others."""

    def _cut(self, rows: Ids) -> tuple[Ids | None, dict[int, slice]]:
        """Return the order that puts ids of a shard side by side, and where each shard's are."""
        last = len(self.router.shards) - 1
        shard = np.minimum(rows // self.size, last).astype(np.int16)
        if not len(rows):
            return None, {}
        if shard[0] == shard[-1] and (shard == shard[0]).all():
            return None, {int(shard[0]): slice(0, len(rows))}
        ends = np.cumsum(np.bincount(shard, minlength=last + 1))
        starts = np.concatenate([[0], ends[:-1]])
        named = np.flatnonzero(ends > starts).tolist()
        order = np.argsort(shard, kind="stable")
        return order, {k: slice(int(starts[k]), int(ends[k])) for k in named}

    def _routed(
        self, operation: str, rows: Ids, *columns: NDArray[Any], blank: tuple[NDArray[Any], ...],
        reading: Arrays | None = None,
    ) -> tuple[NDArray[Any], ...]:  # fmt: skip
        """Serve a call with an element for each id; the answer has the forms of `blank`."""
        self._check_open()
        order, places = self._cut(rows)
        given = [rows, *columns]
        if order is not None:
            given = [column[order] for column in given]
        parts = {}
        for shard, place in places.items():
            mine, *others = (column[place] for column in given)
            parts[shard] = (mine - shard * self.size, *others, *(reading or ()))
        ask = self.router.call if reading is None else self.router.read
        outcome = ask(operation, parts)
        answer = tuple(np.empty((len(rows), *one.shape[1:]), one.dtype) for one in blank)
        served = np.zeros(len(rows), np.bool_)
        for shard, value in outcome.values.items():
            where = places[shard] if order is None else order[places[shard]]
            served[where] = True
            values = value if isinstance(value, tuple) else (value,)
            for into, column in zip(answer, values, strict=True):
                if len(column):  # nothing was counted otherwise
                    into[where] = column
        raise_unless_done(outcome, served, tuple(column[served] for column in answer))
        return answer

    def _decide(self, rows: Ids) -> tuple[Ids, Ids]:
        none = np.empty(0, np.int64)
        arms, tickets = self._routed("decide", rows, blank=(none, none))
        return arms, tickets

    def _reward(self, rows: Ids, tickets: Ids, rewards: NDArray[np.float64]) -> Codes:
        return self._routed("reward", rows, tickets, rewards, blank=(np.empty(0, np.uint8),))[0]

    def _look(self, rows: Ids, counting: bool) -> tuple[Any, ...]:
        slots = self._shared.layout.memory
        wide = np.empty((0, slots), np.int64)
        counts = np.empty((0, len(COUNTS)), np.int64)
        blank = (np.empty(0, np.int64), counts, wide, wide, np.empty((0, slots)))
        return self._routed("look", rows, blank=blank, reading=(np.array([counting]),))

    def _change(self, added: list[Hashable], removed: list[int]) -> None:
        if not added and not removed:
            return
        self._check_open()
        before, after = self._shared, self._shared.other_arms(added, removed)
        self.router.set_arms(after.model.arms, before.model.arms)
        self.interrupted = True
        part: Any = (added, removed)
        outcome = self.router.call("change", dict.fromkeys(self.router.shards, part))
        if outcome.gone:
            # These shards went back to a save, and must have the same arms as the others.
            again = self.router.call("change", dict.fromkeys(outcome.gone, part))
            outcome.refused |= again.refused
            outcome.gone |= again.gone
        if outcome.refused:
            if len(outcome.refused) == len(self.router.shards):  # none was changed
                self.interrupted = False
                self.router.set_arms(before.model.arms)
            raise_unless_done(outcome)
        self.interrupted = False
        self.router.set_arms(after.model.arms)
        self._shared = after
        self._label_array = None
        raise_unless_done(outcome)

    def _check_open(self) -> None:
        if not hasattr(self, "router"):
            raise StoreError("the fleet was closed: open it again with ShardedFleet.open")
        if self.interrupted:
            raise StoreError(
                "a change of the arms was interrupted: close the fleet, and open it again with "
                "ShardedFleet.open(..., arms=those after the change, before=those before it)"
            )

    def place(self, member: Any) -> tuple[int, NDArray[np.int64]]:
        """Return the shard of a member, and the member as an array for a call."""
        row = int(self._ids.rows([member])[0])
        return min(row // self.size, len(self.router.shards) - 1), np.array([row])


def raise_unless_done(outcome: Outcome, served: Any = None, answer: Any = None) -> None:
    """Raise the error of a call that some shards have lost or refused."""
    if outcome.gone:
        which = ", ".join(f"{shard} ({calls} calls)" for shard, calls in outcome.gone.items())
        raise ShardLostError(
            f"workers were lost, and their shards went back to their last save. Shards, and how "
            f"many calls of each are gone: {which}. Discard the tickets of these calls: "
            "their members will give the same tickets again. This call was served by the other "
            "shards only; durable=True would have lost none",
            outcome.gone, served, answer,
        )  # fmt: skip
    for error in outcome.refused.values():
        raise error
