"""Arms from a proposer: when it is called, with what, and what becomes of what it returns."""

from __future__ import annotations

import copy
import gc
import itertools
import json
import pickle
import random
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import handful
from handful import ArmStats, Proposed
from handful.core.flight import turn_is_due
from handful.core.slots import admit
from handful.errors import ExhaustedError, OtherArmsError, SettingError, StateError
from handful.policies import POLICIES, Policy
from tests.helpers import drive, plan, refused, untouched

TAKING = [
    name
    for name, cls in POLICIES.items()
    if (cls.endless or cls.any_arms) and not cls.recalls and not cls.clairvoyant
]
"""The policies that take proposed arms."""
RECALLING = [name for name, cls in POLICIES.items() if cls.recalls]
every_policy = pytest.mark.parametrize("name", TAKING)
MEMORY = 4


def made(name: str, arms: Any, memory: int = MEMORY, **given: Any) -> Policy:
    cls = POLICIES[name]
    bound = memory if cls.takes_memory() else None
    return handful.policy(name, arms, bound, seed=3, **{**plan(name), **given})


def best(memory: tuple[ArmStats, ...]) -> ArmStats:
    return next(arm for arm in memory if arm.recommended)


def child(memory: tuple[ArmStats, ...]) -> str:
    """A label that depends on all that is shown, and on nothing else."""
    seen = [(arm.arm, arm.pulls, arm.in_flight, arm.low, arm.high) for arm in memory]
    return f"{random.Random(repr(seen)).getrandbits(40):x} of {best(memory).arm[:10]}"


def numbered() -> Iterator[str]:
    return (f"arm {i}" for i in itertools.count())


def blind() -> Proposed:
    labels = numbered()
    return Proposed(lambda memory: next(labels), ["a", "b"])


# What is refused.


@pytest.mark.parametrize(
    ("propose", "first", "says"),
    [
        ("propose", ["a"], "no function"),
        (child, [], "at least 1 label"),
        (child, "abc", "['abc']"),
        (child, 3, "[3]"),
        (child, ["a", "a"], "'a'"),
        (child, [["a"]], "not hashable"),
        (child, [None], "stands for no arm"),
    ],
)
def test_what_cannot_be_a_proposer_or_its_first_labels_is_refused(
    propose: Any, first: Any, says: str
) -> None:
    with refused(SettingError, ValueError, says):
        Proposed(propose, first)


@pytest.mark.parametrize("name", RECALLING)
def test_a_policy_that_recalls_arms_is_refused(name: str) -> None:
    with refused(SettingError, ValueError, name, "such as race"):
        made(name, blind())


def test_policies_for_finite_sets_and_fleets_are_refused() -> None:
    with refused(SettingError, ValueError, "ucb-m", "reservoir"):
        handful.UCBM(blind(), 2)
    with refused(SettingError, ValueError, "no end"):
        handful.Fleet("race", members=3, arms=blind(), memory=2)


def test_a_policy_that_begins_with_two_arms_needs_two_labels() -> None:
    # None of ours does; one of a user's may.
    class Pair(handful.Race):
        name = "pair"

        @staticmethod
        def start(state: Any, p: Any) -> None:
            handful.Race.start(state, p)
            admit(state, 1, 1)

    with refused(SettingError, ValueError, "begins with 2 arms", "at least 2"):
        Pair(Proposed(child, ["a"]), 2)
    assert Pair(Proposed(child, ["a", "b", "c"]), 2).arms_in_memory == ["a", "b"]


def test_labels_go_to_arms_in_the_order_of_their_indices_whatever_the_slots() -> None:
    arms = Proposed(None, ["a", "b", "c", "d"])
    arms.begin([1, 0])
    assert [arms.label(0), arms.label(1)] == ["a", "b"]
    arms.hold([3, 2])
    assert [arms.label(2), arms.label(3)] == arms.labels == ["c", "d"]
    with refused(ExhaustedError, RuntimeError, "0 labels wait", "2 new arms"):
        arms.hold([3, 4, 5])
    with refused(ExhaustedError, RuntimeError, "arm 0", "left memory"):
        arms.label(0)
    arms.hold([3])  # an arm may leave without another one
    assert arms.labels == ["d"]


def test_the_policies_are_all_here() -> None:
    assert {"race", "herschkorn", "ucb-air", "random"} <= set(TAKING)
    assert set(RECALLING) >= {"qucb-m"}


