"""Streaming rules and two targets: each against a plain program with a list of rewards per arm."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import handful
from handful.errors import StateError
from handful.policies import Policy
from handful.simulation import simulate
from tests.helpers import order_of
from tests.policies.hands import Coin, Twin, assert_follows, coins
from tests.policies.test_constant_space import world

T = 2500


def mean(rewards: list[float]) -> float:
    return sum(rewards) / len(rewards)


def interval(rewards: list[float], c: float) -> tuple[float, float]:
    radius = math.sqrt(c * math.log(T) / len(rewards))
    return mean(rewards) - radius, mean(rewards) + radius


def for_ever(arm: int, flip: Coin) -> Iterator[int]:
    while True:
        yield arm
        flip(arm)


def single_pass(order: list[int], flip: Coin) -> Iterator[int]:
    K = len(order)
    seen: dict[int, float] = {}
    for arm in order:
        rewards = []
        for _ in range(math.ceil((T / K) ** (2 / 3))):
            yield arm
            rewards.append(flip(arm))
        seen[arm] = mean(rewards)
    yield from for_ever(max(seen, key=lambda arm: seen[arm]), flip)


def mpse(B: int, c: float) -> Callable[[list[int], Coin], Iterator[int]]:
    def twin(order: list[int], flip: Coin) -> Iterator[int]:
        K = len(order)
        champion = order[0]
        other: int | None = None
        seen: dict[int, list[float]] = {champion: []}
        for p in range(1, B + 1):
            enough = (T * B / K) ** (2 * 2 ** (B - p) * (2**p - 1) / (2 ** (B + 1) - 1))
            for arm in order:
                if arm != other and arm != champion:
                    seen[arm] = []
                yield arm
                seen[arm].append(flip(arm))
                if arm == champion:
                    continue
                other = arm
                while True:
                    one, two = interval(seen[champion], c), interval(seen[arm], c)
                    if one[1] < two[0] or two[1] < one[0]:
                        break
                    if min(len(seen[arm]), len(seen[champion])) >= enough:
                        break
                    next_up = min((arm, champion), key=lambda a: len(seen[a]))
                    yield next_up
                    seen[next_up].append(flip(next_up))
                if mean(seen[arm]) > mean(seen[champion]):
                    champion, other = arm, champion
        yield from for_ever(champion, flip)

    return twin


def mbse(B: int, c: float, M: int) -> Callable[[list[int], Coin], Iterator[int]]:
    def twin(order: list[int], flip: Coin) -> Iterator[int]:
        K = len(order)
        stream = list(itertools.chain.from_iterable([order] * B))
        seen: dict[int, list[float]] = {}
        slots: list[int] = []
        N = [1.0]
        for _ in range(B):
            N.append(math.sqrt(N[-1]) * T ** (2**B / (2 ** (B + 1) - 1)))
        for i, arm in enumerate(stream, 1):
            if arm not in slots:
                slots.append(arm)
                seen[arm] = []
            yield arm
            seen[arm].append(flip(arm))
            if len(slots) < M and i < K:
                continue
            enough = N[1 + (i - 1) // K] / (K * B)
            while True:
                bar = max(interval(seen[a], c)[0] for a in slots)
                alive = [a for a in slots if interval(seen[a], c)[1] >= bar]
                out = [a for a in slots if a not in alive]
                least = min(alive, key=lambda a: len(seen[a]))
                done = len(seen[least]) >= enough
                if i < len(stream) and out:
                    gone = out[-1]
                    break
                if done:
                    gone = min(slots, key=lambda a: mean(seen[a]))
                    break
                yield least
                seen[least].append(flip(least))
            if i == len(stream):
                yield from for_ever(max(slots, key=lambda a: mean(seen[a])), flip)
            upcoming = stream[i]
            if upcoming not in slots:
                slots[slots.index(gone)] = upcoming
                seen[upcoming] = []

    return twin


def game_of_coins(order: list[int], flip: Coin) -> Iterator[int]:
    K = len(order)
    N = math.ceil((T / K) ** (2 / 3))
    yield order[0]
    flip(order[0])
    king, budget = order[0], 0
    for arm in order[1:]:
        budget += 2 * N
        for level in itertools.count():
            tosses = N * 2**level
            if budget < tosses:
                king, budget = arm, 0
                break
            budget -= tosses
            sums = {arm: 0.0, king: 0.0}
            for who in [arm] * tosses + [king] * tosses:
                yield who
                sums[who] += flip(who)
            if sums[king] >= sums[arm]:
                break
    yield from for_ever(king, flip)


def orderly(policy: Any, twin: Callable[[list[int], Coin], Iterator[int]]) -> Twin:
    order = order_of(policy)
    return lambda flip: twin(order, flip)


@pytest.mark.parametrize("K", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("seed", range(4))
def test_they_make_the_choices_of_plain_programs(K: int, seed: int) -> None:
    cases: list[tuple[str, dict[str, Any], Callable[[list[int], Coin], Iterator[int]]]] = [
        ("single-pass", {}, single_pass),
        ("game-of-coins", {}, game_of_coins),
    ]
    for B, c in ((1, 0.5), (2, 0.1), (3, 0.02)):
        cases.append(("mpse", {"passes": B, "c": c}, mpse(B, c)))
        for M in (2, 3, 5):
            cases.append(("mbse", {"passes": B, "c": c, "memory": M}, mbse(B, c, M)))
    for name, given, twin in cases:
        for hard in (False, True):
            policy = handful.policy(name, K, seed=seed, horizon=T, **given)
            assert_follows(policy, orderly(policy, twin), world(K, seed, hard), T)


def two_target(a: float, b: float, m: int) -> Twin:
    first = int((a * T / (b + 1)) ** (1 / (b + 2)))
    second = int(m * (a * T / (b + 1)) ** (1 / (b + 1)))

    def twin(flip: Coin) -> Iterator[int]:
        for arm in itertools.count():
            failures = successes = 0
            while True:
                yield arm
                if flip(arm):
                    successes += 1
                    continue
                failures += 1
                if failures == 1 and successes < first:
                    break
                if failures == m and successes < second:
                    break

    return twin


@pytest.mark.parametrize(("a", "b", "m"), [(1.0, 1.0, 5), (0.375, 2.0, 3), (2.0, 0.5, 1)])
@pytest.mark.parametrize("seed", range(6))
def test_two_targets_are_asked_for(a: float, b: float, m: int, seed: int) -> None:
    policy = handful.policy("two-target", lambda i: i, a=a, b=b, m=m, horizon=T, seed=seed)
    assert_follows(policy, two_target(a, b, m), lambda: coins(seed), T)


@pytest.mark.long
def test_two_targets_have_the_regret_of_the_reference() -> None:
    # The reference has 24,600 on I1 and 1,550 on I2; standard errors of 200 runs are 870 and 64.
    # Both within 4 standard errors but for one in 8,000 seeds; other targets are far off.
    for name, world_name, expected in (
        ("two-target:a=0.375,b=2", "I1", 24_600),
        ("two-target:a=1,b=1", "I2", 1_550),
    ):
        result = simulate(name, world_name, horizon=10**6, runs=200, seed=3)
        assert abs(result.regret.mean - expected) < 4 * result.regret.sem
    wrong = simulate("two-target:a=1,b=1", "I1", horizon=10**6, runs=200, seed=3)
    assert abs(wrong.regret.mean - 24_600) > 4 * wrong.regret.sem


@pytest.mark.long
@pytest.mark.parametrize(("name", "memory"), [("mpse", None), ("mbse", 2)])
def test_a_second_pass_lowers_the_worst_case(name: str, memory: int | None) -> None:
    # One pass has a worst case of order T^(2/3), two of order T^(4/7): at T = 10^8 it shows.
    def worst(passes: int) -> float:
        found = []
        for gap in (0.03, 0.01, 0.004, 0.002):
            means = [0.5 + gap / 2, *[0.5 - gap / 2] * 3]
            result = simulate(
                f"{name}:passes={passes}", means, memory=memory, horizon=10**8, runs=4, seed=1
            )
            found.append(result.regret.mean)
        return max(found)

    assert worst(2) < 0.6 * worst(1)


@pytest.mark.parametrize("name", ["single-pass", "mpse", "mbse", "game-of-coins"])
def test_in_the_end_they_pull_the_arm_that_they_recommend(name: str) -> None:
    memory = 3 if name == "mbse" else None
    policy: Policy = handful.policy(name, 6, memory, seed=1, horizon=20_000)
    dice = random.Random(1)
    choices = []
    for _ in range(20_000):
        choices.append(policy.select())
        policy.update(choices[-1], float(dice.random() < (0.9 if choices[-1] == 2 else 0.3)))
    assert set(choices[-5000:]) == {2}
    assert policy.recommend() == 2


def test_a_state_that_would_put_the_next_arm_in_the_kings_place_is_refused() -> None:
    policy = handful.policy("game-of-coins", arms=9, horizon=1000, seed=1)
    policy.update(policy.select(), 1.0)
    state: Any = policy._state
    state.hand, state.up_next = state.best, 1
    with pytest.raises(StateError, match="in the king's place"):
        handful.from_bytes(policy.to_bytes(), arms=9)
