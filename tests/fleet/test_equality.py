"""A member of a fleet is the single policy with its seed, whatever happens to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from handful.core.slots import admit, credit, slot_of
from handful.core.state import Float, Int, Ints, Slot
from handful.core.state import State as AnyState
from handful.errors import ContractError
from handful.fleet import Fleet
from handful.policies import Policy
from handful.policies.settings import Setting
from handful.testing.fleets import Life, check_fleet

WAYS: tuple[dict[str, Any], ...] = (
    {}, {"window": 7}, {"clicks_only": 9}, {"rescale": (-1.0, 3.0)}, {"counters": 32},
)  # fmt: skip


@pytest.mark.parametrize("name", ["race", "ucb-m", "ts-m"])
def test_members_live_as_single_policies_do(name: str, tmp_path: Path) -> None:
    for seed in range(6):
        way = {} if seed < 4 else {"window": 7}
        Life(name, seed, tmp_path / f"{seed}", memory=2 + seed % 3, **way).live(60)


@pytest.mark.parametrize("name", ["race", "ucb-m", "ts-m", "imed-m", "moss-m"])
def test_long_lives(name: str, tmp_path: Path) -> None:
    for seed in range(200):
        way = WAYS[seed % len(WAYS)]
        Life(name, seed, tmp_path / f"{seed}", memory=2 + seed % 4, **way).live(150)


class Greedy(Policy):
    """A policy of one's own, with fields of its own: it takes arms in turn, then the best."""

    class State(AnyState):
        turns: Int
        best: Slot
        looks: Ints
        highest: Float

    name = "greedy"
    settings: ClassVar[Mapping[str, Setting]] = {
        "every": Setting(10.0, "explore so often", lambda x: x >= 2, "at least 2")
    }

    @staticmethod
    def start(state: Any, p: Any) -> None:
        state.turns = -1
        admit(state, 0, 0)
        state.looks[0] = 0

    @staticmethod
    def propose(state: Any, p: Any) -> int:
        if state.clock % int(p.every) == 0:
            state.turns += 1
            arm = state.turns % p.K
            if slot_of(state, arm) < 0:
                slot = state.held if state.held < p.M else (state.best + 1) % p.M
                admit(state, slot, arm)
                state.looks[slot] = 0
                return int(slot)
        slot = int(state.best)
        state.looks[slot] += 1
        return slot

    @staticmethod
    def observe(state: Any, slot: int, reward: float, p: Any) -> None:
        credit(state, slot, reward)
        mean = state.sums[slot] / state.pulls[slot]
        if mean >= state.highest or slot == state.best:
            state.highest = mean
            state.best = slot


def test_policies_of_ones_own_live_so_too() -> None:
    check_fleet(Greedy, memory=3, lives=20, steps=100)


def test_a_fleet_that_does_otherwise_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    check_fleet("ucb-m", lives=3, steps=30, window=7)
    monkeypatch.setattr(Fleet, "seed_of", lambda self, member: 1)
    with pytest.raises(ContractError, match=r"ucb-m, check members_live.*: decision of"):
        check_fleet("ucb-m", lives=1, steps=30)


def test_a_member_that_ends_with_other_bytes_fails_the_check(tmp_path: Path) -> None:
    life = Life("ucb-m", 1, tmp_path / "fleet")
    life.live(30, changes=False)
    next(iter(life.singles.values())).decide()
    with pytest.raises(ContractError, match="has other bytes than the single policy"):
        life.look()
