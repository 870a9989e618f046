"""A policy with `partial_fit` and `predict`, as scikit-learn's estimators have them.

    bandit = BanditEstimator(arms=offers, memory=8, seed=7)
    shown = bandit.predict(500)                       # 500 arms, for the next 500 visitors
    bandit.partial_fit(shown, clicks)                 # labels and rewards, late and in any order

Rewards come with labels only, so the tickets of open decisions are kept here, as long as their arm
is in memory. The rewards of a call take the newest tickets of their arms, in the order of the
decisions. (Where some rewards never come, the oldest tickets would be of ever older decisions.) A
reward of an arm without an open decision, as in a log, counts if the arm is in memory; otherwise it
is forgotten. `receipts_` counts what became of all.

scikit-learn is not needed. Its `clone`, `get_params` and `set_params` work: parameters are those of
the constructor, which does nothing but keep them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any, Self

import handful
from handful.errors import ForgottenArmError, SettingError

MOST_OPEN = 100_000
"""The most open decisions of an arm whose tickets are kept, since some rewards never come."""
__all__ = ["BanditEstimator"]


class BanditEstimator:
    """A policy of handful as an estimator.

    arms       the labels that `predict` chooses from, or a number of arms
    policy     the name of a policy
    memory     the most arms with statistics
    rescale    (lo, hi) if rewards lie in [lo, hi] and not in [0, 1]
    seed       of the policy
    settings   of the policy

    `policy_` is the policy itself, made at the first call.
    """

    policy_: handful.Policy
    receipts_: Counter[str]
    _open: dict[Any, deque[int]]

    def __init__(
        self,
        arms: Any = None,
        policy: str = "race",
        memory: int | None = None,
        rescale: tuple[float, float] | None = None,
        seed: int | None = None,
        settings: Mapping[str, float] | None = None,
    ) -> None:
        self.arms = arms
        self.policy = policy
        self.memory = memory
        self.rescale = rescale
        self.seed = seed
        self.settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; they take effect when `fit` starts anew."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise SettingError(f"there is no parameter {name!r}: give {', '.join(known)}")
            setattr(self, name, value)
        return self

    def fit(self, X: Iterable[Any], y: Iterable[float]) -> Self:
        """Forget everything, and take in these rewards."""
        self._start()
        return self.partial_fit(X, y)

    def partial_fit(self, X: Iterable[Any], y: Iterable[float]) -> Self:
        """Take in the rewards y of the arms with the labels X. Any mistake changes nothing."""
        labels, rewards = _listed("X", X), _listed("y", y)
        if len(labels) != len(rewards):
            raise SettingError(
                f"there are {len(labels)} labels and {len(rewards)} rewards: give one for each"
            )
        if not hasattr(self, "policy_"):
            self._start()
        before = self.policy_, self.receipts_
        self.policy_, self.receipts_ = self.policy_.clone(), self.receipts_.copy()
        taken = {label: self._newest(label, n) for label, n in Counter(labels).items()}
        tickets = {label: iter(newest) for label, newest in taken.items()}
        try:
            for label, reward in zip(labels, rewards, strict=True):
                self.receipts_[self._credit(label, next(tickets[label], None), reward)] += 1
        except BaseException:
            self.policy_, self.receipts_ = before
            for label, newest in taken.items():
                self._open.get(label, deque()).extend(newest)
            raise
        return self

    def _newest(self, label: Any, n: int) -> list[int]:
        """Take the newest tickets of an arm, at most n, and return them in their order."""
        tickets = self._open.get(label, deque())
        return [tickets.pop() for _ in range(min(n, len(tickets)))][::-1]

    def _credit(self, label: Any, ticket: int | None, reward: float) -> str:
        """Give the policy a reward, and return what became of it."""
        if ticket is not None:
            return str(self.policy_.reward(ticket, reward))
        try:
            self.policy_.update(label, reward)
        except ForgottenArmError:
            return str(handful.Receipt.FORGOTTEN)
        return str(handful.Receipt.CREDITED)

    def predict(self, n: int = 1) -> list[Any]:
        """Return the arms to pull next, n decisions."""
        if not hasattr(self, "policy_"):
            self._start()
        decisions = self.policy_.decide(n)
        for arm, ticket in decisions:
            self._open.setdefault(arm, deque(maxlen=MOST_OPEN)).append(ticket)
        held = set(self.policy_.arms_in_memory)
        self._open = {arm: tickets for arm, tickets in self._open.items() if arm in held}
        return [arm for arm, _ in decisions]

    def recommend(self) -> Any:
        """Return the arm that the policy recommends, without exploring."""
        if not hasattr(self, "policy_"):
            self._start()
        return self.policy_.recommend()

    def _start(self) -> None:
        if self.arms is None:
            raise SettingError("arms=None: give the labels to choose from, or a number of arms")
        self.policy_ = handful.policy(
            self.policy, self.arms, self.memory, rescale=self.rescale, seed=self.seed,
            **(self.settings or {}),
        )  # fmt: skip
        self._open = {}
        self.receipts_ = Counter()


def _listed(name: str, given: Any) -> list[Any]:
    """Return one column of values as a list."""
    if isinstance(given, str | bytes) or hasattr(type(given), "columns"):
        raise SettingError(f"{name} is a {type(given).__name__}: give one column, such as a list")
    try:
        listed = list(given)
        hash(tuple(listed))
    except TypeError:
        raise SettingError(
            f"{name} is no column of labels or numbers: give a list, or an array with one dimension"
        ) from None
    return listed
