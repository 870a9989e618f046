"""What policies say of pulls to come is what their functions make of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from handful.core.reservoir import Reservoir
from handful.policies import POLICIES
from handful.policies.hand import HandPolicy

CALM = [cls for cls in POLICIES.values() if issubclass(cls, HandPolicy) and cls.calm is not None]
AHEAD = 40


def new(cls: type[HandPolicy], seed: int, dice: random.Random) -> HandPolicy:
    arms: Any = Reservoir(lambda i: i) if cls.endless else 2 if cls.name == "cover" else 6
    settings: dict[str, Any] = {}
    if "horizon" in cls.settings and (cls.needs_horizon or dice.random() < 0.5):
        settings["horizon"] = dice.choice([50, 900, 10**6])
    for name in ("k", "r"):
        if name in cls.settings:
            settings[name] = dice.randint(1, 4)
    if "c" in cls.settings:
        settings["c"] = dice.choice([0.05, 2.0])
    # With room for all arms Race is IMED, which says nothing of pulls to come.
    memory = dice.choice([2, 3, 5, 5 if cls.name == "race" else 8]) if cls.takes_memory() else None
    policy = cls(arms, memory, seed=seed, **settings)
    policy.reveal(lambda arm: random.Random(arm).random())
    return policy


def check(policy: HandPolicy, slot: int, wins: list[float]) -> None:
    """The next pulls, with these rewards, keep the slot, and leave the record as foreseen."""
    p = policy._p
    foreseen, walked = policy._state.copy(), policy._state.copy()
    if policy.absorb is not None:
        policy.absorb(foreseen, slot, len(wins), int(sum(wins)), p)
    foreseen.pulls[slot] += len(wins)
    foreseen.sums[slot] += sum(wins)
    foreseen.clock += len(wins)
    foreseen.rewards += len(wins)
    for reward in wins:
        walked.clock += 1
        walked.rewards += 1
        policy.observe(walked, slot, reward, p)
        assert (walked.hand, walked.up_next) == (slot, 0)
    assert foreseen.pack() == walked.pack()
    assert policy.propose(walked, p) == slot
    assert foreseen.pack() == walked.pack()


def test_all_policies_with_an_arm_in_hand_but_one_are_calm_at_times() -> None:
    restless = {name for name, cls in POLICIES.items() if issubclass(cls, HandPolicy)}
    assert restless - {cls.name for cls in CALM} == {"random"}


@pytest.mark.parametrize("cls", CALM, ids=lambda cls: cls.name)
def test_calm_pulls_keep_the_slot(cls: type[HandPolicy]) -> None:
    dice = random.Random(cls.name)
    most = [0, 0]
    for seed in range(12):
        policy = new(cls, seed, dice)
        mean = dice.choice([0.5, 0.9, 0.98])
        for _ in range(400):
            # The kernels ask after they have let the next arm in, and before the pull counts.
            state = policy._state
            slot = policy.propose(state, policy._p)
            policy.reveal(lambda arm: random.Random(arm).random())
            still, run = cls.calm(state, slot, policy._p)
            assert still >= 0
            assert run >= 0
            most = [max(most[0], still), max(most[1], run)]
            pulls = min(still, AHEAD)
            for p in (0.0, 0.5, 1.0) if pulls else ():
                check(policy, slot, [float(dice.random() < p) for _ in range(pulls)])
            if run > 0:
                check(policy, slot, [1.0])
                check(policy, slot, [1.0] * min(run, AHEAD))
            policy.update(policy.select(), float(dice.random() < mean))
    assert max(most) >= 8
