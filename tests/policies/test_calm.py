"""What automata say of pulls to come is what their steps make of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from handful.core.reservoir import Reservoir
from handful.policies import POLICIES
from handful.policies.automaton import KEEP, AutomatonPolicy

AUTOMATA = [cls for cls in POLICIES.values() if issubclass(cls, AutomatonPolicy)]
AHEAD = 40


def new(cls: type[AutomatonPolicy], seed: int, dice: random.Random) -> AutomatonPolicy:
    arms: Any = Reservoir(lambda i: i) if cls.endless else 2 if cls.name == "cover" else 6
    settings: dict[str, Any] = {}
    if "horizon" in cls.settings and (cls.needs_horizon or dice.random() < 0.5):
        settings["horizon"] = dice.choice([50, 900, 10**6])
    for name in ("k", "r"):
        if name in cls.settings:
            settings[name] = dice.randint(1, 4)
    if "c" in cls.settings:
        settings["c"] = dice.choice([0.05, 2.0])
    memory = dice.choice([2, 3, 5, 8]) if cls.takes_memory() else None
    policy = cls(arms, memory, seed=seed, **settings)
    policy.reveal(lambda arm: random.Random(arm).random())
    return policy


def check(policy: AutomatonPolicy, pulls: int, wins: list[float]) -> None:
    """The next pulls, with these rewards, keep the slot, and leave the registers as told."""
    machine = policy.automaton
    slot, K, T, p = policy._slot, policy._arms.n, policy._horizon, policy._parameters
    n, s = list(policy._memory.pulls), list(policy._memory.sums)
    told = list(policy._registers)
    good = int(sum(wins))
    machine.absorb(slot, pulls, good, policy._tried, K, list(n), list(s), told, T, p)
    walked = list(policy._registers)
    for reward in wins:
        n[slot] += 1
        s[slot] += reward
        after = machine.step(slot, reward, policy._tried, K, n, s, walked, T, p)
        assert after == (slot, KEEP)
    assert told == walked


@pytest.mark.parametrize("cls", AUTOMATA, ids=lambda cls: cls.name)
def test_calm_pulls_keep_the_slot(cls: type[AutomatonPolicy]) -> None:
    machine = cls.automaton
    assert machine.calm is not None
    dice = random.Random(cls.name)
    most = [0, 0]
    for seed in range(12):
        policy = new(cls, seed, dice)
        chance = dice.choice([0.5, 0.9, 0.98])
        for _ in range(400):
            still, run = machine.calm(
                policy._slot, policy._tried, policy._arms.n, policy._memory.pulls,
                policy._memory.sums, policy._registers, policy._horizon, policy._parameters,
            )  # fmt: skip
            assert still >= 0
            assert run >= 0
            most = [max(most[0], still), max(most[1], run)]
            pulls = min(still, AHEAD)
            for p in (0.0, 0.5, 1.0):
                check(policy, pulls, [float(dice.random() < p) for _ in range(pulls)])
            if run > 0:
                check(policy, min(run, AHEAD), [1.0] * min(run, AHEAD))
            policy.update(policy.select(), float(dice.random() < chance))
    assert max(most) >= 8
