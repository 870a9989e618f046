from __future__ import annotations

from itertools import islice, takewhile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handful.policies.schedule import (
    FOREVER,
    SubPhase,
    challenger,
    pulls_before,
    schedule,
    sub_phases,
)

steady = settings(derandomize=True, deadline=None)


@st.composite
def bounded(draw: st.DrawFn, most: int = 200) -> tuple[int, int]:
    """K arms and a memory 2 <= M < K."""
    K = draw(st.integers(3, most))
    return K, draw(st.integers(2, K - 1))


def phases(K: int, M: int, count: int) -> list[list[SubPhase]]:
    walk = takewhile(lambda now: now.w <= count, schedule(K, M))
    by_phase: list[list[SubPhase]] = [[] for _ in range(count)]
    for now in walk:
        by_phase[now.w - 1].append(now)
    return by_phase


def test_the_first_phases_of_five_arms_in_a_memory_of_three_by_hand() -> None:
    # h0 = ceil(4 / 2) = 2, b_1 = 3 * 5 = 15
    assert list(islice(schedule(5, 3), 5)) == [
        SubPhase(w=1, j=1, b=15, lo=0, hi=2),
        SubPhase(w=1, j=2, b=15, lo=2, hi=4),
        SubPhase(w=2, j=1, b=30, lo=0, hi=2),
        SubPhase(w=2, j=2, b=30, lo=2, hi=4),
        SubPhase(w=3, j=1, b=60, lo=0, hi=2),
    ]


def test_a_short_last_window_keeps_the_challengers_that_are_left() -> None:
    # h0 = ceil(5 / 2) = 3: two challengers, two, one
    assert [(now.lo, now.hi) for now in islice(schedule(6, 3), 3)] == [(0, 2), (2, 4), (4, 5)]


@pytest.mark.parametrize(
    ("K", "M", "h0"),
    [
        (3, 2, 2),  # the smallest that does not fit
        (10, 2, 9),
        (10, 4, 3),  # K-1 divisible by M-1
        (11, 4, 4),  # one arm more
        (10, 9, 2),  # M = K-1
        (100, 10, 11),
        (10**12, 8, 142857142857),
        (2**63, 2, 2**63 - 1),
    ],
)
def test_h0_is_the_challengers_shared_out_among_windows(K: int, M: int, h0: int) -> None:
    assert sub_phases(K, M) == h0 == -(-(K - 1) // (M - 1))


@steady
@given(bounded())
@example((3, 2))
@example((10, 4))
@example((11, 4))
@example((10, 9))
def test_every_phase_has_h0_sub_phases_of_b_w_pulls(sizes: tuple[int, int]) -> None:
    K, M = sizes
    for w, phase in enumerate(phases(K, M, 3), start=1):
        assert [now.j for now in phase] == list(range(1, -(-(K - 1) // (M - 1)) + 1))
        assert {now.b for now in phase} == {M * (M + 2) * 2 ** (w - 1)}


@steady
@given(bounded())
@example((3, 2))
@example((10, 4))
@example((11, 4))
@example((10, 9))
def test_every_phase_meets_every_challenger_once_and_never_more_than_fit(
    sizes: tuple[int, int],
) -> None:
    K, M = sizes
    for phase in phases(K, M, 2):
        ranks = [rank for now in phase for rank in range(now.lo, now.hi)]
        assert ranks == list(range(K - 1))
        assert all(1 <= now.hi - now.lo <= M - 1 for now in phase)


@steady
@given(bounded(), st.integers(1, 4), st.data())
def test_the_schedule_can_be_entered_anywhere(
    sizes: tuple[int, int], w: int, data: st.DataObject
) -> None:
    K, M = sizes
    j = data.draw(st.integers(1, sub_phases(K, M)))
    skipped = (w - 1) * sub_phases(K, M) + j - 1
    from_the_start = islice(schedule(K, M), skipped, skipped + 5)
    assert list(islice(schedule(K, M, w, j), 5)) == list(from_the_start)


@steady
@given(bounded(), st.integers(1, 4), st.data())
def test_pulls_before_is_the_sum_of_all_earlier_budgets(
    sizes: tuple[int, int], w: int, data: st.DataObject
) -> None:
    K, M = sizes
    j = data.draw(st.integers(1, sub_phases(K, M)))
    before = takewhile(lambda now: (now.w, now.j) != (w, j), schedule(K, M))
    assert pulls_before(K, M, w, j) == sum(now.b for now in before)


@pytest.mark.parametrize(("K", "M"), [(1, 2), (2, 2), (3, 3), (3, 10), (50, 50)])
def test_arms_that_all_fit_stay_for_ever(K: int, M: int) -> None:
    now = next(schedule(K, M))
    assert now == SubPhase(w=1, j=1, b=FOREVER, lo=0, hi=K - 1)
    assert sub_phases(K, M) == 1
    assert pulls_before(K, M, 1, 1) == 0


@steady
@given(st.integers(1, 300), st.data())
def test_challengers_are_all_positions_but_the_incumbents_in_order(
    K: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, K - 1))
    positions = [challenger(rank, start) for rank in range(K - 1)]
    assert positions == [position for position in range(K) if position != start]


def test_a_trillion_arms_are_scheduled_without_walking_through_them() -> None:
    K, M = 10**12, 8
    h0 = sub_phases(K, M)
    last, following = islice(schedule(K, M, 3, h0), 2)
    assert last.hi == K - 1
    assert (following.w, following.j, following.lo) == (4, 1, 0)
    assert pulls_before(K, M, 4, 1) == 80 * h0 * (1 + 2 + 4)
