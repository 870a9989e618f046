"""Rules of success runs: each against a list-based twin, and what every policy must do."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handful
from handful.errors import MemoryFullError, RewardError, SettingError
from handful.memory import ArmMemory
from handful.policies import POLICIES, Policy
from handful.policies.automaton import AutomatonPolicy
from handful.simulation import cell, compiled, oracle, simulate
from handful.simulation.plan import log_grid
from tests.helpers import drive, refused, untouched

NAMES = [name for name, cls in POLICIES.items() if issubclass(cls, AutomatonPolicy)]
T = 400
Coin = Callable[[int], float]
Twin = Callable[[Coin], Iterator[int]]


def made(name: str, seed: int = 1, **given: Any) -> Policy:
    cls = POLICIES[name]
    if "horizon" in cls.settings:
        given.setdefault("horizon", T)
    arms: Any = (lambda i: i) if cls.endless else 9
    return handful.policy(name, arms, seed=seed, **given)


def coins(seed: int) -> Coin:
    """Coins of an endless row of arms, each with a mean of its own."""
    flips = random.Random(seed)
    means: dict[int, float] = {}

    def flip(arm: int) -> float:
        if arm not in means:
            means[arm] = random.Random(1000 * seed + arm).choice([0.5, 0.9, 0.97])
        return float(flips.random() < means[arm])

    return flip


def until_failures_in_a_row(limit: Callable[[int], int]) -> Twin:
    def twin(flip: Coin) -> Iterator[int]:
        for arm in itertools.count():
            in_a_row = 0
            while in_a_row < limit(arm + 1):
                yield arm
                in_a_row = 0 if flip(arm) else in_a_row + 1

    return twin


def until_failures(k: int) -> Twin:
    def twin(flip: Coin) -> Iterator[int]:
        for arm in itertools.count():
            failures = 0
            while failures < k:
                yield arm
                failures += not flip(arm)

    return twin


def nonrecalling(flip: Coin) -> Iterator[int]:
    for arm in itertools.count():
        run = 0
        while True:
            yield arm
            won = flip(arm)
            if run < math.sqrt(T):
                run += bool(won)
                if not won:
                    break


def sqrt_run(flip: Coin) -> Iterator[int]:
    runs: list[int] = []
    for arm in range(math.ceil(math.sqrt(T))):
        run = 0
        while True:
            yield arm
            if not flip(arm):
                break
            run += 1
            if run >= math.sqrt(T):
                while True:
                    yield arm
                    flip(arm)
        runs.append(run)
    best = runs.index(max(runs))
    while True:
        yield best
        flip(best)


def learning(flip: Coin) -> Iterator[int]:
    runs = [0]
    arm = 0
    for _ in range(math.ceil(math.sqrt(T) * math.log(T))):
        yield arm
        if flip(arm):
            runs[arm] += 1
        else:
            arm += 1
            runs.append(0)
    best = runs.index(max(runs[: arm + 1]))
    while True:
        yield best
        flip(best)


TWINS: list[tuple[str, dict[str, int], Twin]] = [
    ("herschkorn", {}, until_failures_in_a_row(lambda i: i)),
    ("fixed-run", {"k": 1}, until_failures_in_a_row(lambda i: 1)),
    ("fixed-run", {"k": 3}, until_failures_in_a_row(lambda i: 3)),
    ("k-failure", {}, until_failures(1)),
    ("k-failure", {"k": 4}, until_failures(4)),
    ("nonrecalling-run", {}, nonrecalling),
    ("sqrt-run", {}, sqrt_run),
    ("sqrt-log-learning", {}, learning),
]


@pytest.mark.parametrize(("name", "given", "twin"), TWINS)
@pytest.mark.parametrize("seed", range(12))
def test_it_makes_the_choices_of_a_plain_program(
    name: str, given: dict[str, int], twin: Twin, seed: int
) -> None:
    policy = made(name, **given)
    ours, theirs = coins(seed), coins(seed)
    expected = twin(theirs)
    for t in range(T):
        arm = policy.select()
        assert arm == next(expected), t
        policy.update(arm, ours(arm))


def test_robbins_goes_round_and_round() -> None:
    policy = made("robbins", r=2)
    order = [arm for arm, _ in itertools.groupby(drive_with(policy, 0.0, 36))]
    assert sorted(order[:9]) == list(range(9))
    assert order[9:] == order[:9]
    winner = made("robbins")
    assert set(drive_with(winner, 1.0, 50)) == {winner.recommend()}


def drive_with(policy: Policy, reward: float, pulls: int) -> list[Any]:
    choices = []
    for _ in range(pulls):
        choices.append(policy.select())
        policy.update(choices[-1], reward)
    return choices


@pytest.mark.parametrize("name", NAMES)
@given(cut=st.integers(0, 300), between=st.booleans(), seed=st.integers(0, 99))
@settings(derandomize=True, deadline=None, max_examples=20)
def test_saved_at_any_pull_it_goes_on_as_if_never_stopped(
    name: str, cut: int, between: bool, seed: int
) -> None:
    policy = made(name, seed)
    drive(policy, cut, random.Random(1))
    if between:
        policy.select()
    arms: Any = (lambda i: i) if POLICIES[name].endless else 9
    restored = handful.from_bytes(policy.to_bytes(), arms=arms)
    assert repr(restored) == repr(policy)
    assert drive(restored, 200, random.Random(2)) == drive(policy, 200, random.Random(2))
    assert restored.to_bytes() == policy.to_bytes()
    assert len(policy.arms_in_memory) <= policy.memory == POLICIES[name].own_memory


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_update_changes_nothing(name: str) -> None:
    policy = made(name)
    drive(policy, 30, random.Random(1))
    arm = policy.select()
    for reward in (2.0, math.nan, "1"):
        with untouched(policy), refused(RewardError, ValueError):
            policy.update(arm, reward)  # type: ignore[arg-type]


def test_an_iterators_labels_are_kept_only_while_in_memory() -> None:
    source = handful.Reservoir(f"arm {i}" for i in itertools.count())
    policy = handful.policy("sqrt-run", source, horizon=10**6, seed=1)
    drive_with(policy, 0.0, 300)
    assert len(source._drawn) <= 2


@pytest.mark.parametrize("name", ["nonrecalling-run", "sqrt-run", "sqrt-log-learning"])
def test_the_horizon_must_be_given_to_those_that_plan_for_it(name: str) -> None:
    with refused(SettingError, ValueError, "horizon"):
        handful.policy(name, lambda i: i)


def test_a_memory_of_ones_own_is_refused() -> None:
    with refused(SettingError, ValueError, "1 arm,"):
        handful.policy("herschkorn", lambda i: i, 3)


def test_a_slot_is_given_to_another_arm_with_fresh_statistics() -> None:
    memory = ArmMemory(2)
    memory.put(0, 5)
    memory.put(1, 6)
    memory.record(0, 1.0)
    before = memory.generations[0]
    memory.put(0, 7)
    assert (memory.arms, memory.pulls, memory.sums) == ([7, 6], [0, 0], [0.0, 0.0])
    assert memory.generations[0] > before
    with pytest.raises(MemoryFullError):
        memory.put(0, 6)
    with pytest.raises(MemoryFullError):
        memory.put(2, 8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", ["", "+beta"])
@pytest.mark.parametrize("tape", [True, False])
def test_the_engines_make_the_same_choices(name: str, law: str, tape: bool) -> None:
    world = "I1" if POLICIES[name].endless else "linear:7"
    planned = cell(name, world + law, None, 2000, runs=2, seed=3, tape=tape)
    grid = log_grid(planned.horizon)
    fast = compiled.simulate_runs(planned, grid)
    for run in range(2):
        slow = oracle.simulate_run(planned, run, grid)
        assert fast.regret[run].tolist() == slow.regret[0].tolist()
        if slow.pulls is not None:
            assert fast.pulls is not None
            assert fast.pulls[run].tolist() == slow.pulls[0].tolist()


def test_regret_of_the_nonrecalling_run_is_what_its_closed_form_gives() -> None:
    # A run of 1000 successes never comes where no mean exceeds 0.6, so the rule is 1-failure: an
    # arm of mean mu is pulled 1/(1-mu) times, and a pull wins E[mu/(1-mu)] / E[1/(1-mu)].
    # On I4 mu is uniform on (0, 0.6): 1/(1-mu) has mean ln(2.5)/0.6. 40 runs are within 4 standard
    # errors but for one in 16,000 seeds.
    mean_pulls = math.log(2.5) / 0.6
    expected = 10**6 * (0.6 - (mean_pulls - 1.0) / mean_pulls)
    result = simulate("nonrecalling-run", "I4", horizon=10**6, runs=40, seed=2)
    assert abs(result.regret.mean - expected) < 4 * result.regret.sem
    assert result.regret.sem < 100
    wrong = simulate("k-failure:k=2", "I4", horizon=10**6, runs=40, seed=2)
    assert abs(wrong.regret.mean - expected) < 4 * wrong.regret.sem  # k failures: the same law
    other = simulate("fixed-run:k=2", "I4", horizon=10**6, runs=40, seed=2)
    assert abs(other.regret.mean - expected) > 4 * other.regret.sem
