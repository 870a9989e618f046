from __future__ import annotations

import math
import random

import pytest

from handful.binomial import kl
from handful.rules import IMED, KL_UCB
from handful.rules.kl import kl_upper

RNG = [1, 3]


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        (0.5, 0.5, 0.0),
        (0.5, 0.25, 0.5 * math.log(2) + 0.5 * math.log(2 / 3)),
        (0.0, 0.3, -math.log(0.7)),
        (1.0, 0.3, -math.log(0.3)),
        (0.0, 1.0, math.inf),
        (1.0, 0.0, math.inf),
        (0.4, 0.0, math.inf),
        (0.4, 1.0, math.inf),
    ],
)
def test_the_divergence_is_bernoullis(p: float, q: float, expected: float) -> None:
    assert kl(p, q) == pytest.approx(expected, abs=1e-15)


def test_the_upper_end_solves_the_equation() -> None:
    draws = random.Random(5)
    for _ in range(5000):
        p = draws.choice([draws.random(), draws.random() * 1e-3, 1.0 - draws.random() * 1e-3])
        level = 10.0 ** draws.uniform(-8.0, 1.2)
        q = kl_upper(p, level)
        assert p <= q <= 1.0
        # The root lies within 1e-9 of q, on both sides of which kl passes the level.
        assert kl(p, max(p, q - 1e-9)) <= level * (1 + 1e-9)
        assert q + 1e-9 >= 1.0 or kl(p, q + 1e-9) >= level


@pytest.mark.parametrize(
    ("p", "level", "expected"), [(1.0, 2.0, 1.0), (0.3, 0.0, 0.3), (0.0, 0.5, 1 - math.exp(-0.5))]
)
def test_the_upper_end_at_the_borders(p: float, level: float, expected: float) -> None:
    assert kl_upper(p, level) == pytest.approx(expected, abs=1e-15)


def test_kl_ucb_is_the_upper_end_at_ln_t_over_n() -> None:
    u = KL_UCB.score(10, 4.0, 100, 0, 2, 1.0, RNG)
    assert 10 * kl(0.4, u) == pytest.approx(math.log(100), rel=1e-9)
    assert u > 0.4


def test_imed_prefers_the_least_surprising_best() -> None:
    leader = IMED.score(50, 40.0, 0.8, 60, 0, 2, 1.0, RNG)
    other = IMED.score(10, 5.0, 0.8, 60, 0, 2, 1.0, RNG)
    assert leader == pytest.approx(-math.log(50))
    assert other == pytest.approx(-(10 * kl(0.5, 0.8) + math.log(10)))
