"""Arms that are added and removed: `add_arms`, `remove_arms`."""

from __future__ import annotations

import pickle
import random
from math import ceil
from typing import Any

import pytest

import handful
from handful import FiniteArms, Policy
from handful.core.change import changer
from handful.core.tickets import Receipt
from handful.errors import ForgottenArmError, OtherArmsError, SettingError, UnknownArmError
from handful.own import Int, State, admit
from handful.policies.streaming import fair_share
from tests.helpers import refused, untouched

LETTERS = list("abcdefgh")


def good(*winners: str) -> Any:
    """Rewards of 1 for some arms, of 0 for the others."""
    return lambda arm: float(arm in winners)


def fair(winner: str) -> Any:
    """Rewards of 1/2 for one arm, of 0 for the others."""
    return lambda arm: 0.5 * (arm == winner)


LOSE = good()


def play(policy: Policy, steps: int, reward_of: Any = LOSE) -> list[Any]:
    chosen = []
    for _ in range(steps):
        decision = policy.decide()
        policy.reward(decision.ticket, reward_of(decision.arm))
        chosen.append(decision.arm)
    return chosen


def record(policy: Policy) -> Any:
    return policy._state


def pulls_of(policy: Policy) -> dict[Any, int]:
    return {arm.arm: arm.pulls for arm in policy.stats()}


# Labels.


def test_the_present_labels_are_what_a_state_is_restored_with() -> None:
    policy = handful.UCBM(LETTERS, memory=3, seed=1)
    policy.add_arms(["x", "y"])
    policy.remove_arms(["b"])
    assert policy.n_arms == 9
    assert policy.arms == list("acdefghxy")
    blob = policy.to_bytes()
    restored = handful.from_bytes(blob, arms=policy.arms)
    assert restored.to_bytes() == blob
    assert play(restored, 60) == play(policy, 60)
    with refused(OtherArmsError, ValueError, "9 arms"):
        handful.from_bytes(blob, arms=LETTERS)
    with refused(OtherArmsError, ValueError, "same order"):
        handful.from_bytes(blob, arms=restored.arms[::-1])  # type: ignore[index]


def test_arms_that_are_not_listed_are_returned_as_they_were_given() -> None:
    made = FiniteArms(str, n=7)
    for arms in (made, 7, range(3, 9), FiniteArms(range(3))):
        policy = handful.UCBM(arms, memory=2, seed=1)
        assert handful.from_bytes(policy.to_bytes(), arms=policy.arms).n_arms == policy.n_arms
    assert handful.UCBM(made, memory=2, seed=1).arms is made
    endless = handful.QUCBM(str, memory=2, seed=1)
    assert handful.from_bytes(endless.to_bytes(), arms=endless.arms).memory == 2


def test_arms_that_several_policies_share_stay_as_they_are() -> None:
    shared = FiniteArms(LETTERS)
    one, two = (handful.UCBM(shared, memory=3, seed=1) for _ in range(2))
    twin = one.clone()
    one.add_arms(["x"])
    one.remove_arms(["a"])
    assert shared.n == two.n_arms == twin.n_arms == 8
    assert shared.listed() == two.arms == twin.arms == LETTERS
    assert play(two, 100) == play(twin, 100)


def test_a_changed_policy_can_be_copied_pickled_and_reset() -> None:
    policy = handful.Race(LETTERS, memory=3, seed=1)
    policy.add_arms(["x"])
    play(policy, 20)
    for twin in (policy.clone(), pickle.loads(pickle.dumps(policy))):
        assert twin.to_bytes() == policy.to_bytes()
        assert twin.arms == policy.arms
    policy.reset()
    fresh = handful.Race([*LETTERS, "x"], memory=3, seed=1)
    assert policy.to_bytes() == fresh.to_bytes()


