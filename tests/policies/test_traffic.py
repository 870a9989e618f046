"""Any traffic, for every bounded policy, against a model with plain dictionaries.

A Hypothesis state machine makes decisions one by one, in batches and among allowed arms, gives
rewards late, twice and never, adds and removes arms, saves and restores, all in any order.
`Ledger` remembers every decision; the machine remembers the arms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import handful
from handful import Policy
from handful.core import change, tickets
from handful.core.state import fields
from handful.core.tickets import Receipt
from handful.errors import SettingError
from handful.policies import allowed as allowed_module
from handful.policies import base, changes, hand, phased
from handful.testing import Ledger, Make
from handful.testing.make import mean_of

BOUNDED = sorted(name for name, cls in handful.POLICIES.items() if not cls.unbounded)
import os
from hypothesis import Phase
PHASES = (Phase.generate,) if os.environ.get("NOSHRINK") else tuple(Phase)
MOST_DRIVEN = 700
"""A promise to try new arms within more decisions is not waited for."""
rewards = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0.0, 1.0)


class Traffic(RuleBasedStateMachine):
    """Everything that can happen to one policy."""

    name: str
    memory = 3

    @initialize(seed=st.integers(0, 3), n_arms=st.integers(1, 7), window=st.none() | st.just(6))
    def begin(self, seed: int, n_arms: int, window: int | None) -> None:
        cls = handful.POLICIES[self.name]
        self.changes = not cls.endless and cls.own_arms is None
        count = cls.own_arms or n_arms
        arms: Any = endless_label if cls.endless else [f"arm {i}" for i in range(count)]
        self.make = Make(cls, arms=arms, memory=self.memory)
        self.ledger = Ledger(self.make(seed=seed, window=window))
        self.live: dict[str, int] = {} if cls.endless else dict.fromkeys(arms, 0)
        self.untried: dict[str, int] = {}
        self.tickets: dict[int, str] = {}
        self.next_name = count

    @property
    def policy(self) -> Policy:
        return self.ledger.policy

    def noted(self, ticket: int, arm: str) -> None:
        self.tickets[ticket] = arm
        assert not self.live or arm in self.live

    def decided(self, allowed: Any = None) -> str:
        twin = self.policy.clone()
        twin.reveal(mean_of)
        arm = twin.decide(allowed=allowed).arm
        self.noted(self.ledger.decide(allowed), arm)
        assert self.policy.to_bytes() == twin.to_bytes()
        return str(arm)

    @rule()
    def decide(self) -> None:
        self.decided()

    @rule(n=st.integers(1, 9))
    def decide_many(self, n: int) -> None:
        twin = self.policy.clone()
        twin.reveal(mean_of)
        for arm, ticket in twin.decide(n):
            assert self.ledger.decide() == ticket
            self.noted(ticket, arm)
        assert self.policy.to_bytes() == twin.to_bytes()

    @rule(data=st.data(), as_function=st.booleans())
    def decide_among_some(self, data: st.DataObject, as_function: bool) -> None:
        if self.live:
            names = data.draw(st.lists(st.sampled_from(sorted(self.live)), min_size=1))
            some = {*names, "no such arm"}
            allowed: Any = some.__contains__ if as_function else data.draw(st.permutations(sorted(some)))
            assert self.decided(allowed) in some
        else:
            last = data.draw(st.sampled_from("02468"))
            assert self.decided(lambda arm: arm.endswith(last)).endswith(last)

    @rule()
    def allow_no_arm(self) -> None:
        before = self.policy.to_bytes()
        for nothing in ([], ["no such arm"], lambda arm: False):
            with pytest.raises(SettingError, match="allow"):
                self.policy.decide(allowed=nothing)
        assert self.policy.to_bytes() == before

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), value=rewards)
    def reward(self, data: st.DataObject, value: float) -> None:
        ticket = data.draw(st.sampled_from(list(self.tickets)))
        before = pulls_of(self.policy)
        receipt = self.ledger.reward(ticket, value)
        arm = self.tickets[ticket]
        if receipt is Receipt.CREDITED:
            before[arm] += 1
        assert pulls_of(self.policy) == before

    @precondition(lambda self: self.tickets)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        self.ledger.drop(data.draw(st.sampled_from(list(self.tickets))))

    @rule(values=st.lists(rewards, min_size=1, max_size=12))
    def go_on(self, values: list[float]) -> None:
        for value in values:
            self.policy.update(self.policy.select(), value)

    @rule()
    def select(self) -> None:
        self.policy.select()

    @rule(number=st.integers(0, 2**40), value=rewards)
    def made_up_ticket(self, number: int, value: float) -> None:
        if number not in self.tickets and number >> 16:
            self.ledger.reward(number, value)

    @precondition(lambda self: self.changes)
    @rule(count=st.integers(0, 6))
    def add(self, count: int) -> None:
        added = [f"arm {self.next_name + i}" for i in range(count)]
        self.next_name += count
        self.policy.add_arms(added)
        self.live.update(dict.fromkeys(added, 0))
        if handful.POLICIES[self.name].news_first:
            self.untried.update(dict.fromkeys(added, 0))

    @precondition(lambda self: self.changes and len(self.live) > 1)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        most = len(self.live) - 1
        names = st.sampled_from(sorted(self.live))
        gone = data.draw(st.lists(names, unique=True, min_size=1, max_size=most))
        self.take_out(gone)

    @precondition(lambda self: self.changes and len(self.live) > 1)
    @rule()
    def remove_the_recommended(self) -> None:
        self.take_out([self.policy.recommend()])

    def take_out(self, gone: list[str]) -> None:
        self.policy.remove_arms(gone)
        for arm in gone:
            del self.live[arm]
            self.untried.pop(arm, None)

    @precondition(lambda self: self.changes)
    @rule()
    def change_what_cannot_be(self) -> None:
        before = self.policy.to_bytes()
        known = next(iter(self.live))
        with pytest.raises(SettingError, match="already"):
            self.policy.add_arms(["fresh", known])
        with pytest.raises(LookupError, match="no such arm"):
            self.policy.remove_arms([known, "no such arm"])
        with pytest.raises(SettingError, match="at least one"):
            self.policy.remove_arms(self.live)
        assert self.policy.to_bytes() == before

    @precondition(lambda self: not self.changes)
    @rule()
    def change_what_is_fixed(self) -> None:
        before = self.policy.to_bytes()
        with pytest.raises(SettingError):
            self.policy.add_arms(["fresh"])
        assert self.policy.to_bytes() == before

    @rule()
    def save_and_restore(self) -> None:
        before = self.policy.to_bytes()
        restored = self.make.restored(self.policy, arms=self.policy.arms)
        assert restored.to_bytes() == before
        self.ledger.policy = restored

    @precondition(lambda self: self.untried)
    @rule(values=st.lists(rewards, min_size=1, max_size=8))
    def try_new_arms(self, values: list[float]) -> None:
        within = self.policy.new_arms_within
        if within is None or within > MOST_DRIVEN:
            return
        twin, untried = self.policy.clone(), dict(self.untried)
        for step in range(within):
            decision = twin.decide()
            for arm in twin.arms_in_memory:
                untried.pop(arm, None)
            twin.reward(decision.ticket, values[step % len(values)])
        assert not untried, f"not tried within {within} decisions"

    @invariant()
    def memory_is_bounded(self) -> None:
        held = self.policy.arms_in_memory
        assert 1 <= len(held) <= self.policy.memory
        assert len(set(held)) == len(held)
        for name, kind in fields(type(self.policy._state)).items():
            assert not kind.per_slot or len(getattr(self.policy._state, name)) <= self.policy.memory
        # The bytes of a + b M: no decision and no arm in flight, removed or added takes any.
        assert len(self.policy.to_bytes()) <= 260 + 90 * self.policy.memory
        for arm in held:
            self.untried.pop(arm, None)

    @invariant()
    def only_live_arms_are_known(self) -> None:
        if self.live:
            arms: Any = self.policy.arms
            assert sorted(arms) == sorted(self.live)
            assert self.policy.n_arms == len(self.live)
            assert {*self.policy.arms_in_memory, self.policy.recommend()} <= {*self.live}

    def teardown(self) -> None:
        self.ledger.check_totals()


def endless_label(index: int) -> str:
    return f"prompt {index}"


def pulls_of(policy: Policy) -> dict[str, int]:
    return {arm.arm: arm.pulls for arm in policy.stats()}


def run(name: str, examples: int, steps: int = 25) -> None:
    machine = type("Traffic", (Traffic,), {"name": name})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            phases=PHASES,
        ),
    )


@pytest.mark.parametrize("name", BOUNDED)
def test_any_traffic(name: str) -> None:
    run(name, 6)


@pytest.mark.long
@pytest.mark.parametrize("name", BOUNDED)
def test_any_traffic_for_long(name: str) -> None:
    run(name, 400, steps=60)
