"""What a policy shows: its arms, counters, size, and statistics as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handful.core.arms import FiniteArms
from handful.core.reservoir import Reservoir
from handful.core.state import slot_size
from handful.errors import ExhaustedError
from handful.policies.given import ArmsLike
from handful.policies.saving import Saved
from handful.policies.settings import UNIT

if TYPE_CHECKING:
    from handful.policies.stats import ArmStats, Stats


class Shown(Saved):
    """Everything that can be read off a policy without changing it."""

    @property
    def n_arms(self) -> int:
        """K, the number of arms."""
        return self._arms.n

    @property
    def arms(self) -> ArmsLike:
        """The arms as `from_bytes` takes them: a list of the present labels, if they were listed.

        Arms that were added are at its end, and removing one leaves the order of the others.
        """
        with self._lock:
            arms = self._arms
            return arms.listed() if isinstance(arms, FiniteArms) and arms.is_listed else arms

    @property
    def new_arms_within(self) -> int | None:
        """In how many decisions all arms that were added have entered memory at the latest.

        This holds if every reward counts at once and no arm is barred. None: the policy gives no
        such guarantee. An arm has entered memory when it has statistics; most policies pull it at
        once then.
        """
        with self._lock:
            return self._acts_as.news_within(self._state, self._p)

    @property
    def memory(self) -> int:
        """M, how many arms may have statistics."""
        return self._memory

    @property
    def decisions(self) -> int:
        """How many decisions the policy has made."""
        return self._state.clock

    @property
    def pulls(self) -> int:
        """How many rewards were credited."""
        return self._state.rewards

    @property
    def arms_in_memory(self) -> list[Any]:
        """The labels of the arms that have statistics now."""
        with self._lock:
            return self._held_labels()

    def _held_labels(self) -> list[Any]:
        return [self._arms.label(arm) for arm in self._state.arm[: self._state.held]]

    @property
    def memory_words(self) -> int:
        """The 64-bit words that the whole state takes with every slot in use."""
        with self._lock:
            return self._words()

    def _words(self) -> int:
        free = 0 if self.unbounded else min(self._memory, self.n_arms) - self._state.held
        return -(
            -(len(self._bytes(fingerprint=0)) + max(0, free) * slot_size(self._acts_as.State)) // 8
        )

    def stats(self) -> Stats:
        """Return what is known of each arm in memory, and totals."""
        from handful.policies.stats import Stats  # not needed to decide, and slow to import

        with self._lock:
            state = self._state
            return Stats(
                policy=self._head(),
                arms=self._known(),
                decisions=state.clock,
                rewards=state.rewards,
                forgotten=state.forgotten,
                refused=state.refused,
                lost=state.lost,
                place=f"{self._acts_as.place(state, self._p)}; {self._words()} words of state",
            )

    def _known(self) -> tuple[ArmStats, ...]:
        """Return what is known of each arm in memory."""
        best = self._acts_as.recommend_arm(self._state, self._p)
        return tuple(self._arm_stats(slot, best) for slot in range(self._state.held))

    def _arm_stats(self, slot: int, best: int) -> ArmStats:
        from handful.policies.stats import ArmStats, interval

        state = self._state
        lo, hi = self._rescale or UNIT
        n, s = state.pulls[slot], state.sums[slot]
        low, high = interval(n, s)
        try:
            label = self._arms.label(state.arm[slot])
        except ExhaustedError:
            label = None
        return ArmStats(
            arm=label,
            pulls=n,
            in_flight=state.in_flight[slot] + (slot == state.pending),
            mean=lo + (hi - lo) * s / n if n else float("nan"),
            low=lo + (hi - lo) * low,
            high=lo + (hi - lo) * high,
            recommended=state.arm[slot] == best,
        )

    def _head(self) -> str:
        given = "".join(
            f", {key}={value:g}" for key, value in self._values.items() if value == value
        )
        arms = "endless" if isinstance(self._arms, Reservoir) else self.n_arms
        memory = "unbounded" if self.unbounded else self.memory
        return f"{type(self).__name__}(arms={arms}, memory={memory}{given})"

    def __repr__(self) -> str:
        return str(self.stats())

    def _repr_html_(self) -> str:
        return self.stats()._repr_html_()