# When the proposer is called.


@every_policy
def test_a_proposer_that_names_arms_in_order_is_an_iterator(name: str) -> None:
    # The slow twin: no memory is looked at, so the labels may as well come from an iterator.
    policy = made(name, blind())
    other = made(name, itertools.chain(["a", "b"], numbered()))
    assert drive(policy, 400, random.Random(1)) == drive(other, 400, random.Random(1))
    assert policy._state.pack() == other._state.pack()
    assert policy.stats() == other.stats()


@every_policy
def test_the_labels_proposed_once_may_as_well_have_been_known(name: str) -> None:
    came: list[str] = ["a", "b"]

    def propose(memory: tuple[ArmStats, ...]) -> str:
        came.append(child(memory))
        return came[-1]

    policy = made(name, Proposed(propose, came.copy()))
    chosen = drive(policy, 400, random.Random(1))
    known = made(name, handful.PostedArms(came))
    assert drive(known, 400, random.Random(1)) == chosen
    assert policy._state.pack() == known._state.pack()


def test_the_first_labels_come_first_and_nobody_is_asked() -> None:
    def propose(memory: Any) -> str:
        raise AssertionError("not yet")

    policy = handful.Race(Proposed(propose, ["a", "b", "c"]), MEMORY, seed=1)
    assert policy.arms_in_memory == ["a"]
    while len(policy.arms_in_memory) < 3:
        policy.update(policy.select(), 0.0)
    assert policy.arms_in_memory == ["a", "b", "c"]


def test_added_labels_come_before_the_proposer_is_asked() -> None:
    policy = handful.Race(blind(), MEMORY, seed=1)
    policy.add_arms(["mine", "yours"])
    seen: list[Any] = []
    for arm in drive(policy, 60, random.Random(1)):
        if arm not in seen:
            seen.append(arm)
    assert seen[:5] == ["a", "b", "mine", "yours", "arm 0"]
    for labels, says in ((["x", policy.arms_in_memory[0]], "already"), ("x", "['x']")):
        with untouched(policy), refused(SettingError, ValueError, says):
            policy.add_arms(labels)
    with untouched(policy), refused(SettingError, ValueError, "endless"):
        policy.remove_arms([policy.arms_in_memory[0]])


# What it returns.


class Fickle:
    """A proposer that does as it is told."""

    def __init__(self) -> None:
        self.gives: Any = None
        self.calls = 0

    def __call__(self, memory: tuple[ArmStats, ...]) -> Any:
        self.calls += 1
        if isinstance(self.gives, BaseException):
            raise self.gives
        return self.gives(memory) if callable(self.gives) else self.gives


WAYS: dict[str, Callable[[Policy], Any]] = {
    "decide": lambda policy: policy.decide(),
    "decide(n)": lambda policy: policy.decide(5),
    "decide(allowed)": lambda policy: policy.decide(allowed=lambda label: True),
    "select": lambda policy: policy.select(),
}
every_way = pytest.mark.parametrize("way", WAYS)


def wanting(fickle: Fickle, **given: Any) -> Policy:
    """A Race that is about to take a new arm, with rewards in flight."""
    policy = handful.Race(Proposed(fickle, ["a"]), MEMORY, seed=1, **given)
    fickle.gives = child
    for _ in range(40):
        policy.reward(policy.decide().ticket, 0.0)
    fickle.gives = None
    fickle.calls = 0
    while fickle.calls == 0:
        policy.reward(policy.decide().ticket, 0.0)
    fickle.calls = 0
    return policy


@every_way
@pytest.mark.parametrize(
    ("gives", "error", "says"),
    [
        (OSError("the network is down"), OSError, "network"),
        (KeyboardInterrupt("by hand"), KeyboardInterrupt, "hand"),
        (["a list"], SettingError, "not hashable"),
        (np.zeros(2), SettingError, "not hashable"),
    ],
    ids=["error", "interrupt", "list", "array"],
)
def test_an_error_changes_nothing_and_the_next_decision_asks_again(
    way: str, gives: Any, error: type[BaseException], says: str
) -> None:
    fickle = Fickle()
    policy = wanting(fickle)
    twin = policy.clone()
    fickle.gives = gives
    for calls in (1, 2):
        with untouched(policy), pytest.raises(error, match=says):
            WAYS[way](policy)
        assert fickle.calls == calls
        assert policy.stats() == twin.stats()
    fickle.gives = child
    assert WAYS[way](policy) == WAYS[way](twin)
    assert policy.to_bytes() == twin.to_bytes()


