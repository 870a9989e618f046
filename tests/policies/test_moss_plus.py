"""MOSS++ against a plain program with lists, and the shape of its iterations."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest

import handful
from handful.core.rng import generator_from, uniform
from handful.errors import StateError
from handful.policies.moss_plus import MOSSPlus, first_entry, fresh_arms, iterations, length
from handful.simulation import cell
from tests.helpers import drive, refused
from tests.policies.hands import Coin, assert_follows, coins
from tests.simulation.agree import assert_engines_agree


def test_iterations_have_the_sizes_of_the_paper_s_formulas() -> None:
    p = MOSSPlus(lambda i: i, seed=1, horizon=10**6)._p
    assert iterations(1e6, 0.5) == 10
    assert [fresh_arms(i, p) for i in range(1, 11)] == [2 ** (12 - i) for i in range(1, 11)]
    assert [length(i, p) for i in range(1, 11)] == [2 ** (10 + i) for i in range(1, 11)]
    assert sum(length(i, p) for i in range(1, 11)) > 10**6
    assert [first_entry(i, p) for i in (1, 2, 3)] == [0, 2048, 2048 + 1024 + 1]
    few = MOSSPlus(5, seed=1, horizon=10**6)._p
    assert [fresh_arms(i, few) for i in (1, 9, 10)] == [5, 5, 4]


def twin_of(T: int, key: int) -> Any:
    """Return the rule as it is written down; mixtures are drawn from the same generator."""

    def twin(flip: Coin) -> Iterator[int]:
        rng = generator_from(key)
        P = math.ceil(math.log2(T**0.5))
        fresh = itertools.count()
        past: list[dict[Any, list[float]]] = []

        def drawn(member: Any) -> int:
            while isinstance(member, tuple):
                seen = past[member[1]]
                place = int(uniform(rng) * sum(map(len, seen.values())))
                member = [m for m, rewards in seen.items() for _ in rewards][place]
            return int(member)

        for i in range(1, P + 1):
            now: dict[Any, list[float]] = {next(fresh): [] for _ in range(2 ** (P + 2 - i))}
            now |= {("mixture", j): [] for j in range(i - 1)}
            past.append(now)
            for _ in range(2 ** (P + i)):

                def score(member: Any, now: dict[Any, list[float]] = now, i: int = i) -> float:
                    n = len(now[member])
                    if n == 0:
                        return math.inf
                    bonus = max(0.0, math.log(min(2 ** (P + i), T) / (len(now) * n)))
                    return sum(now[member]) / n + math.sqrt(bonus / n)

                chosen = max(now, key=score)
                arm = drawn(chosen)
                yield arm
                now[chosen].append(flip(arm))

    return twin


@pytest.mark.parametrize("seed", range(2))
def test_it_makes_the_choices_of_a_plain_program(seed: int) -> None:
    policy = MOSSPlus(lambda i: i, seed=seed, horizon=400)
    key = policy._state.key
    assert_follows(policy, twin_of(400, key), lambda: coins(seed), 1000)
    state: Any = policy._state
    assert state.iteration == 5


def test_arms_of_a_small_set_come_again() -> None:
    policy = MOSSPlus(3, seed=1, horizon=1000)
    for _ in range(1500):
        arm = policy.select()
        policy.update(arm, 0.2 + 0.3 * arm)
    state: Any = policy._state
    assert policy.recommend() == 2
    assert policy.arms_in_memory.count(2) == 1
    assert state.iteration == 5


WORLDS: list[dict[str, Any]] = [{}, {"delay": "20", "lost": 0.2}, {"drift": "swap:3"}]


@pytest.mark.parametrize("traffic", WORLDS, ids=str)
def test_the_engines_make_the_same_choices(traffic: dict[str, Any]) -> None:
    assert_engines_agree(cell("mosspp", "linear:90+beta", None, 1500, runs=2, **traffic))
    if "drift" not in traffic:
        assert_engines_agree(cell("mosspp:beta=0.6", "I4", None, 1500, runs=2, **traffic))


@pytest.mark.parametrize(
    ("field", "value"), [("iteration", 0), ("iteration", 6), ("done", -1), ("done", 10**6)]
)
def test_a_forged_iteration_is_refused(field: str, value: int) -> None:
    policy = MOSSPlus(40, seed=1, horizon=1000)
    drive(policy, 200, random.Random(1))
    setattr(policy._state, field, value)
    with refused(StateError, ValueError, "iteration"):
        handful.from_bytes(policy.to_bytes(), arms=40)


@pytest.mark.parametrize(
    ("field", "value"),
    [("slot_of_member", -2), ("n", -1), ("n", 10**6), ("s", 1e6), ("pulled_for", 10**6)],
)
def test_forged_members_are_refused(field: str, value: float) -> None:
    policy = MOSSPlus(40, seed=1, horizon=1000)
    drive(policy, 200, random.Random(1))
    getattr(policy._state, field)[3] = value
    with refused(StateError, ValueError):
        handful.from_bytes(policy.to_bytes(), arms=40)
