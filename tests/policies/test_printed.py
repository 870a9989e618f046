"""Algorithm 1 as printed leaves arms out; ours does not. Evidence for docs/mathematics.md."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from handful.policies.schedule import challenger, schedule, sub_phases

Recommend = Callable[[list[int]], int]


def printed_phases(K: int, M: int, phases: int, recommend: Recommend) -> list[set[int]]:
    """The arms, 1 to K in shuffled order, that each phase has in memory, read to the letter."""
    incumbent = 1
    tried = []
    for _ in range(phases):
        last = 0
        tried.append(set[int]())
        for _ in range(sub_phases(K, M)):
            window = list(range(last + 1, min(last + M, K) + 1))
            last = max(window, default=last)
            if incumbent not in window:
                window = [incumbent, *(arm for arm in window if arm != last)]
                last -= 1
            tried[-1].update(window)
            incumbent = recommend(window)
    return tried


def our_phases(K: int, M: int, phases: int, recommend: Recommend) -> list[set[int]]:
    """The same with our challengers."""
    incumbent = start = 1
    tried: list[set[int]] = []
    for now in schedule(K, M):
        if now.w > phases:
            break
        if now.j == 1:
            start = incumbent
            tried.append(set())
        ranks = range(now.lo, now.hi)
        window = [incumbent, *(challenger(rank, start - 1) + 1 for rank in ranks)]
        tried[-1].update(window)
        incumbent = recommend(window)
    return tried


@pytest.mark.parametrize(
    ("K", "M"), [(K, M) for K in (10, 100) for M in (2, 3, 5, 10, 20) if M < K]
)
def test_the_printed_first_phase_never_tries_the_last_arm_and_ours_tries_all(
    K: int, M: int
) -> None:
    draw = random.Random(K * M)
    for _ in range(100):
        printed = printed_phases(K, M, 4, draw.choice)
        assert K not in printed[0]
        assert len(printed[0]) == K - 1
        assert our_phases(K, M, 4, draw.choice) == [set(range(1, K + 1))] * 4


def test_the_printed_later_phases_mostly_miss_an_arm_too() -> None:
    draw = random.Random(1)
    later = [tried for _ in range(200) for tried in printed_phases(100, 10, 4, draw.choice)[1:]]
    assert sum(len(tried) < 100 for tried in later) > 0.9 * len(later)
