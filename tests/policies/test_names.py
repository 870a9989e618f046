"""Policies by name: other spellings, and settings inside the name."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import handful
from handful.errors import SettingError, UnknownNameError
from handful.policies import ALIASES
from handful.simulation.plan import parse_policy
from tests.helpers import drive, new, plan, refused


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("thompson", "ts"),
        ("kl-ucb-m", "klucb-m"),
        ("ucb-v-m", "ucbv-m"),
        ("random", "random"),
        ("UCB-M", "ucb-m"),
        (" Race ", "race"),
        ("Thompson", "ts"),
        *ALIASES.items(),
    ],
)
def test_a_policy_has_more_than_one_spelling(given: str, name: str) -> None:
    cls = handful.POLICIES[name]
    arms: Any = (lambda i: i) if cls.endless else 5
    memory = 2 if cls.takes_memory() else None
    policy = handful.policy(given, arms, memory, seed=1, **plan(name))
    assert type(policy) is cls
    assert parse_policy(given)[0] is cls


def test_no_other_spelling_is_itself_the_name_of_a_policy() -> None:
    assert not set(ALIASES) & set(handful.POLICIES)
    assert set(ALIASES.values()) <= set(handful.POLICIES)


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ("ucb-m:eta=0.2", {"eta": 0.2}),
        ("ucb-m: eta = 0.2", {"eta": 0.2}),
        ("UCB-M:eta=2e-1", {"eta": 0.2}),
        ("ucb-m:", {}),
        ("moss-m:horizon=1e6", {"horizon": 10**6}),
        ("mbse:passes=2,c=0.1,horizon=900", {"passes": 2, "c": 0.1, "horizon": 900}),
        ("klucbpp-m:horizon=500", {"horizon": 500}),
    ],
)
def test_settings_in_the_name_are_those_given_by_keyword(
    given: str, settings: dict[str, float]
) -> None:
    name = given.partition(":")[0].lower()
    inline = handful.policy(given, 9, 3, seed=1)
    keyword = handful.policy(name, 9, 3, seed=1, **settings)
    assert inline.to_bytes() == keyword.to_bytes()
    for key, value in settings.items():
        assert inline._values[key] == value


def test_a_setting_in_the_name_wins_over_one_given_by_keyword() -> None:
    assert "eta=0.2" in repr(handful.policy("ucb-m:eta=0.2", 9, 3, eta=0.5))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ucb-m:eta", "'eta' is not of the form setting=number"),
        ("ucb-m:eta=", "'eta=' is not of the form"),
        ("ucb-m:eta=high", "'eta=high' is not of the form"),
        ("ucb-m:0.2", "'0.2' is not of the form"),
        ("ucb-m:eta=-1", "eta >= 0"),
        ("ucb-m:eta=nan", "eta >= 0"),
        ("mbse:passes=2.5,horizon=9", "an integer B >= 1"),
    ],
)
def test_settings_in_the_name_that_cannot_be_are_refused(given: str, said: str) -> None:
    with refused(SettingError, ValueError, said):
        handful.policy(given, 9, 3)


@pytest.mark.parametrize("given", ["ucb-m:gamma=1", "ts-m:eta=1", "race:eta=1"])
def test_a_setting_in_the_name_that_the_policy_does_not_have_is_refused(given: str) -> None:
    with refused(UnknownNameError, ValueError, f"{given.partition(':')[0]} setting"):
        handful.policy(given, 9, 3)


def test_random_picks_arms_uniformly_and_a_new_one_of_endless_arms() -> None:
    choices = drive(new("random", 4, None), 4000, random.Random(1))  # type: ignore[arg-type]
    # Of 4,000 picks 1,000 each, with a standard deviation of 27; 5 of them miss once in 400,000.
    assert all(abs(choices.count(arm) - 1000) < 5 * 27.4 for arm in range(4))
    pairs = list(itertools.pairwise(choices))
    assert all(abs(pairs.count((a, b)) - 250) < 5 * 15.4 for a in range(4) for b in range(4))
    assert drive(handful.policy("random", lambda i: i), 50, random.Random(1)) == list(range(50))
