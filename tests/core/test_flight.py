"""Decisions in flight: how long they are waited for, and what is written off."""

from __future__ import annotations

import random
from typing import Any

import pytest

import handful
from handful import Policy, Receipt
from handful.core.flight import (
    CREDITED,
    DUPLICATE,
    EXPIRED,
    FORGOTTEN,
    KEPT,
    LATE,
    RECENT,
    SHORTEST,
    answer,
    issue,
    keep,
    turn,
    turn_is_due,
    turner,
)
from handful.core.slots import admit
from handful.core.state import State
from handful.errors import RewardError, SettingError
from handful.testing import Make
from tests.helpers import refused

BOUNDED = [name for name, cls in handful.POLICIES.items() if not cls.unbounded]
every_bounded_policy = pytest.mark.parametrize("name", sorted(BOUNDED))


def record() -> State:
    """Two arms in memory."""
    state = State()
    admit(state, 0, 7)
    admit(state, 1, 8)
    return state


def counts(state: State) -> tuple[list[int], list[int], list[int], int]:
    return state.in_flight, state.recent, state.missing, state.lost


# Windows.


def test_a_decision_is_waited_for_during_one_to_two_windows() -> None:
    state = record()
    issue(state, 0)
    issue(state, 1)
    assert counts(state) == ([1, 1], [1, 1], [0, 0], 0)
    turn(state)
    issue(state, 1)
    assert counts(state) == ([1, 2], [0, 1], [0, 0], 0)
    turn(state)
    assert counts(state) == ([0, 1], [0, 0], [1, 1], 2)
    turn(state)
    assert counts(state) == ([0, 0], [0, 0], [1, 2], 3)
    assert (state.turned_before, state.turned, state.clock) == (3, 3, 3)


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_a_reward_is_credited_in_its_window_and_after_it(turns: int) -> None:
    state = record()
    issue(state, 0)
    for _ in range(turns):
        turn(state)
    assert answer(state, 0, 1) == CREDITED
    assert counts(state) == ([0, 0], [0, 0], [0, 0], 0)
    assert state.rewards == 1
    assert answer(state, 0, 1) == DUPLICATE


@pytest.mark.parametrize(("turns", "became"), [(0, KEPT), (1, KEPT), (2, EXPIRED)])
def test_with_a_default_a_reward_is_kept_and_expires_with_its_window(
    turns: int, became: int
) -> None:
    state = record()
    issue(state, 0)
    for _ in range(turns):
        end_window(state, [])
    assert keep(state, 0, 1, 0.5) == became
    assert state.in_flight[0] == (became == KEPT)  # it does not count yet
    if became == KEPT:
        assert keep(state, 0, 1, 0.5) == DUPLICATE
    admit(state, 0, 9)
    assert keep(state, 0, 1, 0.5) == FORGOTTEN
    assert state.kept[0] == state.kept_before[0] == 0


def end_window(state: State, seen: list[tuple[int, float]], default: float = 0.0) -> None:
    end = turner(lambda state, slot, reward, p: seen.append((slot, reward)), lambda state, p: None)
    end(state, default, None)


def test_kept_rewards_count_with_the_defaults_of_their_window() -> None:
    state = record()
    seen: list[tuple[int, float]] = []
    for _ in range(10):
        issue(state, 0)
        issue(state, 1)
    assert [keep(state, 0, t, 1.0) for t in (1, 9)] == [KEPT, KEPT]
    end_window(state, seen)
    issue(state, 0)
    assert keep(state, 0, 21, 0.5) == KEPT  # of the present window
    assert keep(state, 1, 4, 0.25) == keep(state, 1, 6, 0.75) == KEPT  # of the one before
    assert seen == []
    end_window(state, seen, 0.125)
    assert len(seen) == state.rewards == 20
    of_one = [reward for slot, reward in seen if slot == 0]
    assert of_one == [0.125, 0.125, 1.0, 0.125, 0.125, 0.125, 0.125, 1.0, 0.125, 0.125]
    # Each counts as the mean of those that were kept.
    assert sorted(reward for slot, reward in seen if slot == 1) == [0.125] * 8 + [0.5] * 2
    assert (state.in_flight, state.kept_before, state.kept_before_sum) == ([1, 0], [1, 0], [0.5, 0])
    seen.clear()
    end_window(state, seen)
    assert seen == [(0, 0.5)]
    assert state.kept == state.kept_before == state.in_flight == [0, 0]


@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_all_kept_rewards_count_once(n: int) -> None:
    for came in range(n + 1):
        state = record()
        seen: list[tuple[int, float]] = []
        for t in range(n):
            issue(state, 0)
            if t < came:
                assert keep(state, 0, t + 1, 1.0) == KEPT
        end_window(state, seen)
        end_window(state, seen)
        assert sorted(seen) == [(0, 0.0)] * (n - came) + [(0, 1.0)] * came