def test_a_batch_that_fails_late_is_taken_back_with_its_arms() -> None:
    fickle = Fickle()
    policy = wanting(fickle)
    given = iter(["x", "y"])
    fickle.gives = lambda memory: next(given)
    with untouched(policy), pytest.raises(StopIteration):
        policy.decide(500)
    assert fickle.calls == 3
    assert not {"x", "y"} & set(policy.arms.labels)  # type: ignore[union-attr]


def test_a_window_that_ends_with_a_decision_that_fails_is_taken_back() -> None:
    fickle = Fickle()

    def every_other(memory: tuple[ArmStats, ...]) -> str:
        if fickle.calls % 2:
            raise OSError("the network is down")
        return child(memory)

    fickle.gives = every_other
    policy = handful.Race(Proposed(fickle, ["a"]), MEMORY, seed=1, window=2)
    failures = failures_as_a_window_ends = 0
    for step in range(1000):
        before, state = policy.to_bytes(), policy._state
        due = turn_is_due(state, policy._window)
        try:
            decision = policy.decide()
        except OSError:
            failures += 1
            failures_as_a_window_ends += due
            assert policy.to_bytes() == before
        else:
            if step % 3:  # the others never come
                policy.reward(decision.ticket, 0.0)
    assert failures > failures_as_a_window_ends > 2
    assert policy.stats().lost > 0


@every_way
@pytest.mark.parametrize("repeats", [False, True], ids=["None", "in memory"])
def test_without_a_new_label_the_best_arm_in_memory_stands_in(way: str, repeats: bool) -> None:
    fickle = Fickle()
    policy = wanting(fickle)
    fickle.gives = (lambda memory: memory[-1].arm) if repeats else None
    before = policy.arms_in_memory
    rates = {arm.arm: (arm.mean * arm.pulls + 0.5) / (arm.pulls + 1) for arm in policy.stats()}
    found = WAYS[way](policy)
    arms = (
        [each.arm for each in found] if isinstance(found, list) else [getattr(found, "arm", found)]
    )
    assert fickle.calls == len(arms)  # each decision of a list asks
    assert policy.arms_in_memory == before
    assert rates[arms[0]] == max(rates.values())
    assert policy.arms.repeated == (len(arms) if repeats else 0)  # type: ignore[union-attr]
    fickle.gives = "new"
    for arm in found if isinstance(found, list) else []:
        policy.reward(arm.ticket, 0.0)
    if way == "select":
        policy.update(found, 0.0)
    policy.decide()
    assert "new" in policy.arms_in_memory


def test_a_label_that_has_left_memory_is_a_new_arm() -> None:
    names = itertools.cycle([f"arm {i}" for i in range(20)])
    policy = handful.Race(Proposed(lambda memory: next(names), ["a"]), 2, seed=1)
    entered = 0
    for _ in range(400):
        before = set(policy.arms_in_memory)
        policy.reward(policy.decide().ticket, 0.0)
        entered += len(set(policy.arms_in_memory) - before)
    assert entered > 40


def test_without_a_proposer_the_policy_goes_on_with_what_is_added() -> None:
    policy = handful.Race(Proposed(None, ["a"]), MEMORY, seed=1)
    assert set(drive(policy, 20, random.Random(1))) == {"a"}
    policy.add_arms(["b"])
    assert "b" in drive(policy, 20, random.Random(1))
    assert policy.arms.waiting == 0  # type: ignore[union-attr]


def test_the_function_given_as_allowed_must_not_change_the_policy() -> None:
    fickle = Fickle()
    policy = wanting(fickle)
    ticket = policy.decide().ticket
    fickle.gives = child
    with untouched(policy), refused(SettingError, ValueError, "look at labels only"):
        policy.decide(allowed=lambda label: policy.reward(ticket, 1.0) == "nothing")


def test_an_async_function_is_refused_with_advice() -> None:
    async def propose(memory: Any) -> str:
        return "b"

    mistaken: Any = propose
    policy = handful.Race(Proposed(mistaken, ["a"]), MEMORY, seed=1)
    with refused(SettingError, ValueError, "awaited", "docs/proposers.md"):
        drive(policy, 20, random.Random(1))
    with pytest.warns(RuntimeWarning, match="never awaited"):
        gc.collect()


