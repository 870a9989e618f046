"""What becomes of a record when arms come and go."""

from __future__ import annotations

import random

import pytest

from handful.core.change import as_record, move, rename_removed, vacate, without_arms
from handful.core.flight import FORGOTTEN, answer, issue
from handful.core.slots import admit, slot_of
from handful.core.state import NO_SLOT, Int, Ints, Slot, State


class Owned(State):
    favourite: Slot
    other: Slot
    count: Int
    looks: Ints


def record(*arms: int, news: int = 0) -> Owned:
    state = Owned()
    for slot, arm in enumerate(arms):
        admit(state, slot, arm)
        state.pulls[slot] = 10 + slot
        state.sums[slot] = 1.0 + slot
        state.looks[slot] = 100 + slot
    state.clock = 99
    state.news = news
    return state


@pytest.mark.parametrize("seed", range(20))
def test_new_arms_stay_the_last_and_every_arm_keeps_its_label(seed: int) -> None:
    rng = random.Random(seed)
    labels = [f"old {i}" for i in range(6)] + [f"new {i}" for i in range(3)]
    state = record(*rng.sample(range(9), 4), news=3)
    known = {labels[arm]: state.pulls[slot] for slot, arm in enumerate(state.arm)}
    while len(labels) > 1:
        arm = rng.randrange(len(labels))
        gone = labels[arm]
        slot = slot_of(state, arm)
        rename_removed(state, arm, len(labels))
        del labels[arm]
        if slot >= 0:
            assert state.arm[slot] == -1
            state.arm[slot] = -9
        assert gone not in labels
        first_new = len(labels) - state.news
        assert all(label.startswith("old") for label in labels[:first_new])
        assert all(label.startswith("new") for label in labels[first_new:])
        for at, index in enumerate(state.arm):
            assert index == -9 or known[labels[index]] == state.pulls[at]


def test_a_moved_arm_keeps_its_statistics_but_not_its_open_decisions() -> None:
    state = record(5, 6, 7)
    state.clock = 0
    for slot in (0, 1, 2):
        issue(state, slot)
    state.missing[2] = 1
    move(state, 2, 0)
    assert (state.arm[0], state.pulls[0], state.sums[0], state.looks[0]) == (7, 12, 3.0, 102)
    assert (state.in_flight[0], state.recent[0], state.missing[0], state.born[0]) == (0, 0, 0, 4)
    assert answer(state, 0, 1) == FORGOTTEN


@pytest.mark.parametrize("slot", [0, 1, 2])
def test_a_freed_slot_is_given_to_the_last_arm(slot: int) -> None:
    state = record(5, 6, 7)
    state.favourite, state.other = 2, slot
    vacate(state, slot)
    wanted = [5, 6, 7]
    wanted[slot] = 7
    assert state.held == 2
    assert state.arm[:2] == wanted[:2]
    assert state.favourite == slot
    assert state.other == slot  # the moved arm, or the first free slot


@pytest.mark.parametrize(("pending", "after"), [(0, 0), (1, NO_SLOT), (2, NO_SLOT)])
def test_a_pending_choice_stays_only_with_an_arm_that_was_not_moved(
    pending: int, after: int
) -> None:
    state = record(5, 6, 7)
    state.pending = pending
    vacate(state, 1)
    assert state.pending == after


def test_a_record_of_another_class_has_the_same_arms() -> None:
    class Other(State):
        own: Int
        column: Ints

    state = record(5, 6, news=1)
    state.rng = [3, 7]
    made = as_record(state, Other)
    assert (made.arm, made.pulls, made.sums, made.born) == (
        state.arm, state.pulls, state.sums, state.born,
    )  # fmt: skip
    assert (made.clock, made.held, made.news, made.rng) == (99, 2, 1, [3, 7])
    assert (made.own, made.column) == (0, [0, 0])
    made.rng[0] = made.pulls[0] = 0
    assert (state.rng[0], state.pulls[0]) == (3, 10)


def test_to_start_again_is_to_forget_the_arms_alone() -> None:
    state = record(5, 6, news=1)
    state.favourite, state.count, state.pending, state.forgotten = 1, 4, 0, 3
    made = without_arms(state, Owned)
    assert (made.held, made.arm, made.looks, made.pending) == (0, [], [], NO_SLOT)
    assert (made.favourite, made.count) == (0, 0)
    assert (made.clock, made.news, made.forgotten) == (99, 1, 3)
