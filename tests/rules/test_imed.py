from __future__ import annotations

import math

import pytest

from handful.core.divergence import kl
from handful.rules import IMED
from handful.rules.imed import index
from tests.rules.scoring import chosen, score


def test_imed_prefers_the_least_surprising_best() -> None:
    leader = score(IMED, 50, 40.0, t=60, top=0.8)
    other = score(IMED, 10, 5.0, t=60, top=0.8)
    assert leader == pytest.approx(-math.log(50))
    assert other == pytest.approx(-(10 * kl(0.5, 0.8) + math.log(10)))
    assert index(10, 5.0, 0.8) == -other


def test_the_highest_mean_in_memory_is_the_top() -> None:
    # ln 50 = 3.9 for the leader, 10 kl(0.5, 0.8) + ln 10 = 4.5, 2 kl(0, 0.8) + ln 2 = 3.9.
    assert chosen(IMED, [50, 10, 2], [40.0, 5.0, 0.0]) == 0
    assert chosen(IMED, [50, 10, 1], [40.0, 5.0, 0.0]) == 2
