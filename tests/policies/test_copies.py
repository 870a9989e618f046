"""Copies, clones, pickles and resets of every policy, on functions and on iterators."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest

import handful
from handful.errors import ExhaustedError, StateError
from handful.policies import POLICIES, Policy
from handful.testing import Make
from handful.testing.make import mean_of
from tests.helpers import drive, refused, untouched

every_policy = pytest.mark.parametrize("name", sorted(POLICIES))
ENDLESS = sorted(name for name, cls in POLICIES.items() if cls.endless or cls.any_arms)
every_endless = pytest.mark.parametrize("name", ENDLESS)
COPIES: dict[str, Callable[[Any], Any]] = {
    "clone": lambda policy: policy.clone(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
every_copy = pytest.mark.parametrize("way", COPIES)


def on_iterator(name: str) -> Policy:
    """A policy on an iterator of its own, in the middle of its work."""
    policy = Make(POLICIES[name], arms=itertools.count())()
    drive(policy, 100, random.Random(1))
    return policy


@every_policy
def test_a_pickled_policy_goes_on_where_it_was(name: str) -> None:
    policy = Make(POLICIES[name])()
    drive(policy, 100, random.Random(1))
    ticket = policy.decide().ticket
    policy.select()
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        twin = pickle.loads(pickle.dumps(policy, protocol))
        assert type(twin) is type(policy)
        assert twin.to_bytes() == policy.to_bytes()
    twin.reveal(mean_of)
    assert twin.reward(ticket, 1.0) == policy.reward(ticket, 1.0)
    assert drive(twin, 100, random.Random(2)) == drive(policy, 100, random.Random(2))


@every_policy
@every_copy
def test_a_copy_goes_on_alike_and_alone(name: str, way: str) -> None:
    policy = Make(POLICIES[name])()
    drive(policy, 100, random.Random(1))
    ticket = policy.decide().ticket
    twin = COPIES[way](policy)
    with untouched(policy):
        first = twin.reward(ticket, 1.0), drive(twin, 100, random.Random(2))
        twin.reset()
    assert (policy.reward(ticket, 1.0), drive(policy, 100, random.Random(2))) == first


@every_endless
@every_copy
def test_a_copy_on_an_iterator_leaves_the_original_its_arms(name: str, way: str) -> None:
    policy, never_copied = on_iterator(name), on_iterator(name)
    twin = COPIES[way](policy)
    expected = drive(never_copied, 200, random.Random(2))
    with untouched(policy):
        assert drive(twin, 200, random.Random(2)) == expected
    assert drive(policy, 200, random.Random(2)) == expected
    assert twin.to_bytes() == policy.to_bytes() == never_copied.to_bytes()
    assert twin.recommend() == policy.recommend()


@every_endless
@every_copy
def test_a_copy_on_an_iterator_may_lag_behind_its_original(name: str, way: str) -> None:
    policy = on_iterator(name)
    twin = COPIES[way](policy)
    ahead = drive(policy, 200, random.Random(2))
    third = COPIES[way](twin)
    assert drive(twin, 200, random.Random(2)) == ahead
    assert drive(third, 200, random.Random(2)) == ahead


@every_endless
def test_a_reset_on_an_iterator_starts_again_or_is_refused_and_changes_nothing(name: str) -> None:
    policy = on_iterator(name)
    if len(policy._arms._held) == policy._arms._next:  # type: ignore[union-attr]
        policy.reset()
        assert drive(policy, 100, random.Random(1)) == drive(
            Make(POLICIES[name], arms=itertools.count())(), 100, random.Random(1)
        )
        return
    assert not POLICIES[name].recalls
    with untouched(policy), refused(ExhaustedError, RuntimeError, "released", "new iterator"):
        policy.reset()
    never_reset = on_iterator(name)
    assert drive(policy, 100, random.Random(2)) == drive(never_reset, 100, random.Random(2))


@every_endless
def test_a_policy_on_an_iterator_is_not_pickled_but_saved_and_restored(name: str) -> None:
    policy = on_iterator(name)
    with untouched(policy), refused(StateError, ValueError, "to_bytes()", "from_bytes()"):
        pickle.dumps(policy)
    twin = handful.from_bytes(policy.to_bytes(), arms=itertools.count())
    twin.reveal(mean_of)
    assert drive(twin, 200, random.Random(2)) == drive(policy, 200, random.Random(2))


def test_both_ways_to_reset_on_an_iterator_are_tried() -> None:
    recalling = [name for name in ENDLESS if POLICIES[name].recalls or POLICIES[name].unbounded]
    assert recalling
    assert len(recalling) < len(ENDLESS)
