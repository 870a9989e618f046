"""Endless arms: labels, views that share an iterator, and policies that are cloned on one."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import random
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import handful
from handful import Reservoir
from handful.core.arms import ENDLESS
from handful.errors import ExhaustedError, OtherArmsError, SettingError, StateError
from handful.policies import POLICIES, Policy
from tests.helpers import drive, new, refused, untouched


class Label:
    """A label whose life can be watched."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"Label({self.number})"


def prompt(index: int) -> str:
    return f"prompt-{index}"


def prompts() -> Iterator[str]:
    return map(prompt, itertools.count())


def watched() -> tuple[Iterator[Label], weakref.WeakSet[Label]]:
    alive: weakref.WeakSet[Label] = weakref.WeakSet()

    def labels() -> Iterator[Label]:
        for number in itertools.count():
            label = Label(number)
            alive.add(label)
            yield label
            del label

    return labels(), alive


def numbers(alive: weakref.WeakSet[Label]) -> set[int]:
    gc.collect()
    return {label.number for label in alive}


@pytest.mark.parametrize("make", [lambda: Reservoir(prompt), lambda: Reservoir(prompts())])
def test_any_arm_has_its_label(make: Callable[[], Reservoir]) -> None:
    arms = make()
    assert arms.n == ENDLESS
    assert [arms.label(i) for i in (3, 0, 7, 3)] == [prompt(i) for i in (3, 0, 7, 3)]
    assert arms.slot_of("prompt-3", [0, 3]) == 1
    assert arms.slot_of("prompt-4", [0, 3]) is None
    assert arms.knows("prompt-3") is None


@pytest.mark.parametrize(
    ("given", "described"),
    [
        (5, "5"),
        (np.int64(5), "5"),
        (["a", "b"], "a list of 2"),
        (("a", "b"), "a tuple of 2"),
        (range(2**70), "range(0, 1180591620717411303424)"),
        ({"a", "b"}, "a set of 2"),
        (frozenset("ab"), "a frozenset of 2"),
        ({"a": 1}, "a dict of 1"),
        ({"a": 1}.keys(), "a dict_keys of 1"),
        ({"a": 1}.items(), "a dict_items of 1"),
        ("abc", "a str of 3"),
        (np.array(["a"]), "a ndarray of 1"),
        (pd.Series(["a"]), "a Series of 1"),
    ],
)
@pytest.mark.parametrize(
    "make", [Reservoir, Reservoir.of, lambda arms: handful.policy("qucb-m", arms, 2)]
)
def test_finite_arms_are_refused_with_advice(
    make: Callable[[Any], Any], given: Any, described: str
) -> None:
    with refused(SettingError, ValueError, "finite", described, "function", "iterator", "ucb-m"):
        make(given)


@pytest.mark.parametrize("given", [2.5, None, object()])
def test_what_is_no_source_of_arms_is_refused(given: Any) -> None:
    with refused(SettingError, ValueError, repr(given), "function", "iterator"):
        Reservoir(given)


def test_labels_of_numpy_come_back_as_plain_scalars() -> None:
    assert type(Reservoir(iter(np.array(["a", "b"]))).label(1)) is str
    assert type(Reservoir(np.int64).label(1)) is int


def test_an_array_from_an_iterator_is_matched_by_identity() -> None:
    arrays: Any = (np.full(2, i) for i in itertools.count())
    policy = handful.QUCBM(arrays, 2, seed=1)
    for _ in range(50):
        policy.update(policy.select(), 0.5)
    assert policy.pulls == 50
    assert policy.to_bytes()


def test_labels_that_are_released_are_freed() -> None:
    labels, alive = watched()
    arms = Reservoir(labels)
    arms.label(99)
    assert numbers(alive) == set(range(100))
    arms.keep_only([3, 50, 99])
    # The first label stays for the fingerprint.
    assert numbers(alive) == {0, 3, 50, 99}
    assert arms.label(50).number == 50
    with refused(ExhaustedError, RuntimeError, "arm 4 was released", "function"):
        arms.label(4)
    arms.keep_only([])
    assert arms.label(100).number == 100
    assert numbers(alive) == {0, 100}