def test_the_order_in_which_removed_arms_are_named_plays_no_part() -> None:
    one, two, three = (handful.UCBM(LETTERS, memory=3, seed=1) for _ in range(3))
    one.remove_arms(["c", "a", "h"])
    two.remove_arms(["h", "c", "a"])
    three.remove_arms({"a", "c", "h"})
    assert one.to_bytes() == two.to_bytes() == three.to_bytes()


def test_nothing_to_add_or_remove_is_no_change() -> None:
    policy = handful.UCBM(LETTERS, memory=3, seed=1)
    with untouched(policy):
        policy.add_arms([])
        policy.remove_arms([])


@pytest.mark.parametrize("arms", [7, range(7), FiniteArms(str, n=7)])
def test_arms_that_are_not_listed_cannot_change(arms: Any) -> None:
    policy = handful.UCBM(arms, memory=3, seed=1)
    with untouched(policy), refused(SettingError, ValueError, "list of labels"):
        policy.add_arms(["x"])
    with untouched(policy), refused(SettingError, ValueError, "list of labels"):
        policy.remove_arms([3])


@pytest.mark.parametrize("arms", [str, iter("abc")])
def test_endless_arms_cannot_change(arms: Any) -> None:
    policy = handful.Race(arms, memory=2, seed=1)
    for change in (policy.add_arms, policy.remove_arms):
        with refused(SettingError, ValueError, "endless", "allowed="):
            change(["x"])


@pytest.mark.parametrize(
    ("labels", "mentions"),
    [
        (["x", "a"], "'a' already belongs to an arm"),
        (["x", "x"], "twice"),
        ("xy", "one string"),
        ({"x", "y"}, "set"),
        ([["x"]], "hashable"),
        (5, "list of labels"),
    ],
)
def test_what_cannot_be_added_is_refused(labels: Any, mentions: str) -> None:
    policy = handful.UCBM(LETTERS, memory=3, seed=1)
    with untouched(policy), refused(SettingError, ValueError, mentions):
        policy.add_arms(labels)
    assert policy.arms == LETTERS


@pytest.mark.parametrize(
    ("labels", "error", "mentions"),
    [
        (["a", "x"], UnknownArmError, "'x'"),
        (["a", "a"], SettingError, "twice"),
        (LETTERS, SettingError, "at least one arm"),
        ("ab", SettingError, "['ab']"),
        ([["a"]], SettingError, "not a label of an arm"),
        (5, SettingError, "[5]"),
    ],
)
def test_what_cannot_be_removed_is_refused(labels: Any, error: Any, mentions: str) -> None:
    policy = handful.UCBM(LETTERS, memory=3, seed=1)
    with untouched(policy), refused(error, Exception, mentions):
        policy.remove_arms(labels)
    assert policy.arms == LETTERS


def test_an_unknown_label_among_very_many_is_found_at_once() -> None:
    labels = [f"arm {i}" for i in range(20_000)]
    policy = handful.UCBM(arms=labels, memory=2, seed=1)
    with refused(UnknownArmError, LookupError, "'other'"):
        policy.remove_arms([*labels[:-1], "other"])
    with refused(SettingError, ValueError, "given twice"):
        policy.remove_arms([*labels[:-1], labels[0]])


def test_true_cannot_be_added_beside_one() -> None:
    policy = handful.UCBM(arms=[1, 2, 3], memory=2, seed=1)
    with refused(SettingError, ValueError, "True"):
        policy.add_arms([True])
    assert policy.arms == [1, 2, 3]


def test_a_rule_for_two_arms_keeps_two() -> None:
    policy = handful.policy("cover", arms=["a", "b"], seed=1)
    for change, labels in ((policy.add_arms, ["c"]), (policy.remove_arms, ["a"])):
        with untouched(policy), refused(SettingError, ValueError, "exactly 2 arms"):
            change(labels)


# Tickets and pending choices.


