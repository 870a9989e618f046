"""The parts of a policy object: arms, memory, rewards, settings, a record and a lock."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

from handful.core.arms import FiniteArms
from handful.core.flight import turner
from handful.core.reservoir import Reservoir
from handful.core.rng import generator_from
from handful.core.state import State
from handful.errors import SettingError
from handful.policies.definition import UNBOUNDED, Definition
from handful.policies.proposed import Proposed
from handful.policies.settings import Rewards


class Parts(Definition):
    """The attributes of a policy, and how they are set."""

    _key: int
    _state: State
    _mean_of: Callable[[int], float] | None

    def _make(
        self,
        arms: FiniteArms | Reservoir,
        memory: int,
        rewards: Rewards,
        values: dict[str, float],
    ) -> None:
        if self.needs_horizon and values["horizon"] != values["horizon"]:
            raise SettingError(f"{self.name} plans for a number of pulls: give horizon=...")
        self._rewards = rewards
        self._rescale, self._window, self._default = rewards
        self._defaults = rewards.default == rewards.default
        self._values = values
        ends = isinstance(arms, Reservoir) and arms.is_iterator
        self._careful = ends or self.clairvoyant
        self._pending_label: Any = None
        self._suit(arms, memory, *self._parts(arms.n, memory, isinstance(arms, Reservoir)))
        self._make_lock()

    def _parts(self, n_arms: int, memory: int, endless: bool) -> tuple[type[Definition], Any]:
        """Return the policy that this one acts as with so many arms, and its parameters."""
        acts_as: type[Definition] = self.stands_for(memory, n_arms)
        own = {key: self._values[key] for key in acts_as.settings}
        return acts_as, acts_as.parameters(n_arms, memory, endless, own)

    def _suit(
        self, arms: FiniteArms | Reservoir, memory: int, acts_as: type[Definition], p: Any
    ) -> None:
        """Set what depends on the arms, and look up, once, what every decision calls."""
        self._arms = arms
        self._memory = memory
        self._acts_as = acts_as
        self._p = p
        # In tickets, the slot of an arm without one. It must not change with the number of arms.
        self._no_slot = UNBOUNDED if self.unbounded else memory
        self._label = self._arms.label_getter()
        self._propose: Callable[[Any, Any], int] = self._acts_as.propose
        self._observe: Callable[[Any, int, float, Any], None] = self._acts_as.observe
        self._end_window = turner(self._observe, self._acts_as.waited)

    def _make_lock(self) -> None:
        self._lock = RLock()
        self._acquire, self._release = self._lock.acquire, self._lock.release

    def _check_name_length(self) -> None:
        if not 1 <= len(self.name.encode()) <= 20:
            raise SettingError(f"the name {self.name!r} must have from 1 to 20 letters")

    def _begin(self) -> None:
        """Start as if new."""
        state = self._fresh()
        if isinstance(self._arms, Proposed):
            self._arms.begin(state.arm[: state.held])
        self._state = state

    def _fresh(self) -> State:
        state = self._acts_as.State()
        state.capacity = self._memory
        state.key = self._key
        state.rng = generator_from(self._key)
        self._acts_as.start(state, self._p)
        return state
