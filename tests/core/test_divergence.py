from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext

import pytest

from handful.core import divergence
from handful.core.divergence import FAR, NEAR, kl, kl_upper


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


def exact_upper(p: float, level: float) -> float:
    """By bisection in forty digits."""
    with localcontext(prec=40):
        mean, most = Decimal(p), Decimal(level)
        low, high = mean, Decimal(1)
        for _ in range(70):
            q = (low + high) / 2
            over = mean * (mean / q).ln() + (1 - mean) * ((1 - mean) / (1 - q)).ln() > most
            low, high = (low, q) if over else (q, high)
        return float(low)


def test_the_upper_end_is_right_to_the_last_digits() -> None:
    draws = random.Random(6)
    for _ in range(300):
        near = 10.0 ** draws.uniform(-6.0, 0.0)
        p = draws.choice([draws.random(), 0.9 * near, 1.0 - 0.9 * near])
        # With w on both sides of where a series ends and where it begins to be of use.
        w = draws.choice([NEAR, FAR]) * 10.0 ** draws.uniform(-1.0, 1.0)
        level = 0.5 * p * (1.0 - p) * w * w
        assert kl_upper(p, level) == pytest.approx(exact_upper(p, level), rel=0, abs=1e-14)


def test_few_steps_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def counted(p: float, q: float) -> float:
        nonlocal looks
        looks += 1
        return kl(p, q)

    monkeypatch.setattr(divergence, "kl", counted)
    draws = random.Random(7)
    for _ in range(3000):
        looks = 0
        n, t = int(10.0 ** draws.uniform(0.0, 6.0)), 10.0 ** draws.uniform(0.5, 15.0)
        failures = draws.choice([draws.randint(0, n), min(n, draws.randint(0, 3))])
        p = draws.choice([failures / n, 1.0 - failures / n])
        kl_upper(p, math.log(t) / n)
        assert looks <= 7


def test_values_that_are_hardly_there_do_no_harm() -> None:
    draws = random.Random(8)
    for _ in range(3000):
        near = 10.0 ** draws.uniform(-20.0, -6.0)
        p = draws.choice([near, 1.0 - near, 0.5])
        assert p <= kl_upper(p, 10.0 ** draws.uniform(-19.0, -12.0)) <= 1.0


@pytest.mark.parametrize(
    ("p", "level", "expected"), [(1.0, 2.0, 1.0), (0.3, 0.0, 0.3), (0.0, 0.5, 1 - math.exp(-0.5))]
)
def test_the_upper_end_at_the_borders(p: float, level: float, expected: float) -> None:
    assert kl_upper(p, level) == pytest.approx(expected, abs=1e-15)
