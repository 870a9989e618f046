"""The answers of the service as typed objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Self

FALLBACK_ID = "fallback"
"""The id of every fallback decision. The service gives out no such id."""

Outcome = Literal[
    "credited", "forgotten", "duplicate", "expired", "conflict", "unknown", "invalid",
    "unavailable", "dropped", "ignored",
]  # fmt: skip
"""What became of a reward.

credited    it counts towards its arm
forgotten   its arm has left memory since, so it changed nothing; it is in the log
duplicate   it was there already, with the same value
expired     its window was over, or the decision was dropped or its bandit deleted; a reward that
            is late is in the log
conflict    the decision has another reward already        (in batches; otherwise an error)
unknown     there is no such decision                      (in batches; otherwise an error)
invalid     it is not a number in range                    (in batches; otherwise an error)
unavailable the service cannot use the bandit at present; the reward was not taken, so give it
            again later                                    (in batches; otherwise an error)
dropped     no reward of the decision is waited for any more
ignored     the decision was a fallback, of which the service knows nothing
"""


@dataclass(frozen=True, slots=True)
class Decision:
    """An arm to use, and the id that its reward is given with.

    key          the caller's own id of the decision, if one was given
    probability  that of this arm given the history, where the policy knows it
    """

    id: str
    arm: str
    key: str | None = None
    probability: float | None = None

    @property
    def is_fallback(self) -> bool:
        """Whether the client chose the fallback arm itself, since the service did not answer.

        Its reward is not sent, because the policy did not choose this arm.
        """
        return self.id == FALLBACK_ID

    @classmethod
    def fallback(cls, arm: str, key: str | None = None) -> Decision:
        """Return the decision of a client that could not reach the service."""
        return cls(FALLBACK_ID, arm, key)


class OwnKey(NamedTuple):
    """A decision named by its bandit and the caller's own key for it."""

    bandit: str
    key: str


@dataclass(frozen=True, slots=True)
class _Picked:
    """An object made of the fields that it knows. A newer service may send more."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Return the object of an answer; a field that is missing is None."""
        return cls(**{field.name: data.get(field.name) for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Summary(_Picked):
    """A bandit in a list."""

    name: str
    policy: str
    memory: int
    arms: int
    decisions: int
    rewards: int
    recommended: str | None


@dataclass(frozen=True, slots=True)
class ArmInMemory(_Picked):
    """The statistics of an arm in memory. `low` and `high` bound its mean."""

    arm: str
    pulls: int
    in_flight: int
    mean: float | None
    low: float | None
    high: float | None
    recommended: bool
    duel: bool


@dataclass(frozen=True, slots=True)
class Bandit(Summary):
    """A bandit: its settings, its counters and the arms that it remembers.

    waiting       open decisions: not yet rewarded, dropped or expired
    recent_rate   the mean of about the last 1,000 rewards
    answer        all that the service said, as parsed JSON
    """

    title: str
    settings: Mapping[str, float]
    seed: int
    window: float | None
    default: float | None
    explore: float
    rescale: tuple[float, float] | None
    open: bool
    forgotten: int
    dropped: int
    expired: int
    late: int
    waiting: int
    arms_in_memory: tuple[ArmInMemory, ...]
    arms_tried: int | None
    reward_rate: float | None
    recent_rate: float | None
    best_guess: float | None
    created_at: str
    answer: Mapping[str, Any]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Return the bandit of an answer."""
        held = tuple(ArmInMemory.of(arm) for arm in data.get("arms_in_memory") or ())
        scale = data.get("rescale")
        return cls(
            **{field.name: data.get(field.name) for field in fields(cls)}
            | {"arms_in_memory": held, "rescale": tuple(scale) if scale else None, "answer": data}
        )


class Listing(NamedTuple):
    """A page of the list of bandits, and the name after which the next page starts."""

    bandits: list[Summary]
    next: str | None