# What it may not do.


MISDEEDS: dict[str, Callable[[Policy, Any], Any]] = {
    "reward": lambda policy, open_ticket: policy.reward(open_ticket, 1.0),
    "drop": lambda policy, open_ticket: policy.drop(open_ticket),
    "update": lambda policy, open_ticket: policy.update(policy.arms_in_memory[0], 1.0),
    "reset": lambda policy, open_ticket: policy.reset(),
    "decide": lambda policy, open_ticket: policy.decide(),
    "select": lambda policy, open_ticket: policy.select(),
}


@pytest.mark.parametrize("misdeed", MISDEEDS)
@pytest.mark.parametrize("way", ["decide", "decide(n)"])
def test_a_proposer_that_changes_the_policy_is_refused(way: str, misdeed: str) -> None:
    fickle = Fickle()
    policy = wanting(fickle)
    ticket = policy.decide().ticket

    def propose(memory: Any) -> str:
        MISDEEDS[misdeed](policy, ticket)
        return "new"

    fickle.gives = propose
    with untouched(policy), refused(SettingError, ValueError, "in memory only"):
        WAYS[way](policy)
    assert policy.reward(ticket, 1.0) == "credited"


def test_a_proposer_may_look_at_the_policy() -> None:
    looks: list[Any] = []

    def propose(memory: tuple[ArmStats, ...]) -> str:
        assert memory == policy.stats().arms
        assert [arm.arm for arm in memory] == policy.arms_in_memory
        assert best(memory).arm == policy.recommend()
        looks.append((policy.to_bytes(), policy.decisions, repr(policy), policy.clone()))
        return f"arm {len(looks)}"

    policy = handful.Race(Proposed(propose, ["a"]), MEMORY, seed=1)
    drive(policy, 100, random.Random(1))
    assert len(looks) > 5


def test_a_proposer_may_add_several_arms_at_once() -> None:
    calls = 0

    def propose(memory: tuple[ArmStats, ...]) -> str:
        nonlocal calls
        calls += 1
        policy.add_arms([f"{calls}, first", f"{calls}, second"])
        if calls == 2:
            raise OSError("the network is down")
        return f"{calls}, last"

    policy = handful.Race(Proposed(propose, ["a"]), 2, seed=1)
    came: list[str] = []
    failures = 0
    while len(came) < 10:
        try:
            decision = policy.decide()
        except OSError:
            failures += 1
            assert policy.arms.waiting == 0  # type: ignore[union-attr]
            continue
        if decision.arm not in came:
            came.append(decision.arm)
        policy.reward(decision.ticket, 0.0)
    assert failures == 1
    rounds = [[f"{n}, {place}" for place in ("first", "second", "last")] for n in (1, 3, 4)]
    assert came == ["a", *itertools.chain(*rounds)]


# Allowed arms.


def test_only_arms_in_memory_are_allowed() -> None:
    fickle = Fickle()
    policy = wanting(fickle)
    fickle.gives = child
    before = policy.arms_in_memory
    for label in before:
        twin = policy.clone()
        assert twin.decide(allowed=[label]).arm == label
        # If the new arm would have taken its place, it waits.
        came = [arm for arm in twin.arms_in_memory if arm not in before]
        assert len(came) + twin.arms.waiting == 1  # type: ignore[union-attr]
        assert label in twin.arms_in_memory
    assert fickle.calls == len(before)
    policy.add_arms(["next", "last"])
    with untouched(policy), refused(SettingError, ValueError, "proposer cannot be searched"):
        policy.decide(allowed=["last"])


# Saving, copies, and starting again.


@every_policy
def test_a_policy_is_restored_with_the_labels_of_the_moment(name: str) -> None:
    policy = made(name, Proposed(child, ["a", "b"]))
    rewards = random.Random(1)
    for _ in range(8):
        drive(policy, 37, rewards)
        labels = json.loads(json.dumps(policy.arms.labels))  # type: ignore[union-attr]
        twin = handful.from_bytes(policy.to_bytes(), Proposed(child, labels))
        assert twin.to_bytes() == policy.to_bytes()
        assert twin.arms_in_memory == policy.arms_in_memory
        seed = rewards.random()
        expected = drive(policy, 50, random.Random(seed))
        assert drive(twin, 50, random.Random(seed)) == expected
        policy = twin