def test_a_window_that_is_given_turns_after_so_many_decisions() -> None:
    state = record()
    turned = []
    for t in range(1, 31):
        if turn_is_due(state, 10):
            turn(state)
            turned.append(t)
        issue(state, 0)
    assert turned == [11, 21]


def test_without_one_it_follows_the_delays() -> None:
    state = record()
    for _ in range(1000):
        issue(state, 0)
    assert not turn_is_due(state, 0)  # nothing is known of delays
    for t in range(400, 500):
        answer(state, 0, t + 1)
    assert state.delay == pytest.approx(sum(1000 - t for t in range(401, 501)) / 100)
    assert turn_is_due(state, 0) is (LATE * state.delay + SHORTEST <= 1000)
    turn(state)
    for _ in range(int(LATE * state.delay + SHORTEST)):
        assert not turn_is_due(state, 0)
        issue(state, 1)
    issue(state, 1)
    assert turn_is_due(state, 0)


def test_the_mean_delay_is_that_of_recent_rewards() -> None:
    state = record()
    expected = 0.0
    rng = random.Random(3)
    for n in range(1, 1000):
        issue(state, 0)
        t = rng.randrange(max(1, state.clock - 50), state.clock + 1)
        answer(state, 0, t)
        state.recent[0] = state.in_flight[0] = n  # none is ever a duplicate
        expected += (state.clock - t - expected) / min(n, RECENT)
    assert state.delay == pytest.approx(expected)
    assert state.answers == RECENT


def test_a_forgotten_reward_says_something_of_delays() -> None:
    state = record()
    issue(state, 1)
    admit(state, 1, 9)
    for _ in range(5):
        issue(state, 1)
    assert answer(state, 1, 1) == FORGOTTEN
    assert (state.answers, state.delay, state.rewards) == (1, 5.0, 0)


# Policies.


@every_bounded_policy
def test_no_policy_waits_for_ever_for_a_reward_that_was_lost(name: str) -> None:
    """Of 3,000 decisions, each reward is lost with probability 0.3, the first of all for certain.

    What is in flight at the end is not older than two windows.
    """
    policy = Make(handful.POLICIES[name])(seed=5)
    rng = random.Random(name)
    open_tickets: list[int] = []
    for t in range(3000):
        open_tickets.append(policy.decide().ticket)
        if len(open_tickets) > 20:
            ticket = open_tickets.pop(0)
            if t > 20 and rng.random() > 0.3:
                policy.reward(ticket, float(rng.random() < 0.5))
    state = policy._state
    window = LATE * state.delay + SHORTEST
    assert sum(state.in_flight) <= 2 * window + 1
    assert state.clock == 3000
    assert state.rewards > 500 or state.forgotten > 500


@pytest.mark.parametrize("name", sorted({*BOUNDED} - {"random"}))  # its arms never stay
def test_a_default_stands_in_for_rewards_that_never_come(name: str) -> None:
    policy = Make(handful.POLICIES[name])(seed=5, window=10, default=0.0)
    for _ in range(200):
        policy.decide()
    assert policy.pulls > 0
    assert policy.stats().lost == 0
    assert all(arm.mean == 0.0 for arm in policy.stats() if arm.pulls)


def with_default(seed: int = 1) -> Policy:
    return handful.UCBM(arms=3, memory=2, seed=seed, window=5, default=0.25)


def test_a_reward_after_the_default_has_expired() -> None:
    policy = with_default()
    early = policy.decide()
    for _ in range(11):
        policy.decide()
    pulls = policy.pulls
    assert pulls >= 1
    assert policy.reward(early.ticket, 1.0) in (Receipt.EXPIRED, Receipt.FORGOTTEN)
    assert policy.pulls == pulls


def test_a_default_is_of_the_scale_of_rewards() -> None:
    policy = handful.UCBM(arms=3, memory=2, seed=1, window=5, default=-5.0, rescale=(-5.0, 5.0))
    for _ in range(12):
        policy.decide()
    means = [arm.mean for arm in policy.stats() if arm.pulls]
    assert means
    assert set(means) == {-5.0}


def test_a_dropped_decision_is_not_waited_for() -> None:
    policy = handful.UCBM(arms=3, memory=2, seed=1)
    one, two = policy.decide(), policy.decide()
    assert policy.drop(one.ticket) is Receipt.DROPPED
    assert policy.drop(one.ticket) is Receipt.DUPLICATE
    assert policy.reward(one.ticket, 1.0) is Receipt.DUPLICATE
    assert policy.stats().lost == 1
    assert sum(arm.in_flight for arm in policy.stats()) == 1
    assert policy.reward(two.ticket, 1.0) is Receipt.CREDITED
    assert policy.drop(12345) is Receipt.UNKNOWN


