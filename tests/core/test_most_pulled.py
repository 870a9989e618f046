from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.core.state import most_pulled
from tests.rules.scoring import memory_of


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