def test_labels_still_to_come_are_not_released() -> None:
    arms = Reservoir(prompts())
    arms.keep_only([5])
    assert arms.label(2) == prompt(2)


def test_a_clone_has_the_labels_that_the_original_has_and_they_go_separate_ways() -> None:
    arms = Reservoir(prompts())
    arms.label(9)
    arms.keep_only([2, 9])
    twin = arms.clone()
    arms.keep_only([])
    assert [twin.label(2), twin.label(9)] == [prompt(2), prompt(9)]
    assert twin.label(20) == prompt(20)
    twin.keep_only([])
    assert [arms.label(i) for i in range(10, 21)] == [prompt(i) for i in range(10, 21)]


def test_a_label_waits_for_the_slowest_view_and_no_longer() -> None:
    labels, alive = watched()
    ahead = Reservoir(labels)
    behind = ahead.clone()
    ahead.label(49)
    ahead.keep_only([49])
    assert numbers(alive) == set(range(50))
    behind.label(19)
    behind.keep_only([7])
    assert numbers(alive) == {0, 7, *range(20, 50)}
    del behind
    assert numbers(alive) == {0, 49}


def test_a_million_labels_that_nobody_waits_for_any_more_are_freed() -> None:
    # A linked list of them must not be freed by recursion.
    ahead = Reservoir(itertools.count())
    behind = ahead.clone()
    ahead.label(10**6)
    ahead.keep_only([])
    del behind
    assert ahead.label(10**6 + 1) == 10**6 + 1


def test_views_may_be_used_in_threads() -> None:
    arms = Reservoir(prompts())

    def draw(view: Reservoir) -> list[str]:
        labels = []
        for index in range(3000):
            labels.append(view.label(index))
            view.keep_only([index])
        return labels

    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(draw, [arms.clone() for _ in range(4)]))
    assert drawn == [[prompt(i) for i in range(3000)]] * 4


def test_copies_are_clones() -> None:
    arms = Reservoir(prompts())
    arms.label(3)
    for twin in (copy.copy(arms), copy.deepcopy(arms)):
        twin.keep_only([])
        assert arms.label(2) == prompt(2)


def test_a_function_is_pickled_and_an_iterator_is_refused() -> None:
    assert pickle.loads(pickle.dumps(Reservoir(prompt))).label(3) == prompt(3)
    with refused(StateError, ValueError, "to_bytes()", "new iterator"):
        pickle.dumps(Reservoir(prompts()))


def test_labels_in_hand_outlive_the_end_of_the_iterator() -> None:
    arms = Reservoir(iter("abc"))
    arms.label(2)
    arms.keep_only([0, 2])
    for _ in range(2):
        with refused(ExhaustedError, RuntimeError, "ended after 3 arms", "from_bytes()"):
            arms.label(3)
    assert [arms.label(0), arms.label(2), arms.clone().label(2)] == ["a", "c", "c"]


def test_an_empty_iterator_is_refused_when_an_arm_is_needed() -> None:
    with refused(ExhaustedError, RuntimeError, "ended after 0 arms"):
        Reservoir(iter([])).label(0)
    with refused(ExhaustedError, RuntimeError, "ended after 0 arms"):
        Reservoir(iter([])).fingerprint()


def test_an_error_of_the_iterator_itself_is_passed_on() -> None:
    def broken() -> Iterator[str]:
        yield "a"
        raise OSError("the network is down")

    arms = Reservoir(broken())
    with pytest.raises(OSError, match="network"):
        arms.label(1)
    assert arms.label(0) == "a"


def test_after_a_restart_all_arms_are_still_to_come() -> None:
    arms = Reservoir(prompts())
    arms.label(5)
    twin = arms.clone()
    arms.restart()
    assert arms.label(0) == prompt(0)
    arms.keep_only([0])
    assert [arms.label(i) for i in range(9)] == [prompt(i) for i in range(9)]
    assert [twin.label(i) for i in range(9)] == [prompt(i) for i in range(9)]
    arms.restart()
    assert arms.fingerprint() == Reservoir(prompts()).fingerprint()


