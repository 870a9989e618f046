"""Any traffic, for every bounded policy, against a model with plain dictionaries.

A Hypothesis state machine makes decisions one by one, in batches and among allowed arms, gives
rewards late, twice and never, adds and removes arms, saves and restores, all in any order.
`Ledger` remembers every decision; the machine remembers the arms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
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
from handful.core import change
from handful.core.state import fields
from handful.core.tickets import Receipt, ticket_for
from handful.errors import HandfulError, SettingError
from handful.policies import allowed, base, hand, phased
from handful.policies.phased import PhasedPolicy
from handful.testing import Ledger, Make
from handful.testing.make import mean_of

BOUNDED = sorted(name for name, cls in handful.POLICIES.items() if not cls.unbounded)
MOST_DRIVEN = 700
"""A promise to try new arms within more decisions is not waited for."""
rewards = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0.0, 1.0)


class Traffic(RuleBasedStateMachine):
    """Everything that can happen to one policy."""

    name: str
    memory = 3

    @initialize(
        seed=st.integers(0, 3),
        n_arms=st.integers(1, 7),
        endless=st.booleans(),
        window=st.sampled_from([(None, None), (6, None), (6, 0.0)]),
    )
    def begin(
        self, seed: int, n_arms: int, endless: bool, window: tuple[int | None, float | None]
    ) -> None:
        cls = handful.POLICIES[self.name]
        endless = cls.endless or (endless and cls.any_arms)
        self.changes = not endless and cls.own_arms is None
        count = cls.own_arms or n_arms
        arms: Any = endless_label if endless else [f"arm {i}" for i in range(count)]
        self.make = Make(cls, arms=arms, memory=self.memory)
        self.ledger = Ledger(self.make(seed=seed, window=window[0], default=window[1]))
        self.live: dict[str, int] = {} if endless else dict.fromkeys(arms, 0)
        self.untried: dict[str, int] = {}
        self.tickets: dict[int, str] = {}
        self.next_name = count

    @property
    def policy(self) -> Policy:
        return self.ledger.policy

    def noted(self, ticket: int, arm: str) -> None:
        self.tickets[ticket] = arm
        assert not self.live or arm in self.live

    def decided(self, among: Any = None) -> str:
        twin = self.policy.clone()
        twin.reveal(mean_of)
        arm = twin.decide(allowed=among).arm
        self.noted(self.ledger.decide(among), arm)
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
            if data.draw(st.booleans()):  # a guest, if there is one
                held = self.policy.arms_in_memory
                names = [arm for arm in sorted(self.live) if arm not in held][:2] or names
            some = {*names, "no such arm"}
            allowed: Any = (
                some.__contains__ if as_function else data.draw(st.permutations(sorted(some)))
            )
            assert self.decided(allowed) in some
        else:
            last = data.draw(st.sampled_from("02468"))
            assert self.decided(lambda arm: arm.endswith(last)).endswith(last)

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), values=st.lists(rewards, min_size=1, max_size=8))
    def reward(self, data: st.DataObject, values: list[float]) -> None:
        """Rewards of any decisions, some of them twice; late ones come first."""
        known = st.sampled_from(list(self.tickets))
        for value in values:
            ticket = data.draw(known)
            before = pulls_of(self.policy)
            counts = not self.ledger.defaults  # else it counts when its window ends
            if self.ledger.reward(ticket, value) is Receipt.CREDITED and counts:
                before[self.tickets[ticket]] += 1
            assert pulls_of(self.policy) == before

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), number=st.integers(0, 2**40))
    def drop(self, data: st.DataObject, number: int) -> None:
        self.ledger.drop(data.draw(st.sampled_from(list(self.tickets))))
        if number not in self.tickets and number >> 16:
            self.ledger.reward(number, 1.0)  # a ticket that was never given

    @rule(values=st.lists(rewards, max_size=12))
    def select_and_update(self, values: list[float]) -> None:
        for value in values:
            self.policy.update(self.policy.select(), value)
            self.memory_is_bounded()
        self.policy.select()

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

    @rule()
    def ask_for_what_cannot_be(self) -> None:
        before = self.policy.to_bytes()
        for nothing in ([], ["no such arm"], lambda arm: False):
            with pytest.raises(SettingError, match="allow"):
                self.policy.decide(allowed=nothing)
        if not self.changes:
            with pytest.raises(SettingError):
                self.policy.add_arms(["fresh"])
        else:
            known = next(iter(self.live))
            with pytest.raises(SettingError, match="already"):
                self.policy.add_arms(["fresh", known])
            with pytest.raises(LookupError, match="no such arm"):
                self.policy.remove_arms([known, "no such arm"])
            with pytest.raises(SettingError, match="at least one"):
                self.policy.remove_arms(self.live)
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
        if within is None or within > MOST_DRIVEN or self.ledger.defaults:
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
        assert len(self.policy.to_bytes()) <= 300 + 104 * self.policy.memory
        for arm in held:
            self.untried.pop(arm, None)

    @invariant()
    def the_selected_arm_has_its_slot(self) -> None:
        state = self.policy._state
        if state.pending >= 0:
            assert self.policy.select() == self.policy.arms_in_memory[state.pending]

    @invariant()
    def only_live_arms_are_known(self) -> None:
        if self.live:
            arms: Any = self.policy.arms
            assert sorted(arms) == sorted(self.live)
            assert self.policy.n_arms == len(self.live)
            assert {*self.policy.arms_in_memory, self.policy.recommend()} <= {*self.live}

    @invariant()
    def every_decision_is_accounted_for(self) -> None:
        self.ledger.check_totals()


def endless_label(index: int) -> str:
    return f"prompt {index}"


def pulls_of(policy: Policy) -> dict[str, int]:
    return {arm.arm: arm.pulls for arm in policy.stats()}


def run(name: str, examples: int, steps: int = 25, shrink: bool = True) -> None:
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
            phases=tuple(Phase) if shrink else (Phase.generate,),
        ),
    )


@pytest.mark.parametrize("name", BOUNDED)
def test_any_traffic(name: str) -> None:
    run(name, 4)


@pytest.mark.long
@pytest.mark.parametrize("name", BOUNDED)
def test_any_traffic_for_long(name: str) -> None:
    run(name, 400, steps=60)


# Deliberate mistakes, one for each thing that the machine must see.

Patch = pytest.MonkeyPatch
ACCOUNT = "every_decision_is_accounted_for"


def one_arm_too_many(patch: Patch) -> None:
    def welcome(state: Any, incumbent: int, K: int, M: int) -> None:
        state.capacity = M + 1
        plain(state, incumbent, K, M + 1)

    plain = phased.welcome
    patch.setattr(phased, "welcome", welcome)


def a_moved_arm_in_the_stay_of_another(patch: Patch) -> None:
    def move(state: Any, source: int, slot: int) -> None:
        born = state.born[slot]
        plain(state, source, slot)
        state.born[slot] = born

    plain = change.move
    patch.setattr(change, "move", move)


def a_removed_arm_that_stays(patch: Patch) -> None:
    patch.setattr(PhasedPolicy, "withdraw", staticmethod(lambda state, slot, p: True))


def arms_that_are_not_renamed(patch: Patch) -> None:
    def rename(state: Any, arm: int, n_arms: int) -> None:
        state.news -= arm >= n_arms - state.news

    patch.setattr(change, "rename_removed", rename)


def a_barred_arm_that_stands_in(patch: Patch) -> None:
    def stand_in(state: Any, permitted: Any) -> int:
        if plain(state, permitted) < 0:
            return -1
        return next(slot for slot in range(state.held) if not permitted(state.arm[slot]))

    plain = allowed.stand_in
    patch.setattr(base, "stand_in", stand_in)


def new_arms_that_are_passed_over(patch: Patch) -> None:
    def bring_up(state: Any, slot: int, p: Any, refresh: bool) -> int:
        state.news = max(0, state.news - 1)
        arms, state.news = state.news, 0
        slot = plain(state, slot, p, refresh)
        state.news = arms
        return slot

    plain = hand.bring_up
    patch.setattr(hand, "bring_up", bring_up)


def a_promise_of_one_decision(patch: Patch) -> None:
    patch.setattr(PhasedPolicy, "news_within", staticmethod(lambda state, p: 1))


def bytes_for_every_decision(patch: Patch) -> None:
    def grown(policy: Policy, fingerprint: int) -> bytes:
        return plain(policy, fingerprint) + bytes(20 * policy.decisions)

    plain = Policy._bytes
    patch.setattr(Policy, "_bytes", grown)
    patch.setattr(Make, "restored", lambda make, policy, arms: policy.clone())


def new_arms_that_are_not_saved(patch: Patch) -> None:
    def unpack(data: bytes, capacity: int, n_arms: int) -> Any:
        state = plain(data, capacity, n_arms)
        state.news = 0
        return state

    plain = phased.PhasedState.unpack
    patch.setattr(phased.PhasedState, "unpack", staticmethod(unpack))


def guests_with_the_ticket_of_a_slot(patch: Patch) -> None:
    def ticket_of_a_slot(state: Any, slot: int, memory: int) -> int:
        return ticket_for(state, min(slot, state.held - 1), memory)

    patch.setattr(base, "ticket_for", ticket_of_a_slot)


@pytest.mark.parametrize(
    ("name", "mistake", "seen_by"),
    [
        ("ucb-m", one_arm_too_many, {"memory_is_bounded"}),
        ("ucb-m", a_moved_arm_in_the_stay_of_another, {ACCOUNT, "reward", "drop"}),
        ("ucb-m", a_removed_arm_that_stays, {*vars(Traffic)}),  # wherever it is looked at first
        ("ucb-m", arms_that_are_not_renamed, {ACCOUNT, "remove", "remove_the_recommended"}),
        ("ucb-m", a_barred_arm_that_stands_in, {"decide_among_some"}),
        ("single-pass", new_arms_that_are_passed_over, {"try_new_arms"}),
        ("ucb-m", a_promise_of_one_decision, {"try_new_arms"}),
        ("ucb-m", bytes_for_every_decision, {"memory_is_bounded"}),
        ("ucb-m", new_arms_that_are_not_saved, {"save_and_restore"}),
        ("ucb-m", guests_with_the_ticket_of_a_slot, {ACCOUNT, "reward", "drop"}),
    ],
)
def test_a_mistake_is_seen(
    name: str, mistake: Callable[[Patch], None], seen_by: set[str], monkeypatch: Patch
) -> None:
    mistake(monkeypatch)
    with pytest.raises((AssertionError, HandfulError, LookupError)) as caught:
        run(name, 1000, shrink=False)
    assert seen_by & {entry.name for entry in caught.traceback}
