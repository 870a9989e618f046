"""GLR-klUCB against a plain program that stores every reward since the last restart."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import handful
from handful.core.divergence import kl, kl_upper
from handful.errors import StateError
from handful.policies.restarting import GLRKLUCB, has_changed, period
from handful.simulation import cell
from tests.helpers import drive, refused
from tests.simulation.agree import assert_engines_agree


class Twin:
    """The rule as it is written down, with a list of rewards for each arm."""

    def __init__(self, arms: list[int], T: int, local: bool) -> None:
        self.arms, self.T, self.local = arms, T, local
        self.seen: dict[int, list[float]] = {arm: [] for arm in arms}
        self.tau = dict.fromkeys(arms, 0)
        self.t = self.last = self.restarts = 0

    def choose(self) -> int:
        K = len(self.arms)
        alpha = 0.1 * math.sqrt((self.restarts + 1) * K * math.log(self.T) / self.T)
        turn = (self.t - self.last) % max(K, int(K / min(1, alpha)))
        if turn < K:
            return self.arms[turn]

        def score(arm: int) -> float:
            n = len(self.seen[arm])
            if n == 0:
                return math.inf
            return kl_upper(sum(self.seen[arm]) / n, math.log(self.t - self.tau[arm]) / n)

        return max(self.arms, key=score)

    def changed(self, rewards: list[float]) -> bool:
        n, mean = len(rewards), sum(rewards) / len(rewards)
        width = next(2**k for k in range(60) if n < 64 * 2**k)
        return any(
            i * kl(sum(rewards[:i]) / i, mean) + (n - i) * kl(sum(rewards[i:]) / (n - i), mean)
            >= math.log(3 * n**1.5 * math.sqrt(self.T))
            for i in range(width, n, width)
        )

    def learn(self, arm: int, reward: float) -> None:
        self.t += 1
        rewards = self.seen[arm]
        rewards.append(reward)
        if len(rewards) % 10 == 0 and self.changed(rewards):
            self.restarts += 1
            self.last = self.t
            for other in [arm] if self.local else self.arms:
                self.seen[other] = []
                self.tau[other] = self.t


@pytest.mark.parametrize("local", [True, False])
def test_it_makes_the_choices_of_a_plain_program(local: bool) -> None:
    policy = GLRKLUCB(arms=5, seed=1, horizon=3000, local=local)
    twin = Twin(policy.arms_in_memory, 3000, local)
    dice = random.Random(1)
    for t in range(3000):
        arm = policy.select()
        assert arm == twin.choose(), t
        best = 1 if t < 1000 else 3 if t < 2000 else 0
        reward = float(dice.random() < (0.9 if arm == best else 0.2))
        policy.update(arm, reward)
        twin.learn(arm, reward)
    state: Any = policy._state
    assert state.restarts == twin.restarts > 1
    assert policy.recommend() == 0


def test_no_restart_where_nothing_changes() -> None:
    for seed in range(5):
        policy = GLRKLUCB(arms=4, seed=seed, horizon=2000)
        dice = random.Random(seed)
        for _ in range(2000):
            arm = policy.select()
            policy.update(arm, float(dice.random() < 0.2 * (arm + 1)))
        state: Any = policy._state
        assert state.restarts == 0
        assert policy.recommend() == 3


def test_every_arm_is_explored_in_each_period() -> None:
    policy = GLRKLUCB(arms=6, seed=1, horizon=2000)
    length = period(1, policy._p)
    assert length == int(6 / (0.1 * math.sqrt(6 * math.log(2000) / 2000)))
    chosen = []
    for _ in range(3 * length):
        arm = policy.select()
        chosen.append(arm)
        policy.update(arm, 0.5)
    for turn in range(3):
        assert set(chosen[turn * length : turn * length + 6]) == set(range(6))


def test_blocks_are_merged_and_keep_their_sums() -> None:
    policy = GLRKLUCB(arms=1, seed=1, horizon=10**6)
    rewards = []
    for t in range(1000):
        rewards.append((t * 7 % 10) / 16)
        policy.update(policy.select(), rewards[-1])
        state: Any = policy._state
        width = state.width[0]
        assert width == next(2**k for k in range(60) if t + 1 < 64 * 2**k)
        sums = [sum(rewards[i * width : (i + 1) * width]) for i in range(64)]
        assert state.block == sums
    assert not has_changed(state, 0, policy._p)


WORLDS: list[dict[str, Any]] = [
    {},
    {"delay": "20", "lost": 0.2},
    {"delay": "geometric:30", "drift": "swap:3"},
]


@pytest.mark.parametrize("traffic", WORLDS, ids=str)
def test_the_engines_make_the_same_choices(traffic: dict[str, Any]) -> None:
    for policy in ("glr-klucb", "glr-klucb:local=0"):
        assert_engines_agree(cell(policy, "linear:4", None, 3000, runs=2, **traffic))
    assert_engines_agree(cell("glr-klucb", "linear:9+beta", None, 1500, runs=2, **traffic))


def test_it_starts_again_when_arms_come_or_go() -> None:
    policy = GLRKLUCB(arms=["a", "b", "c"], seed=1, horizon=1000)
    for added, removed in ((["d"], []), ([], ["b"])):
        drive(policy, 50, random.Random(1))
        policy.add_arms(added)
        policy.remove_arms(removed)
        state: Any = policy._state
        assert (sum(state.n), sum(state.block), state.entries) == (0, 0.0, 64 * policy.n_arms)
    twin = handful.from_bytes(policy.to_bytes(), arms=policy.arms)
    assert drive(twin, 50, random.Random(2)) == drive(policy, 50, random.Random(2))


@pytest.mark.parametrize(
    ("field", "value"),
    [("n", -1), ("n", 10**6), ("s", -1.0), ("tau", -1), ("tau", 10**6), ("width", 3), ("width", 0)],
)
def test_forged_blocks_are_refused(field: str, value: float) -> None:
    policy = GLRKLUCB(arms=4, seed=1, horizon=1000)
    drive(policy, 200, random.Random(1))
    getattr(policy._state, field)[2] = value
    with refused(StateError, ValueError, "slot 2"):
        handful.from_bytes(policy.to_bytes(), arms=4)


@pytest.mark.parametrize(
    ("field", "value"), [("restarts", -1), ("restarts", 201), ("restarted", 201)]
)
def test_forged_restarts_are_refused(field: str, value: int) -> None:
    policy = GLRKLUCB(arms=4, seed=1, horizon=1000)
    drive(policy, 200, random.Random(1))
    setattr(policy._state, field, value)
    with refused(StateError, ValueError, "restarted"):
        handful.from_bytes(policy.to_bytes(), arms=4)
