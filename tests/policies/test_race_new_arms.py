"""Race tries a new arm within the number of decisions that it states, whatever its duels.

All rewards are equal, so every duel is a tie and lasts as long as duels can: thousands of
decisions, where new arms are promised within a hundred each. Where rewards come at once one duel is
on; where they are late, all slots have one.
"""

from __future__ import annotations

from collections import deque

import pytest

import handful
from handful.policies import race
from handful.policies.racing.changes import PATIENCE

MEMORIES = (2, 3, 8, 16)
DELAYS = (0, 30, 300)
WAITED = 8_000
"""Decisions before the new arms: enough for duels of some hundred pulls."""
NEW = ["first", "second", "third"]


class Ties:
    """A race in which all arms have the same reward, so many decisions late."""

    def __init__(self, memory: int, delay: int) -> None:
        arms = [f"arm {i}" for i in range(memory + 2)]
        self.policy = handful.Race(arms=arms, memory=memory, seed=1)
        self.delay = delay
        self.awaited: deque[int] = deque()

    def choose(self) -> object:
        """Return the arm of the next decision; give the reward that is due."""
        decision = self.policy.decide()
        self.awaited.append(decision.ticket)
        if len(self.awaited) > self.delay:
            self.policy.reward(self.awaited.popleft(), 0.5)
        return decision.arm


def tried_in_time(memory: int, delay: int) -> bool:
    """Return whether each new arm was tried within a hundred decisions of the one before it."""
    ties = Ties(memory, delay)
    for _ in range(WAITED):
        ties.choose()
    ties.policy.add_arms(NEW)
    within = ties.policy.new_arms_within
    assert within == PATIENCE * len(NEW) + 1
    tried: dict[object, int] = {}
    for at in range(1, within + 1):
        arm = ties.choose()
        if arm in NEW:
            tried.setdefault(arm, at)
        left = len(NEW) - len(tried)
        assert ties.policy.new_arms_within == (PATIENCE * left + 1 if left else 0)
    in_time = [at <= PATIENCE * place for place, at in enumerate(tried.values(), 1)]
    return in_time == [True] * len(NEW)


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_new_arms_are_tried_in_time(memory: int, delay: int) -> None:
    assert tried_in_time(memory, delay)


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_a_race_that_lets_them_wait_for_the_duels_is_noticed(
    memory: int, delay: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "PATIENCE", 10**9)
    assert not tried_in_time(memory, delay)


def test_a_race_that_lets_them_wait_half_as_long_again_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(race, "PATIENCE", PATIENCE * 3 // 2)
    assert not tried_in_time(2, 300)