def test_rewards_of_a_removed_arm_are_forgotten_and_others_are_credited() -> None:
    policy = handful.policy("imed", arms=LETTERS[:3], seed=1)
    tickets = dict(policy.decide(3))
    *others, last = policy.arms_in_memory
    policy.remove_arms([last])
    policy.add_arms(["d", "e"])
    assert policy.reward(tickets.pop(last), 1.0) is Receipt.FORGOTTEN
    for ticket in tickets.values():
        assert policy.reward(ticket, 1.0) is Receipt.CREDITED
    assert pulls_of(policy) == {**dict.fromkeys(others, 1), "d": 0, "e": 0}


def test_open_decisions_of_a_moved_arm_are_forgotten_but_not_its_rewards() -> None:
    policy = handful.policy("imed", arms=LETTERS[:3], seed=1)
    play(policy, 3)
    open_now = dict(policy.decide(3))
    first, _, last = policy.arms_in_memory
    policy.remove_arms([first])
    assert policy.arms_in_memory[0] == last
    assert pulls_of(policy)[last] == 1
    for arm, ticket in open_now.items():
        credited = arm not in (first, last)
        assert (policy.reward(ticket, 1.0) is Receipt.CREDITED) is credited
    assert policy.stats().forgotten == len({first, last} & {*open_now})


def test_a_selected_arm_that_is_removed_is_not_selected_any_more() -> None:
    policy = handful.UCBM(LETTERS, memory=3, seed=1)
    arm = policy.select()
    policy.remove_arms([arm])
    with refused(UnknownArmError, LookupError, "never given"):
        policy.update(arm, 1.0)
    assert policy.select() != arm
    other = policy.select()
    gone = next(label for label in LETTERS if label not in policy.arms_in_memory and label != arm)
    policy.remove_arms([gone])
    assert policy.select() == other


# Algorithm 1.


def test_new_arms_have_the_next_sub_phase_for_themselves() -> None:
    policy = handful.UCBM(LETTERS, memory=3, seed=1)
    play(policy, 20)
    state = record(policy)
    place = (state.phase, state.sub_phase)
    policy.add_arms(["x", "y", "z"])
    b = 3 * 5 << (state.phase - 1)
    assert policy.new_arms_within == (b - record(policy).done) + b + 1
    while policy._state.news == 3:
        play(policy, 1)
    assert set(policy.arms_in_memory[1:]) == {"x", "y"}
    assert (record(policy).phase, record(policy).sub_phase) == place
    while policy._state.news == 1:
        play(policy, 1)
    assert policy.arms_in_memory[1:] == ["z"]
    assert policy.new_arms_within == 0
    while "z" in policy.arms_in_memory:
        play(policy, 1)
    assert record(policy).sub_phase == place[1] + 1


def test_a_challenger_that_is_removed_leaves_the_sub_phase() -> None:
    policy = handful.UCBM(LETTERS, memory=3, seed=1)
    play(policy, 20)
    before = pulls_of(policy)
    gone = policy.arms_in_memory[1]
    policy.remove_arms([gone])
    after = pulls_of(policy)
    assert after == {arm: pulls for arm, pulls in before.items() if arm != gone}
    assert record(policy).done == sum(after.values())
    assert gone not in play(policy, 300)


def test_the_most_played_arm_takes_the_place_of_an_incumbent_that_is_removed() -> None:
    policy = handful.UCBM(LETTERS, memory=4, seed=1)
    play(policy, 40, good("a", "b", "c", "d"))
    first, *others = policy.arms_in_memory
    best = max(others, key=lambda arm: pulls_of(policy)[arm])
    policy.remove_arms([first])
    assert policy.arms_in_memory[0] == best
    assert first not in play(policy, 300)


def test_with_room_for_all_arms_the_plain_rule_goes_on_and_back() -> None:
    policy = handful.UCBM(LETTERS[:3], memory=4, seed=1)
    play(policy, 50, good("b"))
    before = pulls_of(policy)
    policy.add_arms(["x"])
    assert pulls_of(policy) == {**before, "x": 0}
    assert play(policy, 1) == ["x"]
    policy.add_arms(["y"])  # no room any more: a sub-phase ends at once
    assert policy.new_arms_within == 1
    assert record(policy).phase == 1
    play(policy, 1)
    assert policy.arms_in_memory == ["b", "y"]
    policy.remove_arms(["b"])
    assert sorted(policy.arms_in_memory) == sorted(["a", "c", "x", "y"])
    assert "all arms in memory" in policy.stats().place


