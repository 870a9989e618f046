"""A policy as a pure function of bytes, for stream processors such as Bytewax and Flink.

    step = Step(arms=offers, memory=2, seed=7)
    state, decision = step(None, Decide())
    state, receipt = step(state, Reward(decision.ticket, 1.0))

    op.stateful_map("decide", events_by_user, step)  # Bytewax: one bandit for each key

`step(state, event)` returns the next state and what came of the event. The state is all that there
is: None before the first event, then some hundred bytes, which the stream processor keeps and takes
snapshots of. The same state and event always give the same result, so events that are replayed
after a crash lead to the same state. An event that cannot be is an error, and the state that it
came with is as it was.

| event | result |
|---|---|
| `Decide(n=None, allowed=None)` | a `handful.Decision`, or a list of n |
| `Reward(ticket, reward)`, `Drop(ticket)` | a `handful.Receipt` |
| `Add(arms)`, `Remove(arms)` | how many arms there are now |

As a mapping, `{"type": "reward", "ticket": 5, "reward": 1.0}` is the same as `Reward(5, 1.0)`.

Labels are not part of the state, but for those that were added or removed since: the arms given to
`Step` must stay as they were. Arms that come and go are given as a list, and those that are added
are strings or numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from struct import Struct
from typing import Any, TypeAlias

import handful
from handful.errors import NewerStateError, OtherArmsError, SettingError, StateError, integer

__all__ = ["Add", "Decide", "Drop", "Event", "Remove", "Result", "Reward", "Step", "event_of"]
CHANGED = b"hnda"
"""In front of a state whose arms have changed: then a format, the length of the changes, and the
changes as JSON."""
HEAD = Struct("<4sBI")
FORMAT = 1
KEPT_AS_JSON = (str, int, float, bool, type(None))
"""What comes back from JSON as it was, other than subclasses of these."""


@dataclass(frozen=True, slots=True)
class _Event:
    key: str | int | None = field(default=None, kw_only=True)
    """Names the bandit. That of a bandit's first event is hashed into its seed, so that bandits
    with different keys draw different numbers; without one, the seed is that of `Step`."""


@dataclass(frozen=True, slots=True)
class Decide(_Event):
    """Ask for a decision, or for n; only among some arms, if `allowed` lists them."""

    n: int | None = None
    allowed: Sequence[Any] | None = None


@dataclass(frozen=True, slots=True)
class Reward(_Event):
    """Give the reward of a decision."""

    ticket: int
    reward: float


@dataclass(frozen=True, slots=True)
class Drop(_Event):
    """Say that the reward of a decision will not come."""

    ticket: int


@dataclass(frozen=True, slots=True)
class Add(_Event):
    """Add arms."""

    arms: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Remove(_Event):
    """Remove arms."""

    arms: Sequence[Any]


Event: TypeAlias = Decide | Reward | Drop | Add | Remove
Result: TypeAlias = handful.Decision | list[handful.Decision] | handful.Receipt | int
EVENTS: dict[str, type[Event]] = {
    "decide": Decide, "reward": Reward, "drop": Drop, "add": Add, "remove": Remove,
}  # fmt: skip


def event_of(message: Mapping[str, Any]) -> Event:
    """Return the event of a message such as {"type": "drop", "ticket": 5}."""
    given = dict(message)
    kind = given.pop("type", None)
    if not isinstance(kind, str) or kind not in EVENTS:
        raise SettingError(f"an event of the type {kind!r}: give one of {', '.join(EVENTS)}")
    try:
        return EVENTS[kind](**given)
    except TypeError as error:
        raise SettingError(f"an event of the type {kind!r} with {given}: {error}") from None


class Step:
    """The function from a state and an event to the next state and a result.

    arms       labels, a number, a function from index to label, or a `FiniteArms`
    policy     the name of a policy, with its `settings`
    memory     the most arms with statistics
    seed       of the policy, an integer: a pure function draws no seed
    settings   also `rescale`, `window` and `default`
    """

    def __init__(
        self,
        arms: Any,
        policy: str = "race",
        memory: int | None = None,
        *,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self._policy, self._memory, self._seed, self._settings = policy, memory, seed, settings
        if isinstance(arms, Iterator) or (isinstance(arms, handful.Reservoir) and arms.is_iterator):
            raise SettingError(
                f"arms={arms!r} give each arm only once, and every bandit needs the same arms: "
                "give a list, or a function from index to label"
            )
        if seed is None:
            raise SettingError(
                "seed=None draws a seed, and a pure function cannot: give an integer"
            )
        if not callable(arms) and not isinstance(arms, handful.FiniteArms | handful.Reservoir):
            arms = handful.FiniteArms(arms)
        handful.policy(policy, arms, memory, seed=seed, **settings)  # refused before any event
        # Made once: the fingerprint of arms, which every state is compared with, is cached.
        self._arms: Any = handful.Reservoir(arms) if callable(arms) else arms
        self._begin_cache()

    def _begin_cache(self) -> None:
        self._changed_arms = lru_cache(maxsize=64)(self._with_changes)

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the cache: stream processors send a function to workers as a pickle."""
        return {name: value for name, value in vars(self).items() if name != "_changed_arms"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin_cache()

    def __call__(
        self, state: bytes | None, event: Event | Mapping[str, Any]
    ) -> tuple[bytes, Result]:
        """Return the next state, and what came of the event."""
        happened = event_of(event) if isinstance(event, Mapping) else event
        if not isinstance(happened, Decide | Reward | Drop | Add | Remove):
            raise SettingError(
                f"{event!r} is no event: give Decide(), Reward(ticket, reward) or another class of "
                'this module, or a mapping such as {"type": "decide"}'
            )
        changes, policy = self._restored(state, happened.key)
        result: Result
        if isinstance(happened, Decide):
            if happened.n is None:
                result = policy.decide(allowed=happened.allowed)
            else:
                result = policy.decide(happened.n, happened.allowed)
        elif isinstance(happened, Reward):
            result = policy.reward(happened.ticket, happened.reward)
        elif isinstance(happened, Drop):
            result = policy.drop(happened.ticket)
        else:
            if isinstance(happened, Add):
                policy.add_arms(happened.arms)
            else:
                policy.remove_arms(happened.arms)
            changes = self._changes(policy)
            result = policy.n_arms
        head = HEAD.pack(CHANGED, FORMAT, len(changes)) + changes if changes else b""
        return head + policy.to_bytes(), result

    def policy(self, state: bytes) -> handful.Policy:
        """Return the policy of a state, to look at."""
        return self._restored(state, None)[1]

    def _restored(self, state: bytes | None, key: str | int | None) -> tuple[bytes, handful.Policy]:
        """Return the changes of the arms, as JSON, and the policy."""
        if state is None:
            seed = self._seed if key is None else _seed_of(self._seed, key)
            return b"", handful.policy(
                self._policy, self._arms, self._memory, seed=seed, **self._settings
            )
        if not isinstance(state, bytes | bytearray | memoryview):
            raise StateError(f"a state is bytes, or None before the first event, and not {state!r}")
        data = bytes(state)
        if not data.startswith(CHANGED):
            return b"", handful.from_bytes(data, self._arms)
        _, version, length = HEAD.unpack(data[: HEAD.size].ljust(HEAD.size, b"\0"))
        if version > FORMAT:
            raise NewerStateError(
                f"the state was saved in format {version} by a newer handful; this one reads up to "
                f"format {FORMAT}: upgrade handful"
            )
        changes, rest = data[HEAD.size :][:length], data[HEAD.size + length :]
        return changes, handful.from_bytes(rest, self._changed_arms(changes))

    def _changes(self, policy: handful.Policy) -> bytes:
        """Return how the arms of a policy differ from those of the beginning, as JSON."""
        first, now = self._arms.listed(), policy.arms
        assert isinstance(now, list)
        kept = 0  # what is left of the first list stands in front, in its order
        gone = []
        for place, label in enumerate(first):
            if kept < len(now) and type(now[kept]) is type(label) and now[kept] == label:
                kept += 1
            else:
                gone.append(place)
        if not gone and kept == len(now):
            return b""
        for label in now[kept:]:
            if type(label) not in KEPT_AS_JSON:
                raise SettingError(
                    f"the label {label!r} would be part of the state as JSON, and would not come "
                    "back as it was: add strings and numbers only"
                )
        return json.dumps([gone, now[kept:]], separators=(",", ":")).encode()

    def _with_changes(self, changes: bytes) -> handful.FiniteArms:
        if not (isinstance(self._arms, handful.FiniteArms) and self._arms.is_listed):
            raise OtherArmsError(
                f"arms were added or removed in this state, and {self._arms!r} cannot change: give "
                "the list of labels that it began with"
            )
        try:
            gone, new = json.loads(changes)
            places = frozenset(gone)
            first = self._arms.listed()
            kept = [label for place, label in enumerate(first) if place not in places]
            return handful.FiniteArms(kept + new)
        except (ValueError, TypeError, RecursionError):
            raise StateError(
                "the state is damaged: its changes of the arms cannot be read"
            ) from None


def _seed_of(seed: int, key: str | int) -> int:
    kind = "str" if isinstance(key, str) else "int"
    text = str(key) if isinstance(key, str) else str(integer("key", key))
    digest = blake2b(f"{seed}/{kind}/{text}".encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "little")
