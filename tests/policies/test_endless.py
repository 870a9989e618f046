"""Policies on endless arms, and those without a memory bound: the checks of test_checks.py anew."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handful
from handful import Reservoir
from handful.errors import ExhaustedError, OtherArmsError, SettingError, StateError
from handful.policies import POLICIES, Policy, PooledPolicy
from handful.policies.schedule import first_horizon, rounds
from tests.helpers import drive, plan, refused, untouched
from tests.policies.checked import saved_size

POOLED = [
    name for name, cls in POLICIES.items() if issubclass(cls, PooledPolicy) and not cls.unbounded
]
UNBOUNDED = [
    name for name, cls in POLICIES.items() if cls.unbounded and not (cls.endless or cls.any_arms)
]
GROWING = [name for name, cls in POLICIES.items() if cls.unbounded and cls.endless]
ANY = [name for name, cls in POLICIES.items() if cls.any_arms]
steady = settings(derandomize=True, deadline=None, max_examples=30)


def prompt(index: int) -> str:
    return f"prompt-{index}"


def prompts() -> Iterator[str]:
    return (prompt(i) for i in itertools.count())


def made(name: str, memory: int = 3, seed: int = 5, **settings: Any) -> Policy:
    cls = POLICIES[name]
    arms: Any = prompt if cls.endless or cls.any_arms else 12
    given = {**plan(name), **settings}
    return handful.policy(name, arms, bound(name, memory), seed=seed, **given)


def bound(name: str, memory: int = 3) -> int | None:
    """The memory, for policies that take one."""
    return memory if POLICIES[name].takes_memory() else None


def test_rounds_have_the_sizes_that_the_paper_s_formulas_give() -> None:
    small = list(itertools.islice(rounds(0, first_horizon(2, 0.347), 0.347), 13))
    assert [r.arms for r in small] == [6, 8, 9, 12, 15, 19, 24, 30, 39, 49, 62, 79, 100]
    large = list(itertools.islice(rounds(0, first_horizon(10, 0.347), 0.347), 4))
    assert [r.pulls for r in large] == [103864, 207729, 415459, 830918]
    assert [r.arms for r in large] == [56, 71, 90, 114]
    assert first_horizon(2, 0.347) == pytest.approx(69.82, abs=0.01)


@pytest.mark.parametrize("name", POOLED)
@given(memory=st.integers(2, 6), seed=st.integers(0, 2**70))
@steady
def test_the_memory_bound_holds_and_the_pool_grows(name: str, memory: int, seed: int) -> None:
    policy = made(name, memory, seed)
    seen: set[str] = set()
    rewards = random.Random(seed)
    shape = policy.round_shape(memory, policy._values)  # type: ignore[attr-defined]
    pools = rounds(0, *shape)
    now = next(pools)
    end = now.pulls
    for t in range(1500):
        if t == end:
            now = next(pools)
            end += now.pulls
        arm = policy.select()
        seen.add(arm)
        assert len(policy.arms_in_memory) <= memory
        assert {int(label[7:]) for label in policy.arms_in_memory} <= set(range(now.arms))
        policy.update(arm, rewards.random())
    assert policy.pulls == 1500
    assert len(policy.to_bytes()) == saved_size(policy)


@pytest.mark.parametrize("name", POOLED)
def test_every_phase_of_a_round_puts_its_whole_pool_in_memory(name: str) -> None:
    policy = made(name, memory=2, seed=3)
    # M = 2: the first round has 139 pulls on 6 arms, and its first phase 5 sub-phases of 8 pulls.
    met: set[str] = set()
    for _ in range(40):
        arm = policy.select()
        met |= set(policy.arms_in_memory)
        policy.update(arm, 0.0)
    assert met == {prompt(i) for i in range(6)}


@pytest.mark.parametrize("name", [*POOLED, *UNBOUNDED, *GROWING, *ANY])
@given(cut=st.integers(0, 600), between=st.booleans(), seed=st.integers(0, 99))
@settings(derandomize=True, deadline=None, max_examples=15)
def test_saved_at_any_pull_it_goes_on_as_if_never_stopped(
    name: str, cut: int, between: bool, seed: int
) -> None:
    policy = made(name, seed=seed)
    drive(policy, cut, random.Random(1))
    if between:
        policy.select()
    restored = handful.from_bytes(policy.to_bytes(), arms=policy._arms)
    assert restored.to_bytes() == policy.to_bytes()
    assert repr(restored) == repr(policy)
    assert restored.recommend() == policy.recommend()
    assert drive(restored, 300, random.Random(2)) == drive(policy, 300, random.Random(2))
    assert restored.to_bytes() == policy.to_bytes()


@pytest.mark.parametrize("name", ["ucb-m", "qucb-m", "imed"])
def test_copies_and_pickles_are_clones(name: str) -> None:
    policy = made(name)
    drive(policy, 50, random.Random(1))
    for other in (copy.copy(policy), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        with untouched(policy):
            assert other.to_bytes() == policy.to_bytes()
            drive(other, 20, random.Random(3))


@pytest.mark.parametrize("name", [*POOLED, *GROWING, *ANY])
def test_an_iterator_and_a_function_of_the_same_labels_make_the_same_choices(name: str) -> None:
    by_index = made(name, seed=4)
    in_order = handful.policy(name, prompts(), bound(name), seed=4, **plan(name))
    drawn = drive(in_order, 700, random.Random(1))
    assert drawn == drive(by_index, 700, random.Random(1))


def test_a_state_on_an_iterator_needs_a_new_one_from_the_first_label_on() -> None:
    policy = handful.QUCBM(prompts(), 2, seed=1)
    drive(policy, 300, random.Random(1))
    restored = handful.from_bytes(policy.to_bytes(), arms=prompts())
    assert drive(restored, 300, random.Random(2)) == drive(policy, 300, random.Random(2))
    with refused(OtherArmsError, ValueError, "other arms"):
        handful.from_bytes(policy.to_bytes(), arms=(f"x{i}" for i in itertools.count()))


def test_an_iterator_that_ends_is_a_clear_error_and_the_policy_can_be_saved() -> None:
    policy = handful.QUCBM(iter(["a", "b", "c"]), 2, seed=1)
    with refused(ExhaustedError, RuntimeError, "ended after 3 arms"):
        drive(policy, 1000, random.Random(1))
    blob = policy.to_bytes()
    with refused(ExhaustedError, RuntimeError, "ended after 3 arms"):
        policy.select()
    assert policy.to_bytes() == blob


@pytest.mark.parametrize("name", ["race", "ucb-air"])
def test_of_many_decisions_at_once_all_are_made_or_none(name: str) -> None:
    settings = {"memory": 4} if name == "race" else {}
    policy, free = (handful.policy(name, arms=iter("abc"), seed=1, **settings) for _ in range(2))
    before = policy.to_bytes()
    with pytest.raises(ExhaustedError):
        policy.decide(100)
    assert policy.to_bytes() == before
    made = policy.decide(3)
    assert made == [free.decide() for _ in range(3)]
    assert [policy.reward(ticket, 0.0) for _, ticket in made]


def test_labels_that_repeat_are_arms_of_their_own() -> None:
    policy = handful.QUCBM(itertools.cycle(["a", "b"]), 3, seed=1)
    drive(policy, 1000, random.Random(1))
    assert policy.pulls == 1000
    assert set(policy.arms_in_memory) <= {"a", "b"}
    assert len(policy.arms_in_memory) == 3


@pytest.mark.parametrize("arms", [5, ["a", "b"], ("a", "b"), range(9)])
def test_finite_arms_are_refused_by_policies_on_endless_ones(arms: Any) -> None:
    with refused(SettingError, ValueError, "finite", "ucb-m"):
        handful.QUCBM(arms, 2)


def test_endless_arms_are_refused_by_policies_on_finite_ones() -> None:
    with refused(SettingError, ValueError, "endless", "qucb-m"):
        handful.UCBM(Reservoir(prompt), 2)
    with refused(SettingError, ValueError, "number of arms"):
        handful.UCBM(prompt, 2)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_alpha_lies_between_0_and_1(alpha: float) -> None:
    with refused(SettingError, ValueError, "alpha"):
        handful.QUCBM(prompt, 2, alpha=alpha)


def test_a_memory_larger_than_the_pool_runs_the_plain_rule_on_all_of_it() -> None:
    policy = handful.QUCBM(prompt, 50, alpha=0.1, seed=1)
    pool = next(rounds(0, first_horizon(50, 0.1), 0.1)).arms
    assert pool < 50
    assert sorted(policy.arms_in_memory) == sorted(prompt(i) for i in range(pool))


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_policies_keep_every_arm_and_take_no_other_memory(name: str) -> None:
    policy = made(name)
    assert len(policy.arms_in_memory) == 12
    assert "memory=unbounded" in repr(policy)
    with refused(SettingError, ValueError, "every arm"):
        handful.policy(name, 12, 3)
    with refused(SettingError, ValueError, "too many"):
        handful.policy(name, 10**12)


@pytest.mark.parametrize(("name", "same"), [("ucb1", "ucb-m"), ("ts", "ts-m"), ("moss", "moss-m")])
def test_unbounded_policies_are_the_bounded_ones_with_all_arms_in_memory(
    name: str, same: str
) -> None:
    one, other = made(name, seed=7), handful.policy(same, 12, 12, seed=7)
    assert drive(one, 400, random.Random(1)) == drive(other, 400, random.Random(1))


def test_they_find_the_best_arm() -> None:
    for name in UNBOUNDED:
        policy = made(name, seed=2)
        coins = random.Random(3)
        for _ in range(3000):
            arm = policy.select()
            policy.update(arm, float(coins.random() < (0.9 if arm == 4 else 0.3)))
        assert policy.recommend() == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"round": 0}, "round 0"),
        ({"round": 100}, "round 100"),
        ({"carried": 6}, "carries an arm"),
        ({"carried": -2}, "carries an arm"),
        ({"round_done": -1}, "too soon"),
        ({"round_done": 61}, "round"),
    ],
)
def test_a_place_in_the_rounds_that_cannot_be_is_refused(change: dict[str, int], said: str) -> None:
    policy = handful.QTSM(prompt, 2, seed=1)
    drive(policy, 60, random.Random(1))
    handful.from_bytes(policy.to_bytes(), arms=prompt)
    for field, value in change.items():
        setattr(policy._state, field, value)
    with refused(StateError, ValueError, "saved", said):
        handful.from_bytes(policy.to_bytes(), arms=prompt)


def test_a_pooled_policy_without_an_alpha_is_refused() -> None:
    class NoAlpha(handful.PooledPolicy):
        name = "no-alpha"
        rule = handful.QMOSSM.rule

    with pytest.raises(SettingError, match="NoAlpha has no setting alpha"):
        NoAlpha(prompt, 3)


def test_a_policy_whose_iterator_ended_can_still_be_shown() -> None:
    policy = handful.QUCBM(iter("abcdefgh"), 2, seed=1)

    def use_up() -> None:
        for _ in range(10**4):
            policy.update(policy.select(), 0.5)

    with pytest.raises(ExhaustedError, match="to_bytes"):
        use_up()
    rows = repr(policy).splitlines()[2:-1]
    assert [row.split("'")[1] for row in rows] == policy.arms_in_memory
    assert set(policy.arms_in_memory) <= set("abcdefgh")
    assert policy.recommend() in "abcdefgh"
    longer = handful.from_bytes(policy.to_bytes(), arms=iter("abcdefghijklmnopqrstuvwxyz"))
    assert policy.pulls < 1000
    drive(longer, 100, random.Random(1))
    assert longer.pulls == policy.pulls + 100


def test_a_state_of_endless_arms_is_not_for_a_list() -> None:
    blob = handful.Race(handful.Reservoir(str), memory=2, seed=1).to_bytes()
    with pytest.raises(OtherArmsError, match="on endless arms, but 2 were given"):
        handful.from_bytes(blob, arms=["a", "b"])
