"""Decisions on arms that may end, that a user proposes, or whose means must be known: with care.

The record is copied before the policy is asked for a slot. If the arm that comes up has no label,
the record is again what it was. Then a proposer is asked, and the policy again; or an arm in memory
stands in; or the user is told that the arms have ended.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from handful.core.reservoir import Reservoir
from handful.core.state import State
from handful.errors import ExhaustedError, SettingError
from handful.policies.allowed import stand_in
from handful.policies.proposed import Mark, Proposed
from handful.policies.shown import Shown


class Moment(NamedTuple):
    """A record and proposed arms, to go back to."""

    state: State
    arms: Mark


class Careful(Shown):
    """What `Policy` does where a decision may have to be taken back."""

    def _next_with_care(self, release: bool = True) -> int:
        """Ask the policy for a slot; where the arms end, leave everything as it was.

        Unless `release`, the labels of arms that left memory are held on to.
        """
        if self.clairvoyant and self._mean_of is None:
            raise SettingError(
                f"{self.name} depends on the true means of arms, which only a simulator knows: it "
                "is there to reproduce a printed table; simulate it, or take another policy"
            )
        mark: Mark | None = None
        while True:
            before = self._state.copy()
            slot = self._propose(self._state, self._p)
            state = self._state
            if not 0 <= slot < state.held:
                self._state = before
                return slot
            try:
                self._look(state)
            except ExhaustedError:
                self._state = before
                arms = self._arms
                if isinstance(arms, Proposed):
                    mark = mark or arms.mark()
                    if self._ask(arms, mark):
                        continue
                if isinstance(arms, Reservoir) and arms.is_open:
                    slot = stand_in(before, arms.is_there)
                    if slot >= 0:
                        return slot
                raise
            if state.born[slot] == state.clock + 1:
                if release:
                    self._release_labels()
                self._see()
            return slot

    def _look(self, state: State) -> None:
        """Look at the labels of the arms in memory, which may end here."""
        held = state.arm[: state.held]
        if isinstance(self._arms, Proposed):
            self._arms.hold(held)
        else:
            for arm in held:
                self._arms.label(arm)

    def _ask(self, arms: Proposed, mark: Mark) -> bool:
        """Ask the proposer for an arm; if that fails, leave everything as it was."""
        state, kept = self._state, self._state.copy()
        counts = counts_of(state)
        try:
            found = arms.ask(self._known())
            if self._state is not state or counts_of(state) != counts:
                raise SettingError(
                    "the proposer changed the policy, whose decision it is part of: let it look "
                    "at the arms in memory only"
                )
            return found
        except BaseException:
            self._state = kept
            arms.back_to(mark)
            raise

    def _moment(self) -> Moment | None:
        """Return what it takes to go back to this moment, if the arms are proposed."""
        if not isinstance(self._arms, Proposed):
            return None
        return Moment(self._state.copy(), self._arms.mark())

    def _go_back(self, moment: Moment) -> State:
        """Go back to a moment, and return its record; arms that have come up since wait."""
        assert isinstance(self._arms, Proposed)
        self._arms.put_off(moment.arms)
        self._state = moment.state
        return moment.state

    def _release_labels(self) -> None:
        if not self.recalls:
            self._arms.keep_only(self._state.arm[: self._state.held])

    def _see(self) -> None:
        if self.clairvoyant and self._mean_of is not None:
            state: Any = self._state  # a clairvoyant policy declares the field `true_mean`
            for slot in range(state.held):
                state.true_mean[slot] = self._mean_of(state.arm[slot])


def counts_of(state: State) -> tuple[int, ...]:
    """Return the counters of which every method that changes a policy changes some."""
    return state.clock, state.rewards, state.forgotten, state.refused, state.lost, state.settled
