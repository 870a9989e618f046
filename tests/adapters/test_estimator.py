"""`partial_fit` and `predict`: the choices of the policy itself, and scikit-learn's clone."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import handful
from handful.adapters import estimator
from handful.adapters.estimator import BanditEstimator
from handful.errors import RewardError, SettingError, UnknownArmError

ARMS = [f"offer {i}" for i in range(12)]


def rewards_for(labels: list[Any], rng: random.Random) -> list[float]:
    return [float(rng.random() < (1 + ARMS.index(label)) / 14) for label in labels]


@pytest.mark.parametrize(("name", "memory"), [("race", 3), ("ucb-m", 3), ("ts", None)])
def test_its_choices_are_those_of_the_policy(name: str, memory: int | None) -> None:
    adapted = BanditEstimator(ARMS, name, memory, seed=3)
    alone = handful.policy(name, ARMS, memory, seed=3)
    rng = random.Random(1)
    for size in [1, 5, 40, 3] * 8:
        decisions = alone.decide(size)
        labels = adapted.predict(size)
        assert labels == [decision.arm for decision in decisions]
        rewards = rewards_for(labels, rng)
        for decision, reward in zip(decisions, rewards, strict=True):
            alone.reward(decision.ticket, reward)
        adapted.partial_fit(labels, rewards)
        assert adapted.policy_.to_bytes() == alone.to_bytes()
    assert adapted.recommend() == alone.recommend()
    assert sum(adapted.receipts_.values()) == 49 * 8
    assert adapted.receipts_["credited"] == alone.pulls


def test_rewards_may_be_late_and_in_any_order() -> None:
    adapted, alone = BanditEstimator(ARMS, memory=3, seed=3), handful.Race(ARMS, 3, seed=3)
    rng = random.Random(2)
    decisions = [alone.decide() for _ in range(30)]
    labels = adapted.predict(30)
    order = rng.sample(range(30), 30)
    rewards = rewards_for([labels[i] for i in order], rng)
    # Tickets of an arm are used in their order, so the policy is given them in this order, too.
    tickets = {arm: [d.ticket for d in decisions if d.arm == arm] for arm in labels}
    for i, reward in zip(order, rewards, strict=True):
        alone.reward(tickets[labels[i]].pop(0), reward)
    adapted.partial_fit(np.array([labels[i] for i in order]), np.array(rewards))
    assert adapted.policy_.to_bytes() == alone.to_bytes()
    assert not any(adapted._open.values())


def test_a_log_counts_where_its_arms_are_in_memory() -> None:
    adapted = BanditEstimator(ARMS, memory=2, seed=3)
    (first,) = adapted.predict()
    strange = next(arm for arm in ARMS if arm not in adapted.policy_.arms_in_memory)
    adapted.partial_fit([first, first, strange], [1.0, 0.0, 1.0])
    assert adapted.receipts_ == {"credited": 2, "forgotten": 1}
    assert adapted.policy_.pulls == 2


def test_tickets_are_kept_of_arms_in_memory_only() -> None:
    adapted = BanditEstimator(ARMS, memory=2, seed=3)
    for _ in range(200):
        (arm,) = adapted.predict()
        adapted.partial_fit([arm], [0.0])
        adapted.predict()  # whose reward never comes
        assert set(adapted._open) <= set(adapted.policy_.arms_in_memory)


@pytest.mark.parametrize("lost", [0.5, 0.0])
@pytest.mark.parametrize("clicks_only", [100, None])
def test_rewards_that_never_come_leave_its_choices_as_they_are(
    clicks_only: int | None, lost: float
) -> None:
    settings = {} if clicks_only is None else {"clicks_only": clicks_only}
    adapted = BanditEstimator(ARMS, memory=3, seed=3, settings=settings)
    alone = handful.Race(ARMS, 3, seed=3, clicks_only=clicks_only)
    rng = random.Random(2)
    for _ in range(2_000):
        decision = alone.decide()
        assert adapted.predict() == [decision.arm]
        (reward,) = rewards_for([decision.arm], rng)
        if rng.random() >= lost and (reward or clicks_only is None):
            alone.reward(decision.ticket, reward)
            adapted.partial_fit([decision.arm], [reward])
    assert adapted.policy_.to_bytes() == alone.to_bytes()
    assert set(adapted.receipts_) == {"credited"}


def test_the_number_of_tickets_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimator, "MOST_OPEN", 10)
    adapted = BanditEstimator(2, memory=2, seed=3)
    adapted.predict(100)  # whose rewards never come
    assert {arm: len(tickets) for arm, tickets in adapted._open.items()} == {0: 10, 1: 10}
    adapted.partial_fit([0] * 12, [1.0] * 12)
    assert adapted.receipts_ == {"credited": 12}


def test_a_mistake_changes_nothing() -> None:
    adapted = BanditEstimator(ARMS, memory=2, seed=3)
    labels = adapted.predict(4)
    before = adapted.policy_.to_bytes()
    with pytest.raises(RewardError):
        adapted.partial_fit(labels, [1.0, 1.0, 1.0, 3.0])
    with pytest.raises(UnknownArmError):
        adapted.partial_fit([labels[0], "nonsense"], [1.0, 1.0])
    with pytest.raises(SettingError, match="4 labels and 3 rewards"):
        adapted.partial_fit(labels, [1.0] * 3)
    wrong: list[Any] = [
        "abcd", np.array([labels]).T, [[label] for label in labels], pl.DataFrame({"arm": labels}),
        5,
    ]  # fmt: skip
    for given in wrong:
        with pytest.raises(SettingError, match="X is"):
            adapted.partial_fit(given, [1.0] * 4)
        with pytest.raises(SettingError, match="y is"):
            adapted.partial_fit(labels, given)
    assert adapted.policy_.to_bytes() == before
    assert not adapted.receipts_
    adapted.partial_fit(labels, [1.0] * 4)
    assert adapted.receipts_ == {"credited": 4}


def test_scikit_learn_clones_it() -> None:
    adapted = BanditEstimator(ARMS, "race", 3, seed=3, rescale=(0, 10), settings={"every": 50})
    adapted.fit([], [])
    adapted.partial_fit(adapted.predict(5), [10.0] * 5)
    fresh: BanditEstimator = clone(adapted)
    assert fresh.get_params() == adapted.get_params()
    assert not hasattr(fresh, "policy_")
    assert fresh.predict(20) == BanditEstimator(**adapted.get_params()).predict(20)
    other = clone(adapted).set_params(memory=5, seed=4)
    assert (other.memory, other.seed, adapted.memory) == (5, 4, 3)
    with pytest.raises(SettingError, match="no parameter 'wibble'"):
        other.set_params(wibble=1)


def test_fit_starts_anew_and_a_pickle_goes_on() -> None:
    adapted = BanditEstimator(ARMS, memory=3, seed=3)
    first = adapted.predict(10)
    twin = pickle.loads(pickle.dumps(adapted))
    for each in (adapted, twin):
        each.partial_fit(first, [1.0] * 10)
    assert adapted.predict(10) == twin.predict(10)
    assert adapted.fit([], []).predict(10) == first


def test_arms_are_needed() -> None:
    with pytest.raises(SettingError, match="arms=None"):
        BanditEstimator().predict()


def test_it_needs_no_scikit_learn() -> None:
    import subprocess
    import sys

    code = "import sys, handful.adapters.estimator; print('sklearn' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
