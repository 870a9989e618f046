"""The options of calls, as types that the signatures of both clients share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict


class BanditOptions(TypedDict, total=False):
    """What a new bandit may be given besides its name and its arms.

    policy    "race", unless another is given
    memory    how many arms it remembers
    settings  of the policy
    seed      of its random numbers
    window    after how many seconds a reward that has not come is written off
    default   the reward of a decision that is written off; None: it counts as lost
    explore   the share of decisions that are uniform, with true probabilities in the log
    rescale   (lo, hi) if rewards lie in [lo, hi] and not in [0, 1]
    open      True if arms will be added for ever, as they are born
    """

    policy: str
    memory: int | None
    settings: Mapping[str, float] | None
    seed: int | None
    window: float | None
    default: float | None
    explore: float | None
    rescale: tuple[float, float] | None
    open: bool | None


class DecisionOptions(TypedDict, total=False):
    """What a call for decisions may be given.

    allowed   no other arm is returned
    fallback  the arm to use if the service does not answer. The decision then has `is_fallback`,
              and its reward is not sent
    total     how many seconds this call may take, if not those of the client's limits
    """

    allowed: Iterable[str] | None
    fallback: str | None
    total: float | None


class OneDecision(DecisionOptions, total=False):
    """... for one decision.

    key       your own id of the decision, by which its reward can be given, too
    """

    key: str | None


class ManyDecisions(DecisionOptions, total=False):
    """... for several decisions.

    keys      your own ids of the decisions
    """

    keys: Sequence[str] | None
