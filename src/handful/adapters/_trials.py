"""A policy as the fold of the trials of a study, which several workers write.

Optuna numbers trials one by one, whoever makes them, and decisions are made in this order. A worker
records its decision in a system attribute of the trial before it returns it:

    trial     its number: a trial that is tried again has the attributes of the one before
    arm       the configuration
    after     the trials whose results had become known since the decision before, in order
    without   the earlier trials that it left out, since they had no decision for too long

To follow another worker, the results in `after` are given to the policy, and it decides again: the
arm must be the one recorded.

A trial is left out by all if a later decision that counts is `without` it. What counts follows from
the last record backwards: the last one counts, those that it is without do not, and so on. A worker
that was only slow finds its trial left out, or another one finds that it has followed such a trial,
or skipped one that counts; both start the fold again. So all come to the same decisions, whatever
the order in which records were written.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypedDict

from optuna.trial import FrozenTrial, TrialState

import handful
from handful.errors import SettingError

RECORD = "handful"
"""The name of the system attribute."""


class Record(TypedDict):
    """What a worker writes down about a decision."""

    trial: int
    arm: list[Any]
    after: list[int]
    without: list[int]


class Fold:
    """The policy after the decisions of all trials before `next`."""

    def __init__(
        self, policy: handful.Policy, value_range: tuple[float, float], is_loss: bool
    ) -> None:
        self.policy = policy
        self.next = 0
        self._range, self._is_loss = value_range, is_loss
        self._open: dict[int, int] = {}
        """The tickets of trials whose results are not known."""
        self._skipped: set[int] = set()
        """Trials before `next` that are not part of the policy, although they may have records."""
        self._followed: set[int] = set()
        """Trials that the decisions before `next` are without."""
        self._ahead: set[int] = set()
        """Trials that the later decisions are without."""
        self._since: float | None = None

    @property
    def _left_out(self) -> set[int]:
        return self._followed | self._ahead

    def is_outdated(self, trials: Sequence[FrozenTrial]) -> bool:
        """Return whether a trial was followed that is left out now, or skipped and is not."""
        self._look_ahead(trials)
        left_out = self._left_out
        return any(number < self.next for number in left_out - self._skipped) or any(
            record_of(trials[number]) is not None for number in self._skipped - left_out
        )

    def _look_ahead(self, trials: Sequence[FrozenTrial]) -> None:
        self._ahead = set()
        for trial in reversed(trials[self.next :]):
            record = record_of(trial)
            if record is not None and trial.number not in self._ahead:
                self._ahead.update(record["without"])

    def advance(self, trials: Sequence[FrozenTrial], number: int, patience: float) -> None:
        """Follow the decisions of all trials before this number, as far as they are there."""
        self._look_ahead(trials)
        while self.next < number:
            trial = trials[self.next]
            record = record_of(trial)
            if self.next in self._left_out:
                self._skipped.add(self.next)
            elif record is not None:
                self._follow(record, trials)
            elif _may_be_decided(trial):
                now = time.monotonic()
                self._since = now if self._since is None else self._since
                if now - self._since < patience:
                    return
                self._skipped.add(self.next)
            self._since = None
            self.next += 1

    def _follow(self, record: Record, trials: Sequence[FrozenTrial]) -> None:
        """Make the decision of a trial again, which another worker recorded."""
        if not self._open.keys() >= set(record["after"]):
            raise self._other_sampler(record, "that of other trials")
        for number in record["after"]:
            self._settle(self.policy, self._open.pop(number), trials[number])
        decision = self.policy.decide()
        if list(decision.arm) != record["arm"]:
            raise self._other_sampler(record, str(list(decision.arm)))
        self._open[self.next] = decision.ticket
        self._followed.update(record["without"])

    def _other_sampler(self, record: Record, own: str) -> SettingError:
        return SettingError(
            f"trial {self.next} was decided for {record['arm']} by another sampler, and the "
            f"decision of this one would be {own}: give all samplers of a study the same "
            "search_space, policy, memory, value_range, seed and settings, and the same handful"
        )

    def decide(self, trials: Sequence[FrozenTrial]) -> Record:
        """Decide for the trial `next`, and return what is to be recorded."""
        after = [number for number in sorted(self._open) if _is_finished(trials[number])]
        for number in after:
            self._settle(self.policy, self._open.pop(number), trials[number])
        without = sorted(self._skipped - self._left_out)
        decision = self.policy.decide()
        record = Record(trial=self.next, arm=list(decision.arm), after=after, without=without)
        self._open[self.next] = decision.ticket
        self._followed.update(without)
        self.next += 1
        return record

    def with_results(self, trials: Sequence[FrozenTrial]) -> handful.Policy:
        """Return a copy of the policy that knows the results of all trials it decided for."""
        twin = self.policy.clone()
        for number, ticket in sorted(self._open.items()):
            if _is_finished(trials[number]):
                self._settle(twin, ticket, trials[number])
        return twin

    def _settle(self, policy: handful.Policy, ticket: int, trial: FrozenTrial) -> None:
        """Give a policy the result of a trial as a reward.

        A pruned trial has the value that it reported last. One without a value counts as the worst:
        a configuration that always fails would otherwise never be known, and tried for ever.
        """
        lo, hi = self._range
        worst = hi if self._is_loss else lo
        value = worst if trial.value is None else trial.value
        value = lo + hi - value if self._is_loss else value
        policy.reward(ticket, min(max(value, lo), hi))


def record_of(trial: FrozenTrial) -> Record | None:
    """Return the decision of a trial; None if there is none."""
    record: Record | None = trial.system_attrs.get(RECORD)
    return record if record is not None and record["trial"] == trial.number else None


def _is_finished(trial: FrozenTrial) -> bool:
    return trial.state.is_finished()


def _may_be_decided(trial: FrozenTrial) -> bool:
    """Return whether a worker may be about to record a decision for a trial without one."""
    return trial.state is TrialState.RUNNING and not is_given(trial)


def is_given(trial: FrozenTrial) -> bool:
    """Return whether a trial has parameters that this sampler did not decide for."""
    return bool(trial.params) or "fixed_params" in trial.system_attrs
