"""Thompson sampling that forgets: against plain sums over the whole list of rewards."""

from __future__ import annotations

import random
from typing import Any

import pytest

import handful
from handful.errors import StateError
from handful.policies.forgetting import DiscountedThompson, SlidingWindowThompson
from handful.simulation import cell
from tests.helpers import drive, refused
from tests.simulation.agree import assert_engines_agree


@pytest.mark.parametrize("policy", ["discounted-ts:discount=1", "sliding-window-ts:recent=1000"])
def test_what_forgets_nothing_is_thompson_sampling(policy: str) -> None:
    ours = handful.policy(policy, arms=9, seed=3)
    plain = handful.policy("ts", arms=9, seed=3)
    assert drive(ours, 1000, random.Random(1)) == drive(plain, 1000, random.Random(1))
    assert ours.recommend() == plain.recommend()


def driven(policy: handful.Policy, pulls: int) -> list[tuple[int, float]]:
    """Return the (slot, reward) of so many pulls, with rewards 0 and 1."""
    dice = random.Random(5)
    past = []
    for _ in range(pulls):
        arm = policy.select()
        reward = float(dice.random() < 0.1 * (arm + 1))
        past.append((policy.arms_in_memory.index(arm), reward))
        policy.update(arm, reward)
    return past


@pytest.mark.parametrize("discount", [0.5, 0.99, 0.9999])
def test_discounted_counts_are_sums_of_powers_of_the_discount(discount: float) -> None:
    policy = DiscountedThompson(arms=7, seed=2, discount=discount)
    past = driven(policy, 600)
    state: Any = policy._state
    for slot in range(7):
        weights = [
            (discount ** (len(past) - 1 - t), reward)
            for t, (then, reward) in enumerate(past)
            if then == slot
        ]
        assert state.wins[slot] == pytest.approx(sum(w * x for w, x in weights))
        assert state.losses[slot] == pytest.approx(sum(w * (1 - x) for w, x in weights))


@pytest.mark.parametrize("recent", [1, 2, 50, 599, 600, 601])
def test_counts_of_a_sliding_window_are_those_of_the_last_rewards(recent: int) -> None:
    policy = SlidingWindowThompson(arms=7, seed=2, recent=recent)
    past = driven(policy, 600)[-recent:]
    state: Any = policy._state
    for slot in range(7):
        assert state.wins[slot] == sum(x == 1 for then, x in past if then == slot)
        assert state.losses[slot] == sum(x == 0 for then, x in past if then == slot)
    counts = [sum(then == slot for then, _ in past) for slot in range(7)]
    assert policy.recommend() == policy.arms_in_memory[counts.index(max(counts))]
    assert policy.pulls == sum(state.pulls) == 600


def test_a_ring_takes_five_bytes_for_each_reward_in_it() -> None:
    policy = SlidingWindowThompson(arms=7, seed=2, recent=100)
    sizes = [len(policy.to_bytes())]
    for _ in range(3):
        driven(policy, 60)
        sizes.append(len(policy.to_bytes()))
    assert [size - sizes[0] for size in sizes] == [0, 300, 500, 500]


WORLDS: list[dict[str, Any]] = [
    {},
    {"delay": "20", "lost": 0.2},
    {"delay": "geometric:30", "drift": "swap:3"},
    {"drift": "walk:0.02"},
]


@pytest.mark.parametrize("policy", ["discounted-ts:discount=0.99", "sliding-window-ts:recent=300"])
@pytest.mark.parametrize("traffic", WORLDS, ids=str)
def test_the_engines_make_the_same_choices(policy: str, traffic: dict[str, Any]) -> None:
    assert_engines_agree(cell(policy, "linear:9", None, 1500, runs=2, **traffic))
    if not traffic:
        assert_engines_agree(cell(policy, "linear:9+beta", None, 1500, runs=2, tape=True))


def test_what_changes_is_noticed() -> None:
    for policy in ("discounted-ts:discount=0.99", "sliding-window-ts:recent=100"):
        made = handful.policy(policy, arms=5, seed=1)
        for good in (3, 1):
            for _ in range(2000):
                arm = made.select()
                made.update(arm, float(arm == good))
            assert made.recommend() == good


def counts_of(policy: handful.Policy) -> dict[Any, tuple[float, float]]:
    state: Any = policy._state
    return {
        arm: (state.wins[slot], state.losses[slot])
        for slot, arm in enumerate(policy.arms_in_memory)
    }


def test_arms_that_come_and_go_leave_the_other_discounted_counts_as_they_were() -> None:
    policy = DiscountedThompson(arms=["a", "b", "c"], seed=1)
    drive(policy, 60, random.Random(1))
    before = counts_of(policy)
    policy.remove_arms(["a"])
    policy.add_arms(["d", "e"])
    fresh = (0.0, 0.0)
    assert counts_of(policy) == {"b": before["b"], "c": before["c"], "d": fresh, "e": fresh}
    drive(policy, 60, random.Random(1))
    assert handful.from_bytes(policy.to_bytes(), arms=policy.arms).pulls == 120


def test_a_sliding_window_starts_again_when_arms_come_or_go() -> None:
    policy = SlidingWindowThompson(arms=["a", "b", "c"], seed=1, recent=20)
    for added, removed in ((["d"], []), ([], ["b"])):
        drive(policy, 50, random.Random(1))
        policy.add_arms(added)
        policy.remove_arms(removed)
        state: Any = policy._state
        assert (state.entries, sum(state.wins), sum(state.pulls)) == (0, 0, 0)
    twin = handful.from_bytes(policy.to_bytes(), arms=policy.arms)
    assert drive(twin, 50, random.Random(2)) == drive(policy, 50, random.Random(2))


@pytest.mark.parametrize(
    ("field", "value"),
    [("oldest", 20), ("oldest", -1), ("won", 2), ("won", -1), ("slot_then", 4), ("wins", 21)],
)
def test_a_forged_ring_is_refused(field: str, value: int) -> None:
    policy = SlidingWindowThompson(arms=4, seed=1, recent=20)
    drive(policy, 50, random.Random(1))
    state: Any = policy._state
    if field == "oldest":
        state.oldest = value
    else:
        getattr(state, field)[2] = value
    with refused(StateError, ValueError):
        handful.from_bytes(policy.to_bytes(), arms=4)


@pytest.mark.parametrize(("field", "value"), [("wins", -0.5), ("wins", 1e9), ("losses", 1e9)])
def test_forged_discounted_counts_are_refused(field: str, value: float) -> None:
    policy = DiscountedThompson(arms=4, seed=1)
    drive(policy, 50, random.Random(1))
    getattr(policy._state, field)[2] = value
    with refused(StateError, ValueError, "slot 2"):
        handful.from_bytes(policy.to_bytes(), arms=4)
