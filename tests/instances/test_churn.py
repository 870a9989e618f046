"""Arms that come and go: what is refused, and which arms leave."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from handful.core.rng import stream
from handful.errors import SettingError
from handful.instances import instance
from handful.instances.churn import check_churn, churn, newcomer
from handful.instances.traffic import Traffic, traffic
from tests.helpers import refused

Z = 4.9
"""Of a normal number beyond which lies a probability of 10^-6 on both sides together."""


def test_churn_is_part_of_the_name_only_when_given() -> None:
    made = traffic(delay=5, every=1000)
    assert made is not None
    assert made.name == "delay=5 churn=1000"
    assert made.changes_means
    assert traffic(every=None) is None
    late = traffic(delay=5)
    assert late is not None
    assert not late.changes_means


@pytest.mark.parametrize("every", [0, -5, 1.5, "x", True])
def test_a_time_that_cannot_be_is_refused(every: Any) -> None:
    with refused(SettingError, ValueError, "churn="):
        churn(every)


@pytest.mark.parametrize(
    ("world", "every", "mentions"),
    [
        ("I1", 10, "endless"),
        ("linear:4097", 10, "at most 4096"),
        ("bernoulli:0.5", 10, "one arm"),
        ("linear:9", 100, "only 100 decisions"),
    ],
)
def test_instances_whose_arms_cannot_come_and_go(world: str, every: int, mentions: str) -> None:
    with refused(SettingError, ValueError, f"churn={every}", mentions):
        check_churn(every, instance(world), 4096, 100)
    check_churn(99, instance("linear:9"), 4096, 100)


def test_every_arm_leaves_and_every_mean_comes_equally_often() -> None:
    """Fails with a probability of about 10^-5 if the numbers are uniform."""
    rng, n = stream("test", 1), 20_000
    drawn = [newcomer(5, rng) for _ in range(n)]
    for part in (0, 1):
        counts = Counter(pair[part] for pair in drawn)
        assert set(counts) == set(range(5))
        assert all(abs(count - 0.2 * n) < Z * math.sqrt(0.16 * n) for count in counts.values())
    both = sum(one == other for one, other in drawn)
    assert abs(both - 0.2 * n) < Z * math.sqrt(0.16 * n)


def test_a_short_check_sees_arms_leave() -> None:
    assert Traffic(churn=1000).shortened(300).churn == 75
    assert Traffic(churn=0, delay=9).shortened(300).churn == 0
