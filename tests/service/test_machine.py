"""The desk against a model of dictionaries, and deliberate mistakes that the model must notice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from handful.core.rng import generator_from
from handful.core.tickets import Receipt
from handful.service import bandits, decision_requests
from handful.service.bandit import Bandit
from handful.service.bandits import Bandits
from handful.service.bodies import Outcome
from handful.service.desk import Session
from handful.service.windows import Windows
from handful.storage.rows import Due, Kind
from tests.service.machine import DiskMachine, Machine

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def run(machine: type[Machine], examples: int, steps: int) -> None:
    """Run a machine; do not shrink, which takes long."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=QUIET,
            phases=(Phase.generate,),
            database=None,
        ),
    )


@pytest.mark.parametrize(("machine", "examples"), [(Machine, 100), (DiskMachine, 40)])
def test_the_desk_agrees_with_a_model(machine: type[Machine], examples: int) -> None:
    run(machine, examples, 40)


@pytest.mark.parametrize("machine", [Machine, DiskMachine])
def test_long_the_desk_agrees_with_a_model(machine: type[Machine]) -> None:
    run(machine, 600, 100)


Mistake = Callable[[pytest.MonkeyPatch], None]


def _duplicates_count(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Session, "answer_to", lambda self, decision: None)


def _conflicts_pass(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decision_requests, "_again", lambda answer, value: Outcome("duplicate"))


def _late_is_not_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bandit, "late", lambda self: None)


def _windows_end_twice(patch: pytest.MonkeyPatch) -> None:
    close = Bandit.close

    def twice(self: Bandit, upto: int, due: Iterable[Due]) -> None:
        listed = list(due)
        close(self, upto, listed)
        self.counted.closed = 0

    patch.setattr(Bandit, "close", twice)


def _windows_never_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Windows, "watch", lambda self, tx, window, after: None)


def _dropped_is_rewarded(patch: pytest.MonkeyPatch) -> None:
    def drop(self: Bandit, ticket: int | None) -> Receipt:
        self.reward(ticket, 0.0, 0)
        return Receipt.DROPPED

    patch.setattr(Bandit, "drop", drop)


def _own_keys_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Session, "_made_before", lambda self, number, keys: [])


def _tails_are_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bandits, "_known_tails", lambda self, tx: {})


def _rollback_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bandits, "forget", lambda self: None)


def _the_explorer_starts_again(patch: pytest.MonkeyPatch) -> None:
    restored: Any = Bandit.from_bytes.__func__  # type: ignore[attr-defined]

    def from_bytes(cls: type[Bandit], body: bytes, labels: Any) -> Bandit:
        found: Bandit = restored(cls, body, labels)
        found.explorer = list(generator_from(1))
        return found

    patch.setattr(Bandit, "from_bytes", classmethod(from_bytes))


def _removed_arms_come_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bandit, "_permitted", lambda self, allowed: allowed)


def _allowed_is_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Session, "_allowed", lambda self, bandit, labels: (None, None))


def _changes_are_not_logged(patch: pytest.MonkeyPatch) -> None:
    fold = Bandit.fold

    def forgetful(self: Bandit, row: Any, look_up: Any) -> None:
        if row.kind != Kind.CHANGED:
            fold(self, row, look_up)

    patch.setattr(Bandit, "fold", forgetful)


def _deleted_bandits_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Session, "delete", lambda self, name: None)


MISTAKES: tuple[Mistake, ...] = (
    _duplicates_count,
    _conflicts_pass,
    _late_is_not_counted,
    _windows_end_twice,
    _windows_never_end,
    _dropped_is_rewarded,
    _own_keys_are_ignored,
    _tails_are_lost,
    _rollback_is_forgotten,
    _the_explorer_starts_again,
    _removed_arms_come_back,
    _allowed_is_ignored,
    _changes_are_not_logged,
    _deleted_bandits_stay,
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.__name__.strip("_"))
def test_a_mistake_is_noticed(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    before = bandits.MOST_ROWS, bandits.MOST_LIVE
    with pytest.raises(Exception):  # noqa: B017, PT011
        run(Machine, 200, 40)
    bandits.MOST_ROWS, bandits.MOST_LIVE = before
