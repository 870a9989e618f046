"""Every policy passes the checks that `handful.testing` ships."""

from __future__ import annotations

import pytest

import handful
from handful.testing import Check, checks
from handful.testing.make import name_of

EVERY = [check for cls in handful.POLICIES.values() for check in checks(cls)]
ENDLESS = [
    check
    for cls in handful.POLICIES.values()
    if cls.any_arms
    for check in checks(cls, arms=name_of)
    if check.__name__ != "labels"
]
ALL_FIT = [
    check
    for name in ("race", "ucb-m", "moss-m", "mbse")
    for check in checks(handful.POLICIES[name], memory=20)
]
PLAIN = [c for c in (*EVERY, *ENDLESS, *ALL_FIT) if c.__name__ != "compiled_equals_python"]
COMPILED = {str(c._subject): c for c in EVERY if c.__name__ == "compiled_equals_python"}


@pytest.mark.parametrize("check", PLAIN, ids=repr)
def test_the_contract(check: Check) -> None:
    check()


@pytest.mark.parametrize("name", ["race", "robbins", "ucb-m", "qucb-m"])
def test_the_engines_agree(name: str) -> None:
    COMPILED[name]()


# tests/simulation compares all of them on more instances.
@pytest.mark.long
@pytest.mark.parametrize("name", sorted(COMPILED))
def test_the_engines_agree_on_every_policy(name: str) -> None:
    COMPILED[name]()


def test_every_policy_is_checked() -> None:
    assert {str(check._subject) for check in EVERY} == set(handful.POLICIES)
    assert len(EVERY) == len(handful.POLICIES) * len(checks(handful.Race))
