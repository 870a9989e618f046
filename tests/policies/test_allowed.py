"""Decisions among allowed arms: `decide(allowed=...)`."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest

import handful
from handful import FiniteArms, Policy
from handful.core.tickets import Receipt
from handful.errors import ExhaustedError, ForgottenArmError, SettingError
from handful.own import HandState, admit
from handful.policies.allowed import Permission
from tests.helpers import refused, untouched

COLOURS = ["red", "green", "blue", "gold", "grey"]


def ucb_m(arms: Any = COLOURS, memory: int = 2, seed: int = 1) -> Policy:
    return handful.UCBM(arms=arms, memory=memory, seed=seed)


def in_and_out(policy: Policy) -> tuple[list[Any], list[Any]]:
    held = policy.arms_in_memory
    return held, [arm for arm in COLOURS if arm not in held]


def test_the_proposed_arm_is_pulled_if_it_is_allowed() -> None:
    policy, free = ucb_m(), ucb_m()
    for _ in range(50):
        allowed, decision = policy.decide(allowed=COLOURS), free.decide()
        assert allowed == decision
        assert policy.reward(decision.ticket, 1.0) == free.reward(decision.ticket, 1.0)
    assert policy.to_bytes() == free.to_bytes()


def test_the_best_allowed_arm_in_memory_stands_in() -> None:
    policy = handful.policy("imed", arms=COLOURS, seed=1)
    for arm, wins in zip(COLOURS, (9, 5, 7, 1, 0), strict=True):
        for pull in range(10):
            policy.update(arm, float(pull < wins))
    assert policy.recommend() in COLOURS
    assert policy.decide(allowed=["green", "gold"]).arm == "green"
    assert policy.decide(allowed=lambda arm: arm.startswith("g")).arm == "green"
    decision = policy.decide(allowed=["gold", "grey"])
    assert decision.arm == "gold"
    assert policy.reward(decision.ticket, 1.0) is Receipt.CREDITED


def test_an_arm_without_rewards_counts_as_a_half() -> None:
    policy = handful.policy("imed", arms=COLOURS, seed=1)
    for reward in (0.0, 0.0, 0.0):
        policy.update("red", reward)
    assert policy.decide(allowed=["red", "grey"]).arm == "grey"
    for reward in (1.0, 1.0, 1.0):
        policy.update("blue", reward)
    assert {policy.decide(allowed=["blue", "grey", "red"]).arm for _ in range(5)} <= {
        "blue", "grey",
    }  # fmt: skip


def test_a_guest_has_a_ticket_but_no_slot() -> None:
    policy = ucb_m()
    held, out = in_and_out(policy)
    decision = policy.decide(allowed=out[:1])
    assert decision.arm == out[0]
    assert policy.arms_in_memory == held
    assert policy.decisions == 1
    assert sum(arm.in_flight for arm in policy.stats()) == 0
    twin = handful.from_bytes(policy.to_bytes(), arms=COLOURS)
    assert twin.reward(decision.ticket, 1.0) is Receipt.FORGOTTEN
    assert twin.reward(decision.ticket, 1.0) is Receipt.DUPLICATE
    assert policy.drop(decision.ticket) is Receipt.FORGOTTEN
    assert (policy.pulls, policy.stats().forgotten) == (0, 1)


@pytest.mark.parametrize("as_function", [True, False])
def test_any_allowed_guest_is_as_likely_as_another(as_function: bool) -> None:
    """Of 3,000 seeds, each of three guests is drawn 1,000 times, give or take 150.

    The standard deviation is 26, so a false alarm has a probability below 1e-7.
    """
    seen: Counter[int] = Counter()
    for seed in range(3000):
        policy = ucb_m(seed=seed)
        _, out = in_and_out(policy)
        decision = policy.decide(allowed=out.__contains__ if as_function else out)
        seen[out.index(decision.arm)] += 1
    assert sorted(seen) == [0, 1, 2]
    assert all(850 < count < 1150 for count in seen.values())


def test_a_rare_allowed_arm_is_found_by_looking_at_all() -> None:
    policy = ucb_m(arms=FiniteArms(lambda i: f"prompt {i}", n=50_000))
    assert policy.decide(allowed=lambda arm: arm == "prompt 49999").arm == "prompt 49999"
    assert policy.decide(allowed=["prompt 123"]).arm == "prompt 123"
    many = ucb_m(arms=10**12)
    assert many.decide(allowed=[10**12 - 1, "x"]).arm == 10**12 - 1
    assert many.decide(allowed=lambda arm: arm % 100 == 7).arm % 100 == 7
    odd = ucb_m(arms=range(1, 10**12, 2))
    assert odd.decide(allowed=[2, 4, 7]).arm == 7


def test_many_at_once() -> None:
    policy = ucb_m()
    decisions = policy.decide(20, allowed=["red", "grey"])
    assert {decision.arm for decision in decisions} <= {"red", "grey"}
    assert len({decision.ticket for decision in decisions}) == 20
    assert policy.decisions == 20


@pytest.mark.parametrize(
    ("allowed", "mentions"),
    [
        ([], "empty"),
        (set(), "empty"),
        (["pink"], "no label in allowed"),
        (lambda arm: False, "none of the 5 arms"),
        ("red", "['red']"),
        (7, "neither a collection"),
        ([["red"]], "unhashable"),
    ],
)
def test_what_allows_nothing_is_refused(allowed: Any, mentions: str) -> None:
    policy = ucb_m()
    policy.decide()
    with untouched(policy), refused(SettingError, ValueError, mentions):
        policy.decide(allowed=allowed)
    with untouched(policy), refused(SettingError, ValueError, mentions):
        policy.decide(3, allowed=allowed)


def test_no_arm_of_very_many_may_be_found() -> None:
    policy = ucb_m(arms=10**12)
    with untouched(policy), refused(SettingError, ValueError, "drawn at random"):
        policy.decide(allowed=lambda arm: False)


def test_an_error_in_the_function_changes_nothing() -> None:
    policy = ucb_m()
    calls = iter([True, True, False])

    def allowed(arm: str) -> bool:
        return next(calls)

    with untouched(policy), pytest.raises(StopIteration):
        policy.decide(3, allowed=allowed)
    assert policy.decide().arm in COLOURS  # the lock was released


@pytest.mark.parametrize(
    "change", ["decide", "select", "reset", "add_arms", "remove_arms", "reward"]
)
def test_a_function_that_changes_the_policy_is_refused_and_undone(change: str) -> None:
    policy = ucb_m()
    ticket = policy.decide().ticket
    given: dict[str, list[Any]] = {
        "add_arms": [["x"]], "remove_arms": [["red"]], "reward": [ticket, 1.0],
    }  # fmt: skip

    def allowed(arm: str) -> bool:
        getattr(policy, change)(*given.get(change, []))
        return True

    with untouched(policy), refused(SettingError, ValueError, "changed the policy"):
        policy.decide(allowed=allowed)
    assert policy.arms == COLOURS
    assert policy.reward(ticket, 1.0) is Receipt.CREDITED


def test_a_function_may_look_at_the_policy() -> None:
    policy = ucb_m()
    decision = policy.decide(allowed=lambda arm: arm in policy.arms_in_memory)
    assert decision.arm in policy.arms_in_memory


def test_labels_of_any_collection() -> None:
    for allowed in (["red"], ("red",), {"red"}, frozenset({"red"}), {"red": 1}, iter(["red"])):
        assert ucb_m().decide(allowed=allowed).arm == "red"
    assert ucb_m(arms=np.arange(5)).decide(allowed=np.array([3])).arm == 3
    assert ucb_m(arms=5).decide(allowed=np.array([3])).arm == 3


def test_true_is_not_one() -> None:
    for allowed in ([True, 3], {True, 3}):
        assert not Permission(allowed)(1)
        assert Permission(allowed)(True)
    assert ucb_m(arms=[1, 2, 3, 4]).decide(allowed=[True, 3]).arm == 3


def test_endless_arms() -> None:
    policy = handful.policy("k-failure", arms=lambda i: f"prompt {i}", seed=1)
    assert policy.decide(allowed=lambda arm: arm.endswith("7")).arm == "prompt 7"
    assert policy.arms_in_memory == ["prompt 0"]
    with untouched(policy), refused(SettingError, ValueError, "endless"):
        policy.decide(allowed=["no prompt"])


def test_an_iterator_gives_no_guests_and_loses_no_label() -> None:
    policy = handful.policy("k-failure", arms=iter("abcdefgh"), seed=1)
    assert policy.decide(allowed="a".__eq__).arm == "a"
    policy.update(policy.select(), 0.0)  # the next decision brings b up
    with untouched(policy), refused(SettingError, ValueError, "iterator"):
        policy.decide(allowed="a".__eq__)
    assert policy.arms_in_memory == ["a"]
    assert policy.decide(allowed=["b"]).arm == "b"
    assert policy.arms_in_memory == ["b"]


def test_an_iterator_that_ends() -> None:
    policy = handful.policy("k-failure", arms=iter("a"), seed=1)
    policy.update(policy.select(), 0.0)
    with untouched(policy), pytest.raises(ExhaustedError):
        policy.decide(allowed=lambda arm: True)


class Hospitable(handful.Policy):
    """Pulls slot 0, and gives guests the second slot."""

    name = "hospitable"

    @staticmethod
    def start(state: HandState, p: Any) -> None:
        admit(state, 0, 0)

    @staticmethod
    def propose(state: HandState, p: Any) -> int:
        return 0

    @staticmethod
    def admit_guest(state: HandState, arm: int, p: Any) -> int:
        admit(state, 1, arm)
        return 1


def test_a_policy_may_give_a_guest_a_slot() -> None:
    policy = Hospitable(COLOURS, 2, seed=1)
    decision = policy.decide(allowed=["gold"])
    assert policy.arms_in_memory == ["red", "gold"]
    assert policy.reward(decision.ticket, 1.0) is Receipt.CREDITED


ARMS = [f"a{i}" for i in range(30)]


def test_race_lets_a_guest_challenge_and_credits_it() -> None:
    policy = handful.Race(arms=ARMS, memory=3, seed=1)
    for _ in range(50):
        policy.reward(policy.decide().ticket, 0.0)
    guest = next(arm for arm in ARMS if arm not in policy.arms_in_memory)
    decision = policy.decide(allowed=[guest])
    assert decision.arm == guest
    assert guest in policy.arms_in_memory
    assert policy.reward(decision.ticket, 1.0) is Receipt.CREDITED
    shown = {arm.arm: arm.pulls for arm in policy.stats()}
    assert shown[guest] == 1
    handful.from_bytes(policy.to_bytes(), arms=ARMS)


@pytest.mark.parametrize("seed", range(30))
def test_a_selected_arm_whose_slot_a_guest_takes_is_not_selected_any_more(seed: int) -> None:
    policy = handful.Race(arms=ARMS, memory=3, seed=seed)
    selected = policy.select()
    for t in range(60):
        allowed = None if t % 3 else [arm for arm in ARMS if arm not in policy.arms_in_memory][:1]
        decision = policy.decide(allowed=allowed)
        policy.reward(decision.ticket, float(t % 7 == seed % 7))
        state = policy._state
        if state.pending >= 0:
            assert ARMS[state.arm[state.pending]] == selected
            assert selected in policy.arms_in_memory
        handful.from_bytes(policy.to_bytes(), arms=ARMS)
    if selected not in policy.arms_in_memory:
        with pytest.raises(ForgottenArmError):
            policy.update(selected, 1.0)


@pytest.mark.parametrize("name", ["race", "ucb-air", "qucb-m", "k-failure"])
def test_a_guest_of_endless_arms_leaves_a_state_that_can_be_restored(name: str) -> None:
    settings = {"memory": 4} if name in ("race", "qucb-m") else {}
    policy = handful.policy(name, arms=lambda i: i, seed=1, **settings)
    for t in range(40):
        decision = policy.decide(allowed=None if t % 5 else lambda arm: arm >= 100)
        policy.reward(decision.ticket, float(t % 3 == 0))
        again = handful.from_bytes(policy.to_bytes(), arms=lambda i: i)
        assert again.to_bytes() == policy.to_bytes()


def test_threads() -> None:
    policy = ucb_m()

    def work(name: str) -> None:
        for _ in range(300):
            decision = policy.decide(allowed=[name])
            assert decision.arm == name
            policy.reward(decision.ticket, 0.5)

    threads = [threading.Thread(target=work, args=(name,)) for name in COLOURS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert policy.decisions == 300 * len(COLOURS)