def test_other_labels_are_refused() -> None:
    policy = handful.Race(Proposed(child, ["a"]), MEMORY, seed=1)
    drive(policy, 100, random.Random(1))
    policy.add_arms(["one", "two"])
    blob, labels = policy.to_bytes(), policy.arms.labels  # type: ignore[union-attr]
    assert len(labels) == len(policy.arms_in_memory) + 2
    for wrong in (labels[:-1], [*labels, "three"], labels[::-1], ["x", *labels[1:]]):
        with refused(OtherArmsError, ValueError, "policy.arms.labels"):
            handful.from_bytes(blob, Proposed(child, wrong))
    for wrong in (iter(labels), handful.PostedArms(labels), str):
        with pytest.raises(OtherArmsError):
            handful.from_bytes(blob, wrong)
    with pytest.raises(OtherArmsError):
        handful.from_bytes(handful.Race(str, 2).to_bytes(), Proposed(child, ["a"]))
    assert handful.from_bytes(blob, policy.arms).stats() == policy.stats()


def test_a_selected_arm_is_still_pending_after_restoring() -> None:
    policy = handful.Race(Proposed(child, ["a"]), MEMORY, seed=1)
    drive(policy, 30, random.Random(1))
    arm = policy.select()
    twin = handful.from_bytes(policy.to_bytes(), Proposed(child, policy.arms.labels))  # type: ignore[union-attr]
    assert twin.select() == arm


