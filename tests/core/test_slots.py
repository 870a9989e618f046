"""What policies do with slots: stays begin, rewards are credited, the most pulled arm is found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.core.slots import admit, credit, grow, most_pulled, slot_of
from handful.core.state import State
from handful.core.tickets import issue
from handful.errors import MemoryFullError
from tests.helpers import refused
from tests.rules.scoring import memory_of


def test_a_stay_begins_with_fresh_statistics_and_the_next_decision() -> None:
    state = State()
    for slot in range(2):
        admit(state, slot, slot)
        issue(state, slot)
    credit(state, 1, 0.5)
    admit(state, 1, 77)
    assert (state.arm[1], state.pulls[1], state.sums[1], state.in_flight[1]) == (77, 0, 0.0, 0)
    assert state.born[1] == state.clock + 1
    assert state.held == 2


def test_memory_beyond_the_bound_is_refused() -> None:
    state = State()
    state.capacity = 2
    admit(state, 0, 5)
    admit(state, 1, 6)
    with refused(MemoryFullError, RuntimeError, "at most 2"):
        admit(state, 2, 7)
    with refused(MemoryFullError, RuntimeError, "at most 2"):
        grow(state, 3)
    assert (state.arm, state.held) == ([5, 6], 2)


def test_rewards_are_credited_and_arms_are_found() -> None:
    state = State()
    for slot, arm in enumerate((5, 6, 7)):
        admit(state, slot, arm)
    for slot, value in ((1, 0.25), (1, 0.5), (2, 1.0), (2, 0.0)):
        credit(state, slot, value)
    assert (state.pulls, state.sums) == ([0, 2, 2], [0.0, 0.75, 1.0])
    assert most_pulled(state) == 1
    assert (slot_of(state, 7), slot_of(state, 8)) == (2, -1)
    state.held = 2
    assert slot_of(state, 7) == -1


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=60))
def test_no_two_stays_with_a_decision_share_a_slot_and_a_beginning(
    steps: list[tuple[bool, int]],
) -> None:
    state = State()
    for slot in range(4):
        admit(state, slot, slot)
    stays = list(range(4))
    decided: dict[tuple[int, int], int] = {}
    for number, (enters, slot) in enumerate(steps, 4):
        if enters:
            admit(state, slot, number)
            stays[slot] = number
        else:
            issue(state, slot)
            assert decided.setdefault((slot, state.born[slot]), stays[slot]) == stays[slot]
            assert state.born[slot] <= state.clock


def most_pulled_of(pulls: list[int]) -> int:
    return most_pulled(memory_of(pulls, [0.0] * len(pulls)))


@pytest.mark.parametrize(
    ("pulls", "slot"),
    [([3], 0), ([1, 2, 3], 2), ([3, 2, 1], 0), ([1, 3, 3], 1), ([2, 2, 2], 0), ([0, 0], 0)],
)
def test_the_most_played_arm_is_found_and_ties_go_to_the_first(pulls: list[int], slot: int) -> None:
    assert most_pulled_of(pulls) == slot


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_no_arm_has_more_pulls_and_none_before_it_as_many(pulls: list[int]) -> None:
    slot = most_pulled_of(pulls)
    assert pulls[slot] == max(pulls)
    assert max(pulls) not in pulls[:slot]
