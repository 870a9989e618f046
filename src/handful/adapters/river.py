"""Policies of handful for river: `bandit.evaluate`, `evaluate_offline`, and loops of one's own.

    policy = HandfulPolicy("race", memory=8, seed=7)
    arm = policy.pull(headlines)
    policy.update(arm, clicked)

The policy is made at the first pull, from the arms of that pull. Later pulls may name other arms:
new ones are added, and arms that are missing are not returned. As with `select`, a pull whose
reward has not come is repeated if its arm can still be pulled, so one decision is open at a time.

river's other policies keep a statistic of every arm that was ever pulled. This one keeps those of
the arms in memory, also in `ranking` and in the table that `repr` shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import handful
from handful.errors import ForgottenArmError, MissingExtraError, SettingError

try:
    from river import bandit
except ImportError as error:
    if error.name != "river":
        raise
    raise MissingExtraError("the adapter for river", "river", "river") from None

__all__ = ["HandfulPolicy"]


class HandfulPolicy(bandit.base.Policy):
    """A policy of handful as a policy of river.

    Parameters
    ----------
    policy
        The name of a policy of handful, such as "race".
    memory
        The most arms with statistics at any time.
    rescale
        (lo, hi) if rewards lie in [lo, hi] and not in [0, 1]. It is fixed, so no `reward_scaler`,
        which follows the rewards, is taken.
    reward_obj
        The statistic that `ranking` and `repr` show of each arm in memory. Decisions do not depend
        on it.
    seed
        Random number generator seed for reproducibility.
    settings
        Settings of the policy.

    Examples:
    --------
    >>> from river import bandit
    >>> from handful.adapters.river import HandfulPolicy

    >>> policy = HandfulPolicy("race", memory=2, seed=1)
    >>> arm = policy.pull(["red", "green", "blue"])
    >>> policy.update(arm, 1.0)
    >>> policy.ranking == [arm]
    True

    """

    def __init__(
        self,
        policy: str = "race",
        memory: int | None = None,
        rescale: tuple[float, float] | None = None,
        reward_obj: bandit.base.RewardObj | None = None,
        seed: int | None = None,
        **settings: float,
    ) -> None:
        super().__init__(reward_obj=reward_obj)
        self.policy = policy
        self.memory = memory
        self.rescale = rescale
        self.seed = seed
        self.settings = settings
        self._arms: range | list[Any] = []
        self._known: range | set[Any] = set()
        self._allowed: frozenset[Any] | None = None
        self._bandit: handful.Policy | None = None
        self._open: handful.Decision | None = None

    @property
    def bandit(self) -> handful.Policy | None:
        """The policy of handful itself; None before the first pull."""
        return self._bandit

    def pull(self, arm_ids: Sequence[Any]) -> Any:
        """Return an arm to pull; until its update, the same arm again.

        Parameters
        ----------
        arm_ids
            The list of arms that can be pulled.

        """
        return self._pull(arm_ids)  # no burn-in, for which river looks at every arm at every pull

    def _pull(self, arm_ids: Sequence[Any]) -> Any:
        arms = arm_ids if isinstance(arm_ids, range | list) else list(arm_ids)
        if self._bandit is None or self._arms != arms:
            self._suit(arms)
        assert self._bandit is not None
        if self._open is None:
            self._open = self._bandit.decide(allowed=self._allowed)
            self._keep_held()
        return self._open.arm

    def _suit(self, arms: range | list[Any]) -> None:
        """Go on with these arms: add new ones, and drop a decision for an arm that is missing."""
        if self._bandit is None:
            self._bandit = handful.policy(
                self.policy, arms, self.memory, rescale=self.rescale, seed=self.seed,
                **self.settings,
            )  # fmt: skip
            self._known = arms if isinstance(arms, range) else set(arms)
        new = [] if arms is self._known else [arm for arm in arms if arm not in self._known]
        if new:
            self._bandit.add_arms(new)
            self._known = {*self._known, *new}
        distinct = arms if isinstance(arms, range) else frozenset(arms)
        self._allowed = None if len(distinct) == len(self._known) else frozenset(distinct)
        if self._open is not None and self._open.arm not in arms:
            self._bandit.drop(self._open.ticket)
            self._open = None
        self._arms = arms if isinstance(arms, range) else list(arms)

    def _keep_held(self) -> None:
        """Keep river's statistics of the arms in memory only."""
        assert self._bandit is not None
        held = set(self._bandit.arms_in_memory)
        for arm in [arm for arm in self._rewards if arm not in held]:
            del self._rewards[arm], self._counts[arm]

    def update(self, arm_id: Any, *reward_args: float, **reward_kwargs: float) -> None:
        """Update an arm's state.

        The reward of an arm that is not in memory changes nothing, as everywhere in handful.

        Parameters
        ----------
        arm_id
            The arm to update, usually the one just pulled.
        reward_args, reward_kwargs
            The reward.

        """
        if self._bandit is None:
            raise SettingError("there was no pull yet, which names the arms: pull first")
        rewards = [*reward_args, *reward_kwargs.values()]
        if len(rewards) != 1:
            raise SettingError(f"{len(rewards)} rewards of {arm_id!r}: give one number")
        (reward,) = rewards
        if self._credit(arm_id, reward):
            super().update(arm_id, reward)  # type: ignore[no-untyped-call]
        else:
            self._n += 1

    def _credit(self, arm_id: Any, reward: float) -> bool:
        """Give the policy a reward, and return whether it counts."""
        assert self._bandit is not None
        if self._open is not None and self._open.arm == arm_id:
            receipt = self._bandit.reward(self._open.ticket, reward)
            self._open = None
            return receipt is handful.Receipt.CREDITED
        try:
            self._bandit.update(arm_id, reward)
        except ForgottenArmError:
            return False
        return True

    def __repr__(self) -> str:
        if not self._rewards:
            return f"{self}(policy={self.policy!r})"  # river's table cannot be empty
        return str(super().__repr__())  # type: ignore[no-untyped-call]

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"policy": "race", "memory": 4}
        yield {"policy": "ts"}