COPIES: dict[str, Callable[[Policy], Policy]] = {
    "clone": lambda policy: policy.clone(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda policy: pickle.loads(pickle.dumps(policy)),
    "bytes": lambda policy: handful.from_bytes(policy.to_bytes(), policy.arms),
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_goes_on_alone(way: str) -> None:
    policy = handful.Race(Proposed(child, ["a"]), MEMORY, seed=1)
    drive(policy, 100, random.Random(1))
    policy.add_arms(["waiting"])
    twin = COPIES[way](policy)
    assert twin.to_bytes() == policy.to_bytes()
    with untouched(policy):
        ahead = drive(twin, 200, random.Random(2))
    assert drive(policy, 200, random.Random(2)) == ahead
    policy.reset()
    twin.reset()
    if way != "bytes":  # its first labels are those that it was restored with
        assert drive(twin, 100, random.Random(3)) == drive(policy, 100, random.Random(3))


def test_a_lambda_is_not_pickled() -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(handful.Race(Proposed(lambda memory: "b", ["a"]), 2))


def test_a_reset_starts_again_from_the_first_labels() -> None:
    policy = handful.Race(Proposed(child, ["a", "b"]), MEMORY, seed=1)
    new = policy.to_bytes()
    chosen = drive(policy, 200, random.Random(1))
    policy.reset()
    assert policy.to_bytes() == new
    assert drive(policy, 200, random.Random(1)) == chosen


def test_policies_on_the_same_arms_do_not_disturb_each_other() -> None:
    arms = Proposed(child, ["a"])
    one = handful.Race(arms, MEMORY, seed=1)
    expected = drive(one, 200, random.Random(1))
    other = handful.Race(arms, MEMORY, seed=1)
    assert drive(other, 200, random.Random(1)) == expected


@pytest.mark.parametrize("kind", ["proposed", "posted"])
def test_arms_of_a_policy_that_could_not_be_made_are_those_of_the_next(kind: str) -> None:
    arms: Any = Proposed(child, ["a"]) if kind == "proposed" else handful.PostedArms(["a"])
    with pytest.raises(SettingError, match="memory=1"):
        handful.Race(arms, 1)
    with pytest.raises(SettingError, match="wibble"):
        handful.Race(arms, 2, wibble=1)
    policy = handful.Race(arms, 2, seed=1)
    assert policy.arms is arms
    assert handful.Race(arms, 2, seed=1).arms is not arms
    blob = policy.to_bytes()
    fresh: Any = Proposed(child, ["a"]) if kind == "proposed" else handful.PostedArms(["a"])
    with pytest.raises(OtherArmsError):
        handful.from_bytes(handful.Race(str, 2).to_bytes(), fresh)
    with pytest.raises(StateError):
        handful.from_bytes(blob[:-1], fresh)
    assert handful.from_bytes(blob, fresh).arms is fresh


def test_labels_that_python_takes_for_equal_may_differ() -> None:
    arms = Proposed(None, [1, "1", True, 0.5])
    assert [*map(repr, arms.labels)] == ["1", "'1'", "True", "0.5"]
    for label in (1.0, np.int64(1), True, np.float64(0.5)):
        with refused(SettingError, ValueError, "already"):
            arms.post([label])
    arms.post([False, 0])


def test_fingerprints_are_the_same_in_every_version() -> None:
    # Of states that a release saved: see docs/compatibility.md.
    assert Proposed(None, ["a", 1, 0.5, True]).fingerprint() == 7339216831166480409
    assert handful.PostedArms(["a", "b"]).fingerprint() == 802804784251900291


def test_labels_without_a_text_of_their_own_cannot_be_saved() -> None:
    policy = handful.Race(Proposed(lambda memory: object(), [object()]), 2, seed=1)
    drive(policy, 20, random.Random(1))
    assert "Race" in repr(policy)
    with refused(StateError, ValueError, "__repr__"):
        policy.to_bytes()


class Label:
    """A label whose life can be watched."""


@pytest.mark.parametrize("n", [None, 50])
def test_labels_of_arms_that_left_memory_are_freed(n: int | None) -> None:
    alive: weakref.WeakSet[Label] = weakref.WeakSet()

    def propose(memory: tuple[ArmStats, ...]) -> Label:
        if n is None:
            gc.collect()
            assert len(alive) <= MEMORY
        label = Label()
        alive.add(label)
        return label

    policy = handful.Race(Proposed(propose, [0]), MEMORY, seed=1)
    for _ in range(200 if n is None else 4):
        decisions = [policy.decide()] if n is None else policy.decide(n)
        for decision in decisions:
            policy.reward(decision.ticket, 0.0)
        del decision, decisions
    assert policy.arms.proposed > 10  # type: ignore[union-attr]
    gc.collect()
    assert len(alive) <= MEMORY


def test_threads_never_call_the_proposer_at_once_and_lose_nothing() -> None:
    inside = []

    def propose(memory: tuple[ArmStats, ...]) -> str:
        inside.append(1)
        assert len(inside) == 1
        label = child(memory)
        inside.pop()
        return label

    policy = handful.Race(Proposed(propose, ["a"]), MEMORY, seed=1)

    def work(number: int) -> None:
        rewards = random.Random(number)
        for step in range(150):
            policy.reward(policy.decide().ticket, rewards.random())
            if step % 30 == 0:
                policy.add_arms([f"{number} {step}"])
                with policy.lock:
                    saved, labels = policy.to_bytes(), policy.arms.labels  # type: ignore[union-attr]
                handful.from_bytes(saved, Proposed(child, labels))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    stats = policy.stats()
    assert stats.decisions == 600 == stats.rewards + stats.forgotten


# Lives.


class Life:
    """A policy on proposed arms, the steps that it takes, and what its proposer was shown."""

    def __init__(self, name: str, memory: int, given: dict[str, Any]) -> None:
        self.memory = POLICIES[name].own_memory or memory
        self.bounded = not POLICIES[name].unbounded
        self.shown: list[tuple[ArmStats, ...]] = []
        self.asked = self.came = 0
        self.mood = "child"
        self.open: list[int] = []
        self.heard: list[Any] = []
        self.policy = made(name, Proposed(self.propose, ["a", "b"]), memory, **given)
        self.largest = len(self.policy.to_bytes())

    def propose(self, memory: tuple[ArmStats, ...]) -> Any:
        self.asked += 1
        assert self.policy.arms.waiting == 0  # type: ignore[union-attr]
        assert not self.bounded or len(memory) <= self.memory
        assert len({arm.arm for arm in memory}) == len(memory)
        stats = self.policy.stats()
        # NaN, the mean of an arm without rewards, is not equal to itself.
        assert repr(memory) == repr(stats.arms)
        assert sum(arm.recommended for arm in memory) <= 1
        self.shown.append(memory)
        if self.mood == "raise":
            raise OSError("the network is down")
        if self.mood == "none":
            return None
        if self.mood == "repeat":
            return memory[0].arm
        self.came += 1
        return child(memory)

    def step(self, what: str, number: int, reward: float) -> None:
        policy = self.policy
        before = policy.to_bytes()
        asked, came, tried = self.asked, self.came, self.tried
        try:
            if what == "decide":
                self._opened([policy.decide()])
            elif what == "batch":
                self._opened(policy.decide(1 + number % 7))
            elif what == "allowed":
                label = policy.arms_in_memory[number % len(policy.arms_in_memory)]
                self._opened([policy.decide(allowed=[label])])
            elif what == "select":
                self.heard.append(policy.select())
                policy.update(self.heard[-1], reward)
        except OSError:
            assert self.mood == "raise"
            assert policy.to_bytes() == before
            self.came = came
        if what == "reward" and self.open:
            self.heard.append(policy.reward(self.open.pop(number % len(self.open)), reward))
        if what == "drop" and self.open:
            self.heard.append(policy.drop(self.open.pop(number % len(self.open))))
        if what not in ("decide", "batch", "allowed", "select"):
            assert self.asked == asked
        if self.tried is not None:
            assert tried is not None
            assert self.tried - tried <= (7 if what == "batch" else 1)
            # Two labels were there at first; every other arm that came up was proposed, once.
            waiting = policy.arms.waiting  # type: ignore[union-attr]
            assert self.tried + waiting == 2 + self.came
        if what == "restore":
            self.restore()

    @property
    def tried(self) -> int | None:
        """How many arms have come up, if the policy counts them."""
        return getattr(self.policy._state, "tried", None)

    def _opened(self, decisions: list[handful.Decision]) -> None:
        self.open += [decision.ticket for decision in decisions]
        self.heard += [decision.arm for decision in decisions]

    def restore(self) -> None:
        with self.policy.lock:
            labels, blob = self.policy.arms.labels, self.policy.to_bytes()  # type: ignore[union-attr]
        self.policy = handful.from_bytes(blob, Proposed(self.propose, labels))
        assert self.policy.to_bytes() == blob
        held = self.policy._state.held
        assert len(labels) <= held + 2
        self.largest = max(self.largest, len(blob))


STEPS = ("decide", "decide", "batch", "allowed", "select", "reward", "reward", "drop", "restore")
MOODS = ("child", "child", "child", "none", "repeat", "raise")
lives = st.lists(
    st.tuples(
        st.sampled_from(STEPS), st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 0.25]),
        st.sampled_from(MOODS),
    ),
    max_size=60,
)  # fmt: skip


