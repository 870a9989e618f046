"""handful's policies in river's loops: the choices of the policy itself, one by one."""

from __future__ import annotations

import copy
import inspect
import pickle
import random
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from river import bandit, stats
from river.checks import common

import handful
from handful.adapters.river import HandfulPolicy
from handful.errors import RewardError, SettingError, UnknownArmError, UnknownNameError

CLICK_RATES = {f"headline {i}": i / 40 for i in range(30)}
STEPS = 400
CHECKS: list[Callable[[Any], None]] = [
    check
    for name, check in inspect.getmembers(common, inspect.isfunction)
    if name.startswith("check_")
    and name != "check_tags"  # those of estimators only
    and list(inspect.signature(check).parameters) in (["model"], ["klass"])
]


def policy_of(adapted: HandfulPolicy) -> handful.Policy:
    assert adapted.bandit is not None
    return adapted.bandit


def clicks(seed: int) -> Callable[[Any], float]:
    """Rewards of a loop: the same random numbers for whoever asks in the same order."""
    rng = random.Random(seed)
    return lambda arm: float(rng.random() < CLICK_RATES[arm])


@pytest.mark.parametrize("name", ["race", "ucb-m", "ts"])
def test_its_choices_are_those_of_the_policy(name: str) -> None:
    arms = list(CLICK_RATES)
    memory = None if name == "ts" else 4
    adapted = HandfulPolicy(name, memory, seed=3)
    alone = handful.policy(name, arms, memory, seed=3)
    theirs, ours = clicks(5), clicks(5)
    for _ in range(STEPS):
        arm = alone.select()
        assert adapted.pull(arms) == adapted.pull(arms) == arm
        alone.update(arm, ours(arm))
        adapted.update(arm, theirs(arm))
    assert adapted.bandit is not None
    assert adapted.bandit.recommend() == alone.recommend()
    assert adapted.bandit.arms_in_memory == alone.arms_in_memory


def test_evaluate_runs_it_beside_river_s_own() -> None:
    env = gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=100)
    bounds = (-10.0, 10.0)
    trace = list(
        bandit.evaluate(
            policies=[
                HandfulPolicy("race", memory=3, rescale=bounds, seed=1),
                bandit.EpsilonGreedy(0.1, seed=1),
            ],
            env=env,
            n_episodes=2,
            seed=9,
        )
    )
    assert len(trace) == 2 * 2 * 100
    for episode in (0, 1):
        own = [s for s in trace if s["episode"] == episode and s["policy_idx"] == 0]
        alone = handful.Race(range(10), 3, rescale=bounds, seed=1)  # each episode has a new one
        for step in own:
            assert step["arm"] == alone.select()
            alone.update(step["arm"], step["reward"])


def test_a_log_is_replayed_as_handful_replays_it() -> None:
    rng = random.Random(2)
    arms: list[int | str] = ["a", "b", "c", "d"]
    rows = [(rng.choice(arms), float(rng.random() < 0.5)) for _ in range(600)]
    adapted = HandfulPolicy("race", memory=2, seed=4)
    total, used = bandit.evaluate_offline(
        adapted, ((arms, {}, arm, reward) for arm, reward in rows), stats.Sum()
    )
    alone = handful.Race(arms, 2, seed=4)
    matched, earned = 0, 0.0
    for arm, reward in rows:
        if alone.select() == arm:
            alone.update(arm, reward)
            matched, earned = matched + 1, earned + reward
    assert used == matched > 100
    assert total.get() == earned > 0.0


def test_arms_that_can_be_pulled_may_change() -> None:
    arms = ["a", "b", "c"]
    adapted, alone = HandfulPolicy("race", 2, seed=8), handful.Race(arms, 2, seed=8)
    rng = random.Random(1)
    for step in range(STEPS):
        if step == 100:
            arms.append("d")  # in place, so that the list is the one of the pull before
            alone.add_arms(["d"])
        among = [arm for arm in arms if arm != "b"] if step % 7 == 1 else arms
        decision = alone.decide(allowed=None if among is arms else among)
        assert adapted.pull(among) == decision.arm
        assert decision.arm in among
        reward = rng.random()
        alone.reward(decision.ticket, reward)
        adapted.update(decision.arm, reward)


