"""Pekoz-style rules against plain programs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import handful
from handful.errors import SettingError
from handful.policies import POLICIES
from handful.simulation import cell, simulate
from tests.helpers import refused
from tests.policies.hands import Coin, Twin, assert_follows, coins, made
from tests.simulation.agree import assert_engines_agree


def looks(k_of: Callable[[int], int], f1: float) -> Twin:
    def twin(flip: Coin) -> Iterator[int]:
        for arm in itertools.count():
            seen = []
            for _ in range(k_of(arm + 1)):
                yield arm
                seen.append(flip(arm))
            for _ in range(math.ceil(math.prod(1.0 + (f1 - 1.0) * x for x in seen))):
                yield arm
                flip(arm)

    return twin


CASES: list[tuple[str, dict[str, float], Twin]] = [
    ("pekoz-a", {}, looks(lambda i: 10, 2.0)),
    ("pekoz-a", {"k": 1}, looks(lambda i: 1, 2.0)),
    ("pekoz-a", {"k": 3, "f1": 3.5}, looks(lambda i: 3, 3.5)),
    ("pekoz-a", {"k": 4, "f1": 1}, looks(lambda i: 4, 1.0)),
    ("pekoz-b", {}, looks(lambda i: i, 2.0)),
    ("pekoz-b", {"f1": 1.25}, looks(lambda i: i, 1.25)),
]


@pytest.mark.parametrize(("name", "given", "twin"), CASES)
@pytest.mark.parametrize("seed", range(5))
def test_it_makes_the_choices_of_a_plain_program(
    name: str, given: dict[str, Any], twin: Twin, seed: int
) -> None:
    def between() -> Coin:
        flips = random.Random(seed)
        return lambda arm: flips.random()

    assert_follows(made(name, **given), twin, lambda: coins(seed), 1000)
    assert_follows(made(name, **given), twin, between, 1000)


@pytest.mark.parametrize("name", ["pekoz-a:k=3", "pekoz-a:f1=3.5", "pekoz-b", "pekoz-b:f1=1.1"])
@pytest.mark.parametrize("world", ["I1", "I2", "I2+beta", "I4+uniform"])
def test_the_engines_make_the_same_choices(name: str, world: str) -> None:
    assert_engines_agree(cell(name, world, None, 4000, runs=2, seed=6))


def test_more_looks_keep_better_arms_longer() -> None:
    # On I2 an arm with mean m stays for (1 + m)^k pulls on average, so a large k favours large m.
    few, many = (
        simulate(f"pekoz-a:k={k}", "I2", horizon=10**5, runs=40, seed=1).regret for k in (1, 8)
    )
    assert many.mean + 4 * many.sem < few.mean - 4 * few.sem


@pytest.mark.parametrize(
    ("name", "given"), [("pekoz-a", {"k": 0}), ("pekoz-a", {"k": 1.5}), ("pekoz-b", {"f1": 0.5})]
)
def test_settings_that_cannot_be_are_refused(name: str, given: dict[str, Any]) -> None:
    with refused(SettingError, ValueError, f"{next(iter(given))}="):
        handful.policy(name, lambda i: i, **given)


@pytest.mark.parametrize("name", ["pekoz-a", "pekoz-b"])
def test_it_says_that_it_is_a_reconstruction(name: str) -> None:
    cls = POLICIES[name]
    assert all("reconstruction" in text for text in (cls.title, cls.summary, cls.citation))