@pytest.mark.parametrize("name", ["ucb-m", "race"])
def test_every_arm_comes_up_again_and_again(name: str) -> None:
    policy = handful.policy(name, arms=LETTERS, memory=3, seed=1)
    play(policy, 200)
    policy.remove_arms(["a", "b", "c"])
    policy.add_arms(["x", "y"])
    assert set(play(policy, 4000)) == {*policy.arms}  # type: ignore[misc]


# References without a memory bound.


def test_without_a_bound_new_arms_are_in_memory_at_once() -> None:
    policy = handful.policy("ts", arms=LETTERS, seed=1)
    open_decision = policy.decide()
    policy.add_arms(["x"])
    assert policy.memory == policy.n_arms == 9
    assert policy.arms_in_memory[-1] == "x"
    assert policy.new_arms_within == 0
    assert policy.reward(open_decision.ticket, 1.0) is Receipt.CREDITED
    policy.remove_arms(LETTERS)
    assert policy.arms_in_memory == ["x"]


# Racing with all arms in memory is IMED.


def test_race_goes_on_as_imed_with_what_it_knows() -> None:
    policy = handful.Race(LETTERS, memory=4, seed=1)
    play(policy, 100, good("a", "c"))
    known = pulls_of(policy)
    policy.remove_arms(["e", "f", "g", "h"])
    kept = {arm: pulls for arm, pulls in known.items() if arm in "abcd"}
    assert pulls_of(policy) == {**dict.fromkeys("abcd", 0), **kept}
    clock = policy.decisions
    policy.add_arms(["x"])
    assert policy.decisions == clock
    assert policy.memory == 4
    assert "x" in play(policy, 100)


# Policies of the literature.


def test_after_its_pass_a_single_pass_tries_new_arms_and_commits_again() -> None:
    policy = handful.policy("single-pass", arms=LETTERS, seed=1, horizon=1000)
    play(policy, 500, fair("a"))
    assert set(play(policy, 50, fair("a"))) == {"a"}
    policy.add_arms(["x", "y"])
    share = fair_share(1000, 10)
    assert policy.new_arms_within == 2 * share + 1
    tried = play(policy, int(2 * share), good("x"))
    assert tried == ["x"] * int(share) + ["y"] * int(share)
    assert set(play(policy, 50, good("x"))) == {"x"}
    policy.remove_arms(["y"])
    assert set(play(policy, 50, good("x"))) == {"x"}
    policy.remove_arms(["x"])  # the best: the pass begins again
    assert set(play(policy, 400, good("b"))) == {*LETTERS}
    assert policy.recommend() == "b"


@pytest.mark.parametrize("name", ["mpse", "mbse", "game-of-coins"])
def test_when_their_passes_are_over_the_others_try_new_arms_too(name: str) -> None:
    memory = 3 if name == "mbse" else None
    policy = handful.policy(name, arms=LETTERS, memory=memory, seed=1, horizon=300)
    play(policy, 2000, fair("a"))
    assert set(play(policy, 50, fair("a"))) == {"a"}
    policy.add_arms(["x"])
    assert play(policy, 1, good("x")) == ["x"]
    play(policy, 2000, good("x"))
    assert set(play(policy, 50, good("x"))) == {"x"}


@pytest.mark.parametrize("seed", range(6))
def test_a_king_that_comes_up_itself_meets_nobody(seed: int) -> None:
    """With fewer arms, the order changes, and the king may come up in its own pass."""
    policy = handful.policy("game-of-coins", arms=LETTERS[:4], seed=seed, horizon=1000)
    play(policy, 1)
    policy.remove_arms([label for label in LETTERS[:4] if label not in policy.arms_in_memory][:2])
    play(policy, 200)
    assert policy.new_arms_within == 0


