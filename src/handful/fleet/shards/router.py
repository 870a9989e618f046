"""Calls to shards: each has a number and a token, and is sent again if its worker was lost.

The router counts the calls that a shard has answered. A restored shard reports the last call that
it contains. If none is missing, the current call is sent again: a shard that has served it already
recognises it by its number and its token, and repeats its reply. If some are missing, the caller
gets a `ShardLostError`, and the shard continues from its save.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from secrets import randbits
from typing import Any

from handful import errors
from handful.errors import ClusterError, HandfulError
from handful.fleet.shards.log import Arrays
from handful.fleet.shards.messages import DONE, FAILED, OTHER, REFUSED, Reply, Spec
from handful.fleet.shards.places import LostError, Places

ATTEMPTS = 4
"""How often a shard may be lost during one call."""


class Outcome:
    """What became of a call: the replies of shards, and the calls that were lost with others."""

    def __init__(self) -> None:
        self.values: dict[int, Any] = {}
        self.refused: dict[int, HandfulError] = {}
        self.gone: dict[int, int] = {}


class Router:
    """The shards of a fleet, by number."""

    def __init__(self, places: Places, specs: list[Spec]) -> None:
        self._places = places
        self._specs = specs
        self._answered = [0] * len(specs)
        """The number of the last call that each shard has answered."""
        self._gone: dict[int, int] = {}
        """Answered calls that shards have lost, until the next call that names a shard says so."""
        self.claimed: dict[int, dict[str, Any]] = {}
        """What shards said when they were claimed last."""

    @property
    def shards(self) -> range:
        """The numbers of all shards."""
        return range(len(self._specs))

    def set_arms(self, *arms: Any) -> None:
        """Set the arms with which shards are restored: two candidates during a change."""
        self._specs = [replace(spec, arms=arms) for spec in self._specs]

    def open(self) -> None:
        """Claim all shards."""
        self.restore(list(self.shards))
        self._specs = [replace(spec, fresh=None) for spec in self._specs]

    def restore(self, shards: list[int]) -> None:
        """Claim shards for other workers, and count the answered calls that they have lost."""
        waiting, why = list(shards), ""
        failed: list[HandfulError] = []
        for _ in range(ATTEMPTS):
            self._places.start(waiting)
            pending = {}
            for shard in waiting:
                spec = self._specs[shard]
                self._specs[shard] = replace(spec, term=spec.term + 1)
                pending[shard] = self._places.ask(shard, "claim", self._specs[shard])
            waiting = []
            for shard, call in pending.items():
                try:
                    reply = self._places.wait(shard, call)
                except LostError as error:
                    waiting.append(shard)
                    why = f"{error.__cause__}"
                    continue
                # An error of one shard must not leave the claims of others unheard.
                if reply.kind == REFUSED:
                    failed.append(_error(reply, shard))
                elif reply.kind == FAILED:
                    failed.append(ClusterError(f"shard {shard} cannot be opened:\n{reply.value}"))
                else:
                    self.claimed[shard] = {**reply.value, "number": reply.number}
                    self._compare(shard, reply.number)
            if not waiting:
                break
        else:
            failed.append(ClusterError(
                f"shards {waiting} lost {ATTEMPTS} workers, one after the other ({why}): call "
                "again when the cluster is well"
            ))  # fmt: skip
        if failed:
            raise failed[0]

    def _compare(self, shard: int, number: int) -> None:
        """Note how many answered calls are gone from a shard that has served so many in all."""
        missing = self._answered[shard] - number
        if missing > 0:
            self._gone[shard] = self._gone.get(shard, 0) + missing
            self._answered[shard] = number

    def accept(self) -> None:
        """Count the calls of shards as they were claimed: this router has made none."""
        for shard, facts in self.claimed.items():
            self._answered[shard] = facts["number"]

    def call(self, operation: str, parts: Mapping[int, Arrays]) -> Outcome:
        """Let shards serve a call that changes them, each its part."""
        token = randbits(63)

        def send(shard: int) -> Any:
            number = self._answered[shard] + 1
            return self._places.ask(shard, "serve", number, token, operation, parts[shard])

        return self._until_answered(parts, send)

    def read(self, operation: str, parts: Mapping[int, Arrays]) -> Outcome:
        """Ask shards for what they know, or to save it."""

        def send(shard: int) -> Any:
            return self._places.ask(shard, "read", operation, parts[shard])

        return self._until_answered(parts, send)

    def _until_answered(self, parts: Mapping[int, Any], send: Callable[[int], Any]) -> Outcome:
        outcome, why = Outcome(), ""
        waiting = [shard for shard in parts if shard not in self._gone]
        for _ in range(ATTEMPTS):
            pending = {shard: send(shard) for shard in waiting}
            waiting, lost = [], []
            for shard, call in pending.items():
                try:
                    reply = self._places.wait(shard, call)
                except LostError as error:
                    lost.append(shard)
                    why = f"{error.__cause__}"
                    continue
                if reply.kind == FAILED:
                    lost.append(shard)
                    why = reply.value
                    continue
                # It may have been restored during a call that ended in an error.
                self._compare(shard, reply.number)
                if shard in self._gone:
                    continue
                if reply.kind == OTHER:
                    # An earlier call, which was given up here, was served nevertheless.
                    self._answered[shard] = reply.number
                    waiting.append(shard)
                else:
                    self._take(shard, reply, outcome)
            if lost:
                self.restore(lost)
                waiting += [shard for shard in lost if shard not in self._gone]
            if not waiting:
                outcome.gone = {s: self._gone.pop(s) for s in parts if s in self._gone}
                return outcome
        raise ClusterError(
            f"shards {waiting} lost {ATTEMPTS} workers during one call, which may have been served "
            f"in part: {why}"
        )

    def _take(self, shard: int, reply: Reply, outcome: Outcome) -> None:
        if reply.number > self._answered[shard]:
            self._answered[shard] = reply.number
        if reply.kind == DONE:
            outcome.values[shard] = reply.value
        else:
            outcome.refused[shard] = _error(reply, shard)

    def close(self, patience: float) -> None:
        """Release all shards."""
        self._places.close(patience)


def _error(reply: Reply, shard: int) -> HandfulError:
    """Return the error that a shard met, of the same class and with the same message."""
    name, message, notes = reply.value
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, HandfulError)):
        kind = HandfulError  # a class of a user's own
    error = kind.__new__(kind, message)
    for note in notes:
        error.add_note(note)
    error.add_note(f"this is of shard {shard}; other shards may have served their part of a call")
    return error