def test_an_arm_that_is_named_twice_does_not_stand_for_a_missing_one() -> None:
    adapted = HandfulPolicy("random", seed=8)
    adapted.update(adapted.pull(["a", "b", "c"]), 1.0)
    for _ in range(50):
        arm = adapted.pull(["a", "a", "b"])
        assert arm != "c"
        adapted.update(arm, 1.0)


def test_a_decision_for_an_arm_that_cannot_be_pulled_any_more_is_dropped() -> None:
    adapted = HandfulPolicy("race", 2, seed=8)
    arm = adapted.pull(["a", "b", "c"])
    rest = [other for other in ("a", "b", "c") if other != arm]
    assert adapted.pull(rest) in rest
    assert policy_of(adapted).stats().lost == 1


def test_statistics_are_kept_of_the_arms_in_memory_only() -> None:
    arms = list(CLICK_RATES)
    adapted = HandfulPolicy("race", memory=3, seed=1, reward_obj=stats.Mean())
    world = clicks(1)
    for _ in range(STEPS):
        arm = adapted.pull(arms)
        adapted.update(arm, world(arm))
        assert set(adapted.ranking) <= set(policy_of(adapted).arms_in_memory)
    known = {arm.arm: arm for arm in policy_of(adapted).stats() if arm.pulls}
    assert set(known) == set(adapted.ranking)
    for arm in adapted.ranking:
        shown = adapted._rewards[arm]
        assert isinstance(shown, stats.Mean)
        assert adapted._counts[arm] == known[arm].pulls
        assert shown.get() == pytest.approx(known[arm].mean)
    assert str(adapted.ranking[0]) in repr(adapted)


def test_rewards_of_arms_that_were_not_pulled() -> None:
    adapted = HandfulPolicy("race", memory=2, seed=1)
    with pytest.raises(SettingError, match="pull first"):
        adapted.update("a", 1.0)
    pulled = adapted.pull(["a", "b", "c", "d"])
    assert adapted.bandit is not None
    held = adapted.bandit.arms_in_memory
    strange = next(arm for arm in "abcd" if arm not in held)
    before = adapted.bandit.to_bytes()
    adapted.update(strange, 1.0)  # not in memory: nothing to credit it to
    assert adapted.bandit.to_bytes() == before
    with pytest.raises(UnknownArmError):
        adapted.update("nonsense", 1.0)
    with pytest.raises(RewardError):
        adapted.update(pulled, 7.0)
    with pytest.raises(SettingError, match="2 rewards of"):
        adapted.update(pulled, 1.0, 1.0)
    assert adapted.bandit.to_bytes() == before
    assert adapted.pull(["a", "b", "c", "d"]) == pulled  # whose reward is still awaited
    assert adapted.bandit.to_bytes() == before
    adapted.update(pulled, reward=0.5)
    assert adapted.bandit.pulls == 1


def test_arms_given_as_a_tuple_or_an_array() -> None:
    numbers: Any = np.array([3, 4, 5])
    by_tuple, by_array = HandfulPolicy("race", 2, seed=1), HandfulPolicy("race", 2, seed=1)
    for _ in range(20):
        arm = by_tuple.pull((3, 4, 5))
        assert by_array.pull(numbers) == arm
        assert type(by_array.pull(numbers)) is int
        for policy in (by_tuple, by_array):
            policy.update(arm, 1.0)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError):
        HandfulPolicy("rice").pull(["a", "b"])


@pytest.mark.parametrize("params", [*HandfulPolicy._unit_test_params()], ids=str)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_river_s_own_checks(check: Callable[[Any], None], params: dict[str, Any]) -> None:
    model = HandfulPolicy(**params)
    check(model if "model" in inspect.signature(check).parameters else HandfulPolicy)


def test_a_copy_goes_on_and_a_clone_starts_again() -> None:
    adapted = HandfulPolicy("race", memory=2, seed=5, every=40)
    for _ in range(50):
        adapted.update(adapted.pull("abcdefgh"), 1.0)
    for twin in (copy.deepcopy(adapted), pickle.loads(pickle.dumps(adapted))):
        assert policy_of(twin).to_bytes() == policy_of(adapted).to_bytes()
        other = adapted.clone(include_attributes=True)
        for _ in range(20):
            arm = twin.pull("abcdefgh")
            assert other.pull("abcdefgh") == arm
            twin.update(arm, 0.0)
            other.update(arm, 0.0)
    fresh = adapted.clone()
    assert fresh.bandit is None
    assert fresh._get_params() == adapted._get_params()