def test_a_restart_is_refused_once_arms_were_released() -> None:
    arms = Reservoir(prompts())
    arms.label(5)
    arms.restart()
    arms.label(5)
    arms.keep_only([0, 1, 2, 3, 4])
    with refused(ExhaustedError, RuntimeError, "6 arms were drawn", "new iterator"):
        arms.restart()
    Reservoir(prompt).restart()


def test_fingerprints_are_the_same_in_every_process_and_version() -> None:
    assert Reservoir(prompt).fingerprint() == 1772867513584046026
    assert Reservoir(prompts()).fingerprint() == 13769847381579394792


def test_a_fingerprint_is_computed_once_and_takes_no_arm() -> None:
    asked: list[int] = []

    def label(index: int) -> str:
        asked.append(index)
        return prompt(index)

    arms = Reservoir(label)
    assert arms.fingerprint() == arms.fingerprint() == Reservoir(prompt).fingerprint()
    assert asked == list(range(16))
    stream = Reservoir(prompts())
    before = stream.fingerprint()
    assert [stream.label(0), stream.label(1)] == [prompt(0), prompt(1)]
    stream.keep_only([])
    assert stream.fingerprint() == stream.clone().fingerprint() == before


def test_the_fingerprint_of_a_view_that_has_moved_on_is_that_of_the_first_label() -> None:
    arms = Reservoir(prompts())
    arms.label(9)
    arms.keep_only([])
    assert arms.fingerprint() == Reservoir(prompts()).fingerprint()
    with refused(OtherArmsError, ValueError, "new iterator"):
        Reservoir(iter("abc")).check_fingerprint(arms.fingerprint(), arms.n)


def test_the_first_policy_takes_a_reservoir_and_later_ones_a_clone() -> None:
    arms = Reservoir(prompts())
    assert Reservoir.of(arms) is arms
    twin = Reservoir.of(arms)
    assert twin is not arms
    assert Reservoir.of(twin) is not twin
    arms.label(3)
    arms.keep_only([])
    assert twin.label(0) == prompt(0)


def test_repr_names_the_source() -> None:
    assert "prompt" in repr(Reservoir(prompt))
    assert repr(Reservoir(itertools.count(3))) == "Reservoir(count(3))"


class Views(RuleBasedStateMachine):
    """Any number of views against the plain rule: what is kept or was never drawn has a label."""

    @initialize()
    def start(self) -> None:
        labels, self.alive = watched()
        self.views: list[tuple[Reservoir, set[int], int]] = [(Reservoir(labels), set(), 0)]

    @rule(pick=st.integers(0, 99), ahead=st.integers(0, 5))
    def draw(self, pick: int, ahead: int) -> None:
        at = pick % len(self.views)
        view, kept, drawn = self.views[at]
        assert view.label(drawn + ahead).number == drawn + ahead
        self.views[at] = (view, kept | set(range(drawn, drawn + ahead + 1)), drawn + ahead + 1)

    @rule(pick=st.integers(0, 99), wanted=st.sets(st.integers(0, 60)))
    def release(self, pick: int, wanted: set[int]) -> None:
        at = pick % len(self.views)
        view, kept, drawn = self.views[at]
        view.keep_only(sorted(wanted))
        self.views[at] = (view, kept & wanted, drawn)

    @rule(pick=st.integers(0, 99))
    def clone(self, pick: int) -> None:
        view, kept, drawn = self.views[pick % len(self.views)]
        self.views.append((view.clone(), set(kept), drawn))

    @rule(pick=st.integers(0, 99))
    def drop(self, pick: int) -> None:
        if len(self.views) > 1:
            del self.views[pick % len(self.views)]

    @rule()
    def check(self) -> None:
        for view, kept, drawn in self.views:
            assert all(view.label(index).number == index for index in kept)
            for index in set(range(drawn)) - kept:
                with pytest.raises(ExhaustedError):
                    view.label(index)
        needed = {index for _, kept, _ in self.views for index in kept}
        slowest = min(drawn for _, _, drawn in self.views)
        kept_alive = {label.number for label in self.alive} - {0}
        assert kept_alive == {i for i in kept_alive if i in needed or i >= slowest}


