"""UCBConstantSpace, as reconstructed, against a plain program with lists and a dictionary."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import pytest

import handful
from handful.errors import SettingError, StateError, UnknownNameError
from handful.policies.constant_space import ConstantSpace, ScanParameters
from handful.policies.settings import Setting
from handful.simulation import cell, simulate
from tests.helpers import drive, order_of, refused
from tests.policies.hands import Coin, Twin, assert_follows
from tests.simulation.agree import assert_engines_agree


class Anytime(ConstantSpace):
    """Not given the horizon, even by the simulator."""

    name = "anytime-space"
    settings: ClassVar[Mapping[str, Setting]] = {"c": ConstantSpace.settings["c"]}

    @classmethod
    def parameters(
        cls, n_arms: int, memory: int, endless: bool, values: dict[str, float]
    ) -> ScanParameters:
        return ScanParameters(n_arms, memory, endless, values["c"], math.nan)


def rounds(order: Iterator[int], K: int, c: float, T: float, flip: Coin) -> Iterator[int]:
    """Scan after scan; a dictionary of those that are in, and a set of all lower bounds."""
    bounds = [(0.0, -1)]
    for r in itertools.count(1):
        inside: dict[int, tuple[float, float]] = {}
        for arm in itertools.islice(order, K):
            rewards: list[float] = []
            while True:
                yield arm
                rewards.append(flip(arm))
                mean = sum(rewards) / len(rewards)
                radius = math.sqrt(c * math.log(T) / len(rewards))
                if mean + radius < max(bounds)[0]:
                    break
                if radius <= 2.0**-r:
                    inside[arm] = mean, radius
                    if mean - radius > max(bounds)[0]:
                        bounds.append((mean - radius, arm))
                    break
        if not inside:
            chosen = max(bounds)[1]
            break
        chosen, *others = sorted(inside, key=lambda arm: -inside[arm][0])
        mean, radius = inside[chosen]
        if not others or sum(inside[others[0]]) < mean - radius:
            break
    while True:
        yield chosen
        flip(chosen)


def twin_of(policy: ConstantSpace, c: float, T: float | None) -> Twin:
    K = policy.n_arms
    order = order_of(policy)
    tried = itertools.count()

    def arms() -> Iterator[int]:
        for position in tried:
            yield order[position % K]

    def twin(flip: Coin) -> Iterator[int]:
        if T is not None:
            yield from rounds(arms(), K, c, T, flip)
        start, end = 0, 2
        while True:
            for arm in itertools.islice(rounds(arms(), K, c, end, flip), end - start):
                yield arm
            flip(arm)
            start, end = end, end * end

    return twin


def world(K: int, seed: int, hard: bool = False) -> Callable[[], Coin]:
    means = [random.Random(seed * 100 + arm).random() for arm in range(K)]
    if hard:
        means = [0.5 + 0.01 * mean for mean in means]

    def rewards() -> Coin:
        flips = random.Random(seed)

        def flip(arm: int) -> float:
            # Dyadic rewards: sums of them are exact in any order.
            if seed % 2:
                return round(64 * means[arm] * flips.random()) / 64
            return float(flips.random() < means[arm])

        return flip

    return rewards


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("c", [2.0, 0.5, 0.02])
@pytest.mark.parametrize("seed", range(4))
def test_it_makes_the_choices_of_a_plain_program(K: int, c: float, seed: int) -> None:
    for hard in (False, True):
        policy = ConstantSpace(K, seed=seed, c=c, horizon=3000)
        assert_follows(policy, twin_of(policy, c, 3000), world(K, seed, hard), 3000)


@pytest.mark.parametrize("K", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("c", [2.0, 0.02])
@pytest.mark.parametrize("seed", range(4))
def test_without_a_horizon_it_starts_again_at_2_to_the_2_to_the_j(
    K: int, c: float, seed: int
) -> None:
    policy = ConstantSpace(K, seed=seed, c=c)
    assert_follows(policy, twin_of(policy, c, None), world(K, seed), 3000)


def test_after_it_has_settled_it_pulls_one_arm_and_recommends_it() -> None:
    policy = ConstantSpace(6, seed=1, horizon=20_000, c=0.5)
    coins = random.Random(1)
    choices = []
    for _ in range(20_000):
        choices.append(policy.select())
        policy.update(choices[-1], float(coins.random() < (0.9 if choices[-1] == 2 else 0.3)))
    assert set(choices[-10_000:]) == {2}
    assert policy.recommend() == 2


@pytest.mark.parametrize("seed", range(12))
def test_when_no_arm_is_in_it_settles_on_the_one_with_the_best_lower_bound(seed: int) -> None:
    # Arm 4 gives L in the first round, of at most 64 pulls an arm. Then every arm falls out.
    policy = ConstantSpace(6, seed=seed, horizon=3000)
    while policy._state.precision != 0.25:  # type: ignore[attr-defined]
        arm = policy.select()
        policy.update(arm, 1.0 if arm == 4 else 0.9)
    assert policy.pulls <= 6 * 65
    choices = []
    for _ in range(1000):
        assert policy.recommend() == 4
        choices.append(policy.select())
        policy.update(choices[-1], 0.0)
    assert set(choices) == set(range(6))
    assert set(choices[-300:]) == {4}


def test_rewards_between_0_and_1_are_used_as_they_are() -> None:
    policy = ConstantSpace(3, seed=1, horizon=100)
    arm = policy.select()
    for _ in range(5):
        policy.update(arm, 0.25)
    assert policy._state.sums[0] == 1.25
    assert policy._state.rng == ConstantSpace(3, seed=1, horizon=100)._state.rng


@pytest.mark.parametrize(
    "instance", ["linear:2", "linear:3", "linear:4", "power:9:0.3", "linear:12"]
)
@pytest.mark.parametrize("distribution", ["", "+beta", "+uniform", "+constant"])
@pytest.mark.parametrize("policy", ["constant-space", "constant-space:c=0.05", Anytime])
def test_the_engines_make_the_same_choices(
    policy: str | type[ConstantSpace], instance: str, distribution: str
) -> None:
    assert_engines_agree(cell(policy, instance + distribution, None, 3000, runs=2, seed=1))


@pytest.mark.parametrize("c", [0.0, -1.0, math.nan, math.inf])
def test_a_width_that_cannot_be_is_refused(c: float) -> None:
    with refused(SettingError, ValueError, "c=", "above 0"):
        handful.policy("constant-space", 9, c=c)


@pytest.mark.parametrize("horizon", [0, 2.5, -3])
def test_a_horizon_that_cannot_be_is_refused(horizon: float) -> None:
    with refused(SettingError, ValueError, "horizon="):
        handful.policy("constant-space", 9, horizon=horizon)
    with refused(UnknownNameError, ValueError, "eta"):
        handful.policy("constant-space", 9, eta=1.0)


def test_endless_arms_are_refused() -> None:
    with refused(SettingError, ValueError, "endless"):
        handful.policy("constant-space", handful.Reservoir(lambda i: i))


@pytest.mark.parametrize("field", ["hand", "best", "champion", "runner_up"])
@pytest.mark.parametrize("slot", [4, 5, -1, 2**31 - 1])
def test_a_slot_that_the_memory_does_not_have_is_refused(field: str, slot: int) -> None:
    policy = ConstantSpace(9, seed=1, horizon=400)
    drive(policy, 60, random.Random(1))
    handful.from_bytes(policy.to_bytes(), arms=9)
    setattr(policy._state, field, slot)
    with refused(StateError, ValueError, "saved policy has", "slot"):
        handful.from_bytes(policy.to_bytes(), arms=9)


@pytest.mark.parametrize("field", ["L", "precision", "T"])
@pytest.mark.parametrize(
    ("value", "said"),
    [(math.nan, "=nan"), (-1.0, "impossible precision"), (-math.inf, "impossible")],
)
def test_a_number_of_the_scan_that_cannot_be_is_refused(
    field: str, value: float, said: str
) -> None:
    policy = ConstantSpace(9, seed=1, horizon=400)
    drive(policy, 60, random.Random(1))
    setattr(policy._state, field, value)
    with refused(StateError, ValueError, said):
        handful.from_bytes(policy.to_bytes(), arms=9)


def test_any_number_of_arms_takes_the_same_memory() -> None:
    sizes = set()
    for K in (4, 9, 10**12, 2**62 - 1):
        policy = ConstantSpace(K, seed=1)
        drive(policy, 300, random.Random(1))
        sizes.add(policy.memory_words)
    assert len(sizes) == 1


@pytest.mark.parametrize("K", [10, 100])
def test_the_paper_s_policies_with_two_arms_have_far_less_regret(K: int) -> None:
    ours = simulate("constant-space", f"linear:{K}", horizon=10**6, runs=6, seed=1).regret
    theirs = simulate("ucb-m", f"linear:{K}", memory=2, horizon=10**6, runs=6, seed=1).regret
    assert ours.mean > 2 * theirs.mean