def test_a_dropped_decision_gets_the_default_if_there_is_one() -> None:
    policy = with_default()
    decision = policy.decide()
    assert policy.drop(decision.ticket) is Receipt.CREDITED
    assert policy.reward(decision.ticket, 1.0) is Receipt.DUPLICATE
    for _ in range(10):
        policy.decide()
    assert {arm.mean for arm in policy.stats() if arm.pulls} == {0.25}


def test_with_a_default_no_arm_looks_better_than_it_is() -> None:
    """Clicks come at once, one in ten decisions; a decision without a click is never answered."""
    policy = handful.UCBM(arms=3, memory=2, seed=1, window=50, default=0.0)
    for t in range(1000):
        decision = policy.decide()
        if t % 10 == 0:
            assert policy.reward(decision.ticket, 1.0) in (Receipt.CREDITED, Receipt.FORGOTTEN)
        assert all(arm.mean <= 0.3 for arm in policy.stats() if arm.pulls >= 20)
    assert policy.pulls >= 500


def test_clicks_only_is_a_window_with_the_reward_0() -> None:
    short = handful.Race(arms=9, memory=3, seed=1, clicks_only=7)
    long = handful.Race(arms=9, memory=3, seed=1, window=7, default=0.0)
    named = handful.policy("race:clicks_only=7", arms=9, memory=3, seed=1)
    for number in range(300):
        decisions = {policy.decide() for policy in (short, long, named)}
        (decision,) = decisions
        if number % 5 == 0:
            for policy in (short, long, named):
                policy.reward(decision.ticket, 1.0)
    assert short.to_bytes() == long.to_bytes() == named.to_bytes()
    assert short.stats().lost == 0
    assert short.pulls > 200


def test_clicks_only_has_the_reward_0_of_the_user_s_scale() -> None:
    policy = handful.UCBM(arms=3, memory=2, seed=1, clicks_only=5, rescale=(-1.0, 3.0))
    for _ in range(12):
        policy.decide()
    assert {arm.mean for arm in policy.stats() if arm.pulls} == {0.0}


@pytest.mark.parametrize("name", ["race", "ucb-m", "k-failure"])
def test_window_and_default_are_saved(name: str) -> None:
    make = Make(handful.POLICIES[name])
    policy = make(seed=2, window=7, default=0.5)
    for _ in range(50):
        policy.decide()
    twin = make.restored(policy)
    assert twin.to_bytes() == policy.to_bytes()
    for _ in range(50):
        assert twin.decide() == policy.decide()
    assert twin.to_bytes() == policy.to_bytes()


def test_many_decisions_at_once_are_those_made_one_by_one() -> None:
    one, many = (handful.Race(arms=9, memory=3, seed=1) for _ in range(2))
    for _ in range(10):
        decisions = many.decide(7)
        assert decisions == [one.decide() for _ in range(7)]
        for decision in decisions[::2]:
            one.reward(decision.ticket, 1.0)
            many.reward(decision.ticket, 1.0)
    assert one.to_bytes() == many.to_bytes()


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"window": 0}, SettingError, "window=0"),
        ({"window": 2.5}, SettingError, "window=2.5"),
        ({"window": "soon"}, SettingError, "window"),
        ({"default": 0.0}, SettingError, "window="),
        ({"window": 5, "default": 1.5}, RewardError, "default=1.5"),
        ({"clicks_only": 0}, SettingError, "clicks_only=0"),
        ({"clicks_only": 2.5}, SettingError, "clicks_only=2.5"),
        ({"clicks_only": 5, "window": 5}, SettingError, "leave window and default out"),
        ({"clicks_only": 5, "default": 0.0}, SettingError, "leave window and default out"),
        ({"clicks_only": 5, "rescale": (1.0, 5.0)}, SettingError, "rescale=(1, 5)"),
        ({"window": 5, "default": "0"}, RewardError, "default='0'"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], error: Any, words: str) -> None:
    with refused(error, ValueError, words):
        handful.UCBM(arms=3, memory=2, **given)


@pytest.mark.parametrize("n", [0, -1, 10**9, 1.5, True])
def test_a_number_of_decisions_that_cannot_be_is_refused(n: Any) -> None:
    policy = handful.UCBM(arms=3, memory=2, seed=1)
    with refused(SettingError, ValueError, "n="):
        policy.decide(n)
    assert policy.decisions == 0
