"""Messages between a router and a shard: what to make or open, and the outcome of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from handful.policies import Policy

DONE, REFUSED, OTHER, FAILED = "done", "refused", "other", "failed"
"""What became of a call: served, refused with an error, not the next one, or an unforeseen one."""
FOLD = 1 << 26
"""The bytes of a log from which on the shard is saved, before the next call."""


class Reply(NamedTuple):
    """What a shard says to a call, and the number of the last call that it has served."""

    kind: str
    number: int
    value: Any = None


@dataclass(frozen=True)
class Spec:
    """What a worker needs to make or open a shard."""

    folder: str
    term: int
    arms: tuple[Any, ...]
    """The arms; two candidates while they are being changed."""
    policy: type[Policy] | None
    """For a policy of a user's own."""
    threads: int | None
    durable: bool
    patience: float
    """Seconds to wait for a former holder to let go of the folder."""
    fresh: Fresh | None = None
    """For a shard that does not exist yet."""
    fold: int = FOLD


@dataclass(frozen=True)
class Fresh:
    """The members of a new shard."""

    model: bytes
    counters: int
    seed: int
    members: range