TestViews = Views.TestCase
TestViews.settings = settings(derandomize=True, deadline=None, max_examples=60)


# Policies on an iterator.

ENDLESS_POLICIES = sorted(
    name for name, cls in POLICIES.items() if (cls.endless or cls.any_arms) and not cls.clairvoyant
)
"""All but those that look at the true means, which only a simulator knows."""
every_endless_policy = pytest.mark.parametrize("name", ENDLESS_POLICIES)


def made(name: str, arms: Any) -> Policy:
    return new(name, arms, None if not POLICIES[name].takes_memory() else 2)  # type: ignore[arg-type]


def test_the_policies_on_endless_arms_are_all_here() -> None:
    assert {"race", "herschkorn", "qucb-m"} <= set(ENDLESS_POLICIES)
    assert len(ENDLESS_POLICIES) >= 10


@every_endless_policy
def test_a_clone_on_an_iterator_leaves_the_original_as_it_was(name: str) -> None:
    policy = made(name, prompts())
    drive(policy, 200, random.Random(1))
    alone = made(name, prompt)
    drive(alone, 200, random.Random(1))
    for twin in (policy.clone(), copy.copy(policy), copy.deepcopy(policy)):
        with untouched(policy):
            assert twin.arms_in_memory == policy.arms_in_memory
            drive(twin, 300, random.Random(3))
    expected = drive(alone, 300, random.Random(2))
    twin = policy.clone()
    assert drive(policy, 300, random.Random(2)) == expected
    assert drive(twin, 300, random.Random(2)) == expected


@every_endless_policy
def test_a_reset_on_an_iterator_starts_again_or_changes_nothing(name: str) -> None:
    policy = made(name, prompts())
    drive(policy, 200, random.Random(1))
    before, alone = policy.clone(), made(name, prompts())
    try:
        policy.reset()
    except ExhaustedError:
        alone = before
    assert drive(policy, 100, random.Random(2)) == drive(alone, 100, random.Random(2))


def test_a_reset_is_refused_where_arms_are_forgotten() -> None:
    policy = made("herschkorn", prompts())
    drive(policy, 200, random.Random(1))
    with untouched(policy), refused(ExhaustedError, RuntimeError, "new iterator"):
        policy.reset()


@every_endless_policy
def test_two_policies_on_one_reservoir_do_not_disturb_each_other(name: str) -> None:
    arms = Reservoir(prompts())
    one, other = made(name, arms), made(name, arms)
    expected = drive(made(name, prompt), 200, random.Random(1))
    assert drive(one, 200, random.Random(1)) == expected
    assert drive(other, 200, random.Random(1)) == expected


def test_labels_stay_as_few_as_the_arms_in_memory_though_the_reservoir_is_in_hand() -> None:
    labels, alive = watched()
    arms = Reservoir(labels)
    policy = handful.policy("sqrt-run", arms, horizon=10**6, seed=1)
    for _ in range(300):
        policy.update(policy.select(), 0.0)
    assert len(numbers(alive)) <= 4


@every_endless_policy
def test_a_policy_whose_iterator_ended_is_saved_and_goes_on_with_a_longer_one(name: str) -> None:
    policy = made(name, iter([prompt(i) for i in range(7)]))
    rewards = random.Random(1)
    chosen: list[Any] = []

    def use_up() -> None:
        while True:
            chosen.extend(drive(policy, 1, rewards))

    with pytest.raises(ExhaustedError, match="ended after 7 arms"):
        use_up()
    assert policy.recommend() in chosen
    assert set(policy.arms_in_memory) <= {prompt(i) for i in range(7)}
    assert "prompt-" in repr(policy)
    restored = type(policy).from_bytes(policy.to_bytes(), arms=prompts())
    chosen += drive(restored, 50, rewards)
    assert chosen == drive(made(name, prompts()), len(chosen), random.Random(1))
