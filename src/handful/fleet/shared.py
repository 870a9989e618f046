"""What all members of a fleet share: policy, parameters, arms, and the handling of rewards.

A policy object, the *model*, holds it. The model is never asked for a decision: it checks what the
user gives, and lifted members are copies of it with another record.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from handful.core.arms import FiniteArms
from handful.core.state import NO_SLOT, State, fields
from handful.errors import RewardError, SettingError, StateError
from handful.fleet.kernels.bulk import How
from handful.fleet.layout import Layout
from handful.policies import Policy, policy
from handful.policies.base import Policy as PolicyBase
from handful.policies.settings import UNIT

COUNTERS = (16, 32, 64)
FOR_KERNELS: tuple[Literal["C"], Literal["W"]] = ("C", "W")
"""Arrays that can be written to, since those that cannot, such as columns of a frame, would be of
another type, for which kernels are compiled again."""


def model_of(kind: Any, arms: Any, memory: int | None, given: dict[str, Any]) -> Policy:
    """Return a policy as a user named it, or refuse one that cannot have a fleet."""
    if isinstance(kind, str):
        made = policy(kind, arms, memory, seed=0, **given)
    elif isinstance(kind, type) and issubclass(kind, PolicyBase):
        made = kind(arms, memory, seed=0, **given)
    else:
        raise SettingError(
            f"policy={kind!r} is neither the name of a policy nor a class of one: give "
            '"race", "ucb-m" or a subclass of handful.Policy'
        )
    check_kind(made)
    return made


def check_kind(made: Policy) -> None:
    """Refuse a policy that cannot have a fleet."""
    why = ""
    if not isinstance(made._arms, FiniteArms):
        why = "its arms have no end, and members cannot share what a function or an iterator gives"
    elif made.unbounded:
        why = "it stores statistics of every arm: take one with a memory bound, such as ts-m"
    elif made.clairvoyant:
        why = "it must be told the true means, which only a simulator knows"
    elif any(kind.of_history for kind in fields(made._acts_as.State).values()):
        why = "it has a history, which has no fixed size"
    if why:
        raise SettingError(f"a fleet of {made.name} cannot be: {why}")


class Shared:
    """A model, and what kernels are given of it."""

    def __init__(self, model: Policy, counters: int) -> None:
        if counters not in COUNTERS:
            raise SettingError(
                f"counters={counters!r}: give the bits of a counter, 16, 32 or 64; a member that "
                "needs more than 16 or 32 gets a wide row of its own"
            )
        self.model = model
        self.counters = counters
        self.acts_as: Any = model._acts_as
        self.p = model._p
        assert isinstance(model._arms, FiniteArms)
        self.arms = model._arms
        self.n_arms: int = model._arms.n
        self.how = How(self.n_arms, model._no_slot, float(model._window), model._default)
        self.layout = Layout.of(
            self.acts_as.State,
            min(model._memory, self.n_arms),
            self.n_arms,
            model._defaults,
            counters,
        )

    def other_arms(self, added: list[Any], removed: list[int]) -> Shared:
        """Return the same with other arms."""
        model = self.model.clone()
        model._change(added, removed)
        return Shared(model, self.counters)

    def rewards(self, rewards: Any, size: int) -> NDArray[np.float64]:
        """Return rewards as numbers in [0, 1]; refuse all of them if one is out of range."""
        if isinstance(rewards, str | bytes):
            raise RewardError(f"rewards={rewards!r} is text: give numbers")
        try:
            values = np.asarray(rewards)
            if values.dtype.kind not in "biuf":
                raise TypeError
            values = np.ascontiguousarray(values, np.float64)
        except (TypeError, ValueError):
            raise RewardError("rewards are not all numbers: give an array of numbers") from None
        if values.shape != (size,):
            values = np.broadcast_to(values, (size,)) if values.ndim == 0 else values
        if values.shape != (size,):
            raise SettingError(
                f"there are {size} ids and rewards of the shape {values.shape}: give one for each"
            )
        lo, hi = self.model._rescale or UNIT
        wrong = ~((values >= lo) & (values <= hi))
        if wrong.any():
            at = int(np.argmax(wrong))
            hint = "" if self.model._rescale else "; rescale=(lo, hi) maps other ranges"
            raise RewardError(
                f"rewards[{at}]={float(values[at])!r} is not in [{lo:g}, {hi:g}]{hint}; none was "
                "taken in"
            )
        if self.model._rescale:
            return (values - lo) / (hi - lo)
        return np.require(values, requirements=FOR_KERNELS)

    def lifted(self, state: State) -> Policy:
        """Return the policy with this record."""
        return self.model.with_record(state)

    def check_lifted(self, given: Policy, key: int) -> State:
        """Return the record of a policy that is put back, or refuse it."""
        model = self.model
        if not isinstance(given, type(model)) or type(given) is not type(model):
            raise StateError(f"this is a {type(given).__name__}, not a {type(model).__name__}")
        same = (
            given._values == model._values
            or repr(given._values) == repr(model._values)  # settings that are NaN
        )
        if (
            not same
            or given._memory != model._memory
            or repr(given._rewards) != repr(model._rewards)
        ):
            raise StateError(
                "this policy has other settings than the fleet: put back what fleet[i] gave"
            )
        if given._arms.n != self.n_arms or given._arms.fingerprint() != model._arms.fingerprint():
            raise StateError("this policy has other arms than the fleet: change them in both")
        state = given._state
        if state.key != key:
            raise StateError(
                "this policy has another seed than the member: put fleet[i] back as fleet[i]"
            )
        if state.pending != NO_SLOT:
            raise StateError(
                "select() returned an arm without an update() yet: call update(), or use decide() "
                "and reward()"
            )
        return state
