"""QPM-D: IMED without delay, and a plain program with lists as queues."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from typing import Any

import pytest

import handful
from handful.core.divergence import kl
from handful.errors import StateError
from handful.policies import queued
from handful.policies.queued import QPMD
from handful.simulation import cell
from tests.helpers import drive, refused
from tests.simulation.agree import assert_engines_agree


@pytest.mark.parametrize("seed", range(3))
def test_without_delay_it_is_imed(seed: int) -> None:
    ours, plain = QPMD(arms=9, seed=seed), handful.policy("imed", arms=9, seed=seed)
    assert drive(ours, 800, random.Random(1)) == drive(plain, 800, random.Random(1))
    assert ours.recommend() == plain.recommend()


def imed(seen: dict[int, list[float]], arms: list[int]) -> int:
    """Return the arm that IMED pulls after these rewards."""
    for arm in arms:
        if not seen[arm]:
            return arm
    means = {arm: sum(seen[arm]) / len(seen[arm]) for arm in arms}
    top = max(means.values())
    index = {
        arm: len(seen[arm]) * (kl(means[arm], top) if means[arm] < top else 0.0)
        + math.log(len(seen[arm]))
        for arm in arms
    }
    return min(arms, key=lambda arm: index[arm])


@pytest.mark.parametrize("delay", [1, 7, 40])
def test_it_makes_the_choices_of_a_plain_program_with_first_in_first_out(delay: int) -> None:
    """Rewards depend on the arm alone, so that it does not matter which is taken first."""
    policy = QPMD(arms=6, seed=4)
    arms = policy.arms_in_memory
    seen: dict[int, list[float]] = defaultdict(list)
    queues: dict[int, list[float]] = defaultdict(list)
    waiting: list[tuple[int, int]] = []
    for t in range(600):
        arm = imed(seen, arms)
        while queues[arm]:
            seen[arm].append(queues[arm].pop(0))
            arm = imed(seen, arms)
        decision = policy.decide()
        assert decision.arm == arm, t
        waiting.append((decision.ticket, arm))
        if len(waiting) > delay:
            ticket, then = waiting.pop(0)
            reward = float(then % 2)
            queues[then].append(reward)
            policy.reward(ticket, reward)


def test_an_arm_that_is_waited_for_is_pulled_until_a_reward_comes() -> None:
    policy = QPMD(arms=3, seed=1)
    decisions = policy.decide(20)
    assert len({decision.arm for decision in decisions}) == 1
    policy.reward(decisions[7].ticket, 0.0)
    assert policy.decide().arm != decisions[0].arm


def test_rewards_leave_a_queue_as_they_came_whatever_their_order() -> None:
    policy = QPMD(arms=2, seed=1)
    dice = random.Random(1)
    decisions = policy.decide(300)
    rewards = [dice.choice((0.0, 1.0, dice.random())) for _ in decisions]
    for decision, reward in zip(decisions, rewards, strict=True):
        policy.reward(decision.ticket, reward)
    state: Any = policy._state
    assert queued.queued(state, 0) == 300
    taken = [queued.take(state, 0) for _ in range(300)]
    assert queued.queued(state, 0) == 0
    assert taken.count(1.0) == rewards.count(1.0)
    assert taken.count(0.0) == rewards.count(0.0)
    assert sum(taken) == pytest.approx(sum(rewards))
    assert taken[:100] != sorted(taken[:100])


def test_a_full_queue_gives_to_the_base_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queued, "ROOM", 4)
    policy = QPMD(arms=2, seed=1)
    for decision in policy.decide(9):
        policy.reward(decision.ticket, 1.0)
    state: Any = policy._state
    assert (state.ones[0], state.given[0], state.pulls[0]) == (4, 5, 9)


WORLDS: list[dict[str, Any]] = [
    {},
    {"delay": "20", "lost": 0.2},
    {"delay": "geometric:30", "drift": "swap:3"},
]


@pytest.mark.parametrize("traffic", WORLDS, ids=str)
@pytest.mark.parametrize("world", ["linear:9", "linear:9+beta"])
def test_the_engines_make_the_same_choices(world: str, traffic: dict[str, Any]) -> None:
    assert_engines_agree(cell("qpm-d", world, None, 1500, runs=2, **traffic))


@pytest.mark.parametrize(
    ("field", "value"),
    [("given", -1), ("ones", 3), ("zeros", -1), ("others_sum", 1.5), ("given_sum", 1e9)],
)
def test_a_forged_queue_is_refused(field: str, value: float) -> None:
    policy = QPMD(arms=4, seed=1)
    drive(policy, 50, random.Random(1))
    getattr(policy._state, field)[2] = value
    with refused(StateError, ValueError, "slot 2"):
        handful.from_bytes(policy.to_bytes(), arms=4)


def test_a_queue_longer_than_its_room_is_refused() -> None:
    policy = QPMD(arms=4, seed=1)
    state: Any = policy._state
    state.ones[2] = state.pulls[2] = state.rewards = state.clock = queued.ROOM + 1
    with refused(StateError, ValueError, "slot 2"):
        handful.from_bytes(policy.to_bytes(), arms=4)
