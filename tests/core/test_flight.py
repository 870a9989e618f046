"""Decisions in flight: what becomes of a reward. Tickets, above them, have tests of their own."""

from __future__ import annotations

from handful.core.flight import CREDITED, DUPLICATE, FORGOTTEN, answer, issue, turn_if_due
from handful.core.state import State, admit


def record() -> State:
    state = State()
    admit(state, 0, 7)
    admit(state, 1, 8)
    for slot in (0, 1, 0):
        issue(state, slot)
    return state


def test_a_decision_is_counted_and_in_flight() -> None:
    state = record()
    assert (state.clock, state.in_flight, state.rewards) == (3, [2, 1], 0)


def test_a_reward_is_credited_once() -> None:
    state = record()
    assert answer(state, 1, 2) == CREDITED
    assert (state.in_flight, state.rewards, state.refused) == ([2, 0], 1, 0)
    assert answer(state, 1, 2) == DUPLICATE
    assert (state.in_flight, state.rewards, state.refused) == ([2, 0], 1, 1)


def test_a_reward_of_an_earlier_stay_is_forgotten() -> None:
    state = record()
    admit(state, 0, 9)
    issue(state, 0)
    assert [answer(state, 0, t) for t in (1, 3, 4)] == [FORGOTTEN, FORGOTTEN, CREDITED]
    assert answer(state, 2, 1) == FORGOTTEN  # a slot that is no longer in use
    assert (state.forgotten, state.rewards, state.in_flight) == (3, 1, [0, 1])


def test_without_a_window_nothing_is_written_off() -> None:
    state = record()
    turn_if_due(state, 0)
    assert state.in_flight == [2, 1]
