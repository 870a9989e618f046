"""The generic kernel, a policy's own functions compiled on a record, is the policy itself.

Every policy is run by it, also those that have faster kernels: the same arm at every pull, and in
the end the same record as the online policy has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import handful
from handful.core.shuffle import arm_at
from handful.core.slots import admit, credit
from handful.core.state import Counts, Float, Int, Slot, State, fields
from handful.policies import POLICIES, Policy, Race
from handful.policies.settings import check_settings
from handful.policies.unbounded import IMEDPolicy
from handful.simulation import compiled, engines, plan, reference
from handful.simulation.kernels.record import RecordSpace, record_kernel, record_space
from handful.simulation.kernels.world import World
from handful.simulation.kinds import RECORDS, kind_of
from handful.simulation.plan import Cell
from handful.simulation.reference import simulate_run
from handful.simulation.seeds import world_key
from tests.helpers import choices_on, tape
from tests.simulation.agree import assert_engines_agree

ONLINE_ONLY = {"pending", "settled", "in_flight"}
"""Fields that tickets and `select` use; in a kernel every reward comes at once."""
ENDLESS = {name for name, policy in POLICIES.items() if policy.endless}
BOTH = {name for name, policy in POLICIES.items() if policy.any_arms and not policy.endless}
CASES = [
    *((name, "finite") for name in POLICIES if name not in ENDLESS),
    *((name, "endless") for name in POLICIES if name in ENDLESS | BOTH),
]
SOME = [
    ("race", "finite"), ("race", "endless"), ("ucb-m", "finite"), ("qts-m", "endless"),
    ("ucb-air", "endless"), ("sqrt-run-tabulated", "endless"), ("random", "finite"),
    ("sliding-window-ts", "finite"),
]  # fmt: skip
"""A representative of each kind of record; the rest are marked long, for the time to compile."""


def cell_of(name: str, arms: str, world: str, on_tape: bool) -> Cell:
    policy = POLICIES[name]
    if policy.own_arms == 2:
        world = "bernoulli:0.6,0.4"
    elif arms == "finite":
        world = f"linear:11+{world}"
    else:
        world = f"beta:1:2:0.8+{world}"
    memory = 3 if policy.takes_memory() else None
    return plan.cell(name, world, memory, 700, runs=2, seed=9, tape=on_tape)


def run_record(cell: Cell, run: int) -> tuple[Any, RecordSpace]:
    """A run by the generic kernel: the regret after each pull, and what the kernel leaves."""
    cell = engines.as_run(cell)
    batch = compiled._batch(cell, list(range(1, cell.horizon + 1)), range(run, run + 1))
    values = check_settings(cell.policy, cell.policy_settings())
    slots = kind_of(cell.policy).slots(cell)
    entries = cell.policy.entries_for(slots, cell.horizon, values)
    space = record_space(cell.policy, slots, entries)
    world = cell.instance
    p = cell.policy.parameters(world.n_arms, cell.memory, world.endless, values)
    policy: Any = cell.policy
    kernel = record_kernel(policy, RECORDS.build(cell, skipping=False))
    kernel(0, p, World.of(world), batch, space.cleared())
    assert not space.failed[0]
    return batch, space


def online_after(cell: Cell, run: int, choices: list[int]) -> Policy:
    """The policy as it is online after a run; the arms that it chose go into the list."""
    made: list[Policy] = []

    class Watched(cell.policy):  # type: ignore[name-defined, misc]
        def __init__(self, *given: Any, **settings: Any) -> None:
            super().__init__(*given, **settings)
            made.append(self)

        def update(self, arm: Any, reward: float) -> None:
            choices.append(arm)
            super().update(arm, reward)

    simulate_run(replace(cell, policy=Watched, known_as=cell.id), run, [cell.horizon])
    return made[0]


def assert_same_record(state: State, space: RecordSpace) -> None:
    for name, kind in fields(type(state)).items():
        if name in ONLINE_ONLY:
            continue
        mine = getattr(state, name)
        if kind.per_slot:
            assert space.slots[name][: state.held].tolist() == mine[: state.held], name
        elif kind.of_history:
            n = state.entries_in_use()
            assert space.history[name][:n].tolist() == mine[:n], name
        else:
            assert space.scalars[0][name].tolist() == mine, name


def assert_kernel_is_the_policy(cell: Cell) -> None:
    """The same arm at each pull, and the same record in the end."""
    for run in range(cell.runs):
        batch, space = run_record(cell, run)
        choices: list[int] = []
        online = online_after(cell, run, choices)
        world = cell.instance
        key = world_key(cell.seed, cell.id, run, cell.tape)
        total = reference.ExactSum()
        regret = []
        for arm in choices:
            total.add(world.best_mean - world.mean(arm, key))
            regret.append(total.value())
        assert batch.regret[0].tolist() == regret
        if batch.pulls.shape[1]:
            assert batch.pulls[0].tolist() == np.bincount(choices, minlength=world.n_arms).tolist()
        assert_same_record(online._state, space)


def kernel_is_the_policy(name: str, arms: str) -> None:
    # Rewards between 0 and 1 on a stream; on a tape, trials.
    assert_kernel_is_the_policy(cell_of(name, arms, "beta", on_tape=False))
    assert_kernel_is_the_policy(cell_of(name, arms, "bernoulli", on_tape=True))


@pytest.mark.parametrize(("name", "arms"), SOME)
def test_the_generic_kernel_of_some_policies_is_the_policy(name: str, arms: str) -> None:
    kernel_is_the_policy(name, arms)


@pytest.mark.long
@pytest.mark.parametrize(("name", "arms"), CASES)
def test_the_generic_kernel_of_every_policy_is_the_policy(name: str, arms: str) -> None:
    kernel_is_the_policy(name, arms)


def test_every_policy_is_among_them() -> None:
    assert {name for name, _ in CASES} == set(POLICIES)
    assert set(SOME) <= set(CASES)


# Race with room for all arms.


@pytest.mark.parametrize("memory", [7, 8, 50])
@pytest.mark.parametrize("seed", range(5))
def test_race_with_room_for_all_arms_is_imed_online(memory: int, seed: int) -> None:
    for coins in (True, False):
        rewards = tape(7, seed, coins)
        race = choices_on(Race(7, memory, seed=seed), 1500, rewards)
        imed = choices_on(IMEDPolicy(7, seed=seed), 1500, rewards)
        assert race == imed
        assert len(set(race)) == 7
    narrow = choices_on(Race(7, 6, seed=seed), 1500, rewards)
    assert narrow != imed


@pytest.mark.parametrize("memory", [7, 20])
@pytest.mark.parametrize("world", ["linear:7", "linear:7+beta"])
@pytest.mark.parametrize("on_tape", [False, True])
def test_race_with_room_for_all_arms_is_imed_in_engines(
    memory: int, world: str, on_tape: bool
) -> None:
    cell = plan.cell("race", world, memory, 1500, runs=2, tape=on_tape)
    assert engines.as_run(cell).policy is IMEDPolicy
    assert_engines_agree(cell)
    # Online it leaves the record that IMED's own functions leave when they are compiled.
    assert_kernel_is_the_policy(cell)


def test_a_race_with_functions_of_its_own_is_not_taken_for_imed() -> None:
    class First(Race):
        name = "first"

        @staticmethod
        def propose(state: Any, p: Any) -> int:
            return 0

    cell = plan.cell(First, "linear:4", 9, 200, runs=2)
    assert engines.as_run(cell).policy is First
    assert_engines_agree(cell)


# A policy of one's own.


class Patience(State):
    """Which slot is in hand, and how many failures in a row each arm has had."""

    hand: Slot
    tried: Int
    best: Float
    failures: Counts


def next_arm(state: Patience, p: Any) -> int:
    position = state.tried % p.K
    state.tried += 1
    return position if p.endless else arm_at(position, p.K, state.key)


class ThreeStrikes(Policy):
    """Pulls an arm until it fails three times in a row, then the next slot, with a fresh arm."""

    name = "three-strikes"
    title = "Three strikes"
    any_arms = True
    State = Patience

    @staticmethod
    def start(state: Patience, p: Any) -> None:
        admit(state, 0, next_arm(state, p))

    @staticmethod
    def propose(state: Patience, p: Any) -> int:
        if state.failures[state.hand] >= 3:
            state.best = max(state.best, state.sums[state.hand] / state.pulls[state.hand])
            state.hand = (state.hand + 1) % min(p.M, p.K)
            arm = next_arm(state, p)
            taken = False
            for slot in range(state.held):
                taken = taken or (state.arm[slot] == arm and slot != state.hand)
            if not taken:
                admit(state, state.hand, arm)
            state.failures[state.hand] = 0
        return state.hand

    @staticmethod
    def observe(state: Patience, slot: int, reward: float, p: Any) -> None:
        credit(state, slot, reward)
        state.failures[slot] = 0 if reward >= 0.5 else state.failures[slot] + 1


def test_a_policy_of_ones_own_runs_online() -> None:
    labels = ["a", "b", "c", "d"]
    policy = ThreeStrikes(labels, 2, seed=1)
    order = [labels[arm_at(position, 4, policy._state.key)] for position in range(4)]
    for expected in order:
        for _ in range(3):
            assert policy.select() == expected
            policy.update(expected, 0.0)
    decisions = [policy.decide() for _ in range(3)]
    # The third failure of the last arm was taken in: the first is back, in the slot of the third.
    assert [decision.arm for decision in decisions] == order[:1] * 3
    assert policy.reward(decisions[2].ticket, 1.0) == "credited"
    twin = ThreeStrikes.from_bytes(policy.to_bytes(), labels)
    assert twin.to_bytes() == policy.to_bytes()
    assert twin._state.failures == policy._state.failures == [0, 3]  # type: ignore[attr-defined]


@pytest.mark.parametrize("world", ["linear:9", "linear:9+beta", "I4"])
def test_a_policy_of_ones_own_runs_in_both_engines_to_the_same_bits(world: str) -> None:
    for on_tape in (False, True):
        cell = plan.cell(ThreeStrikes, world, 3, 2000, runs=3, tape=on_tape)
        assert_engines_agree(cell)
        assert_kernel_is_the_policy(cell)
    slow, fast = (
        handful.simulate(ThreeStrikes, world, memory=3, horizon=2000, runs=3, engine=engine)
        for engine in ("python", "auto")
    )
    assert fast.settings["engine"] == "compiled"
    assert slow.curve.per_run.tolist() == fast.curve.per_run.tolist()
    assert 0 < slow.regret.mean < 2000