life_of = given(
    st.sampled_from(["race", "race", *TAKING]),
    st.integers(2, 8),
    st.sampled_from([{}, {"window": 3}, {"window": 5, "default": 0.0}, {"rescale": (-1, 2)}]),
    lives,
)


@life_of
@settings(derandomize=True, deadline=None, max_examples=150)
def test_lives(name: str, memory: int, given: dict[str, Any], steps: Any) -> None:
    live(name, memory, given, steps)


@life_of
@settings(deadline=None, max_examples=1500)
def test_many_lives(name: str, memory: int, given: dict[str, Any], steps: Any) -> None:
    live(name, memory, given, steps)


def live(name: str, memory: int, given: dict[str, Any], steps: Any) -> None:
    life, again = Life(name, memory, given), Life(name, memory, given)
    for what, number, reward, mood in steps:
        life.mood = again.mood = mood
        life.step(what, number, reward)
        # A proposer that is a function of what it is shown: the same life without the saves.
        if what != "restore":
            again.step(what, number, reward)
    assert repr(life.shown) == repr(again.shown)
    assert life.heard == again.heard
    life.restore()
    assert life.policy.to_bytes() == again.policy.to_bytes()
    if life.bounded:
        assert life.largest <= 8 * life.policy.memory_words + 52 + 36 * life.memory


@pytest.mark.parametrize(("name", "arms"), [("race", 8), ("k-failure", 200)])
def test_every_arm_is_proposed_once_and_bytes_stay_bounded(name: str, arms: int) -> None:
    life = Life(name, MEMORY, {})
    rng = random.Random(1)
    for _ in range(3_000):
        life.step(rng.choice(STEPS[:-1]), rng.randrange(10**6), rng.choice((0.0, 0.0, 1.0)))
        life.largest = max(life.largest, len(life.policy.to_bytes()))
    assert life.came > arms
    life.restore()
    assert life.largest <= 8 * life.policy.memory_words + 52 + 36 * life.memory
    assert life.policy.memory_words < 150


def test_an_iterator_that_ends_still_says_so() -> None:
    with pytest.raises(ExhaustedError, match="ended"):
        drive(handful.Race(iter("abc"), MEMORY, seed=1), 100, random.Random(1))