def test_the_next_arm_of_robbins_is_a_new_one() -> None:
    policy = handful.policy("robbins", arms=LETTERS, seed=1)
    play(policy, 3)
    (hand,) = policy.arms_in_memory
    policy.add_arms(["x", "y"])
    assert policy.new_arms_within is None
    assert policy.arms_in_memory == [hand]
    assert play(policy, 3) in ([hand, "x", "y"], ["x", "y", policy.arms_in_memory[0]])


def test_a_settled_scan_scans_new_arms() -> None:
    policy = handful.policy("constant-space", arms=["a", "b"], seed=1, horizon=100, c=0.1)
    play(policy, 200, good("a"))
    assert set(play(policy, 50, good("a"))) == {"a"}
    policy.add_arms(["x"])
    state: Any = policy._state
    within = ceil(0.1 * 4.605170186 * 4.0 / state.precision**2 + 2.0) + 1
    assert policy.new_arms_within == within
    assert play(policy, 1, good("x")) == ["x"]


def test_no_bound_is_given_for_arms_at_random() -> None:
    policy = handful.policy("random", arms=LETTERS, seed=1)
    policy.add_arms(["x"])
    assert policy.new_arms_within is None
    assert policy._state.news == 0
    assert "x" in play(policy, 200)


# Policies of one's own.


class Rounds(State):
    place: Int


class InTurn(handful.Policy):
    """Takes the arms in turn; its place would not make sense on other arms."""

    name = "in-turn"
    State = Rounds

    @staticmethod
    def start(state: Any, p: Any) -> None:
        admit(state, 0, 0)

    @staticmethod
    def propose(state: Any, p: Any) -> int:
        state.place = (state.place + 1) % p.K
        admit(state, 0, state.place)
        return 0


def test_a_policy_that_does_not_say_how_it_goes_on_starts_again() -> None:
    policy = InTurn(["a", "b", "c"], 2, seed=1)
    assert play(policy, 4) == ["b", "c", "a", "b"]
    late = policy.decide()
    policy.add_arms(["d"])
    assert (policy.decisions, policy.pulls) == (5, 4)
    assert policy.arms_in_memory == ["a"]
    assert policy.reward(late.ticket, 1.0) is Receipt.FORGOTTEN
    assert play(policy, 4) == ["b", "c", "d", "a"]
    policy.remove_arms(["a"])
    assert play(policy, 3) == ["c", "d", "b"]
    assert policy.new_arms_within is None
    with refused(ForgottenArmError, LookupError, "not in memory"):
        policy.update("c", 1.0)


# One arm for another, as kernels do it.


@pytest.mark.parametrize(
    "name",
    ["race", "ucb-m", "imed", "robbins", "mbse", "game-of-coins", "constant-space", "random"],
)
@pytest.mark.parametrize("memory", [3, 8])
def test_one_arm_for_another_is_a_removed_and_an_added_one(name: str, memory: int) -> None:
    cls = handful.policies.POLICIES[name]
    given = {"horizon": 500} if cls.needs_horizon else {}
    policy = handful.policy(
        name, arms=LETTERS, memory=memory if cls.takes_memory() else None, seed=3, **given
    )
    rng = random.Random(4)
    for number in range(60):
        play(policy, rng.randrange(40), lambda arm: float(rng.random() < ord(arm[0]) / 200))
        policy.decide(2)
        labels, arm = [*policy.arms], rng.randrange(8)  # type: ignore[misc]
        twin, acts_as = policy._state.copy(), policy._acts_as
        change_arms = changer(acts_as.start, acts_as.withdraw, acts_as.resized, acts_as.news_first)
        change_arms(twin, (arm,), 1, len(labels), policy._p)
        policy._change([f"z{number}"], [arm])
        assert twin.pack() == policy._state.pack()
        assert policy.arms == [*labels[:arm], *labels[arm + 1 :], f"z{number}"]
