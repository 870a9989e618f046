"""Tickets: a reward finds its decision, late and in any order, and is credited at most once."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import handful
from handful import Policy, Receipt
from handful.core.slots import admit
from handful.core.state import State
from handful.core.tickets import CHECK_BITS, WINDOW, issue, settle, ticket_for
from handful.errors import RewardError, SettingError
from handful.testing import Ledger, Make
from tests.helpers import refused

CREDITED, FORGOTTEN, DUPLICATE, UNKNOWN, EXPIRED, DROPPED = Receipt
TRIED = ("race", "ucb-m", "k-failure", "random", "mbse", "ucb-air")
some_policies = pytest.mark.parametrize("name", TRIED)


def record() -> State:
    """Two arms in memory, and four decisions: for slots 0, 1, 0, 1."""
    state = State()
    state.key = 12345
    admit(state, 0, 7)
    admit(state, 1, 8)
    return state


def decide(state: State, slot: int) -> int:
    issue(state, slot)
    return ticket_for(state, slot, 2)


# A reward is credited if and only if its stay goes on.


def test_a_ticket_is_the_decision_the_slot_and_check_bits() -> None:
    state = record()
    tickets = [decide(state, slot) for slot in (0, 1, 0, 1)]
    assert [ticket >> CHECK_BITS for ticket in tickets] == [3, 7, 9, 13]
    assert state.in_flight == [2, 2]


def test_rewards_are_credited_in_any_order() -> None:
    state = record()
    tickets = [decide(state, slot) for slot in (0, 1, 0, 1)]
    receipts = [settle(state, tickets[i], 2) for i in (2, 3, 0, 1)]
    assert receipts == [(CREDITED, 0), (CREDITED, 1), (CREDITED, 0), (CREDITED, 1)]
    assert (state.in_flight, state.rewards, state.clock) == ([0, 0], 4, 4)


def test_a_reward_of_an_earlier_stay_is_forgotten() -> None:
    state = record()
    early, other = decide(state, 1), decide(state, 0)
    admit(state, 1, 9)
    late = decide(state, 1)
    assert [settle(state, ticket, 2)[0] for ticket in (early, other, late)] == [
        FORGOTTEN, CREDITED, CREDITED,
    ]  # fmt: skip
    assert (state.forgotten, state.refused, state.rewards) == (1, 0, 2)


def test_the_same_arm_in_the_same_slot_again_is_another_stay() -> None:
    state = record()
    early = decide(state, 1)
    admit(state, 1, 8)
    assert settle(state, early, 2)[0] is FORGOTTEN


def test_a_reward_of_a_slot_that_is_no_longer_in_use_is_forgotten() -> None:
    state = record()
    ticket = decide(state, 1)
    state.held = 1
    assert settle(state, ticket, 2)[0] is FORGOTTEN


@pytest.mark.parametrize("first", [CREDITED, FORGOTTEN])
def test_a_ticket_is_used_once(first: Receipt) -> None:
    state = record()
    ticket = decide(state, 1)
    decide(state, 1)
    if first is FORGOTTEN:
        admit(state, 1, 9)
    receipts = [settle(state, ticket, 2)[0] for _ in range(3)]
    assert receipts == [first, DUPLICATE, DUPLICATE]
    assert state.refused == 2


@pytest.mark.parametrize("later", [0, 1, WINDOW - 2, WINDOW - 1])
def test_a_second_reward_is_recognised_among_the_last_64_decisions(later: int) -> None:
    state = record()
    ticket = decide(state, 0)
    assert settle(state, ticket, 2)[0] is CREDITED
    for _ in range(later):
        decide(state, 0)
    assert settle(state, ticket, 2)[0] is DUPLICATE


def test_beyond_them_a_second_reward_takes_the_place_of_an_open_one() -> None:
    state = record()
    ticket = decide(state, 0)
    settle(state, ticket, 2)
    others = [decide(state, 0) for _ in range(WINDOW)]
    assert settle(state, ticket, 2)[0] is CREDITED
    receipts = [settle(state, other, 2)[0] for other in others]
    assert receipts == [CREDITED] * (WINDOW - 1) + [DUPLICATE]
    assert state.rewards == state.clock == WINDOW + 1


@pytest.mark.parametrize("made_up", [0, -1, 1, 7, 2**63, 2**64 - 1, -(2**70), 10**40])
def test_a_ticket_that_was_never_given_is_unknown(made_up: int) -> None:
    state = record()
    decide(state, 0)
    before = state.pack()
    assert settle(state, made_up, 2)[0] is UNKNOWN
    assert state.refused == 1
    state.refused = 0
    assert state.pack() == before


def test_a_ticket_of_a_decision_to_come_is_unknown() -> None:
    state, ahead = record(), record()
    for _ in range(3):
        ticket = decide(ahead, 0)
    assert settle(state, ticket, 2)[0] is UNKNOWN


def test_a_changed_ticket_is_hardly_ever_taken() -> None:
    """Each of 16 check bits must agree: of 3,000 changed tickets, 0.05 are taken on average."""
    policy = handful.Race(arms=9, memory=3, seed=1)
    rng = random.Random(0)
    tickets = [policy.decide().ticket for _ in range(100)]
    taken = [policy.reward(rng.choice(tickets) ^ 1 << rng.randrange(24), 1.0) for _ in range(3000)]
    assert taken.count(UNKNOWN) >= 2998  # more than 2 with probability 2e-5


@some_policies
def test_tickets_of_another_policy_are_hardly_ever_taken(name: str) -> None:
    make = Make(handful.POLICIES[name])
    policy, other = make(seed=1), make(seed=2)
    receipts = []
    for _ in range(1000):
        policy.decide()
        receipts.append(policy.reward(other.decide().ticket, 1.0))
    assert receipts.count(UNKNOWN) >= 998  # more than 2 with probability 1e-6
    assert policy.stats().refused == receipts.count(UNKNOWN) + receipts.count(DUPLICATE)


# The face of a policy.


def test_a_decision_names_the_arm_and_the_ticket() -> None:
    policy = handful.UCBM(arms=["red", "green", "blue"], memory=2, seed=1)
    decision = policy.decide()
    assert decision.arm in policy.arms_in_memory
    assert type(decision.ticket) is int
    arm, ticket = decision
    assert policy.reward(ticket, 1.0) == "credited"
    assert {each.arm: each.mean for each in policy.stats() if each.pulls} == {arm: 1.0}


def test_a_reward_that_is_refused_leaves_its_ticket_open() -> None:
    policy = handful.UCBM(arms=3, memory=2, seed=1)
    ticket = policy.decide().ticket
    with refused(RewardError, ValueError, "1.5"):
        policy.reward(ticket, 1.5)
    with refused(SettingError, ValueError, "ticket"):
        policy.reward("7", 1.0)  # type: ignore[arg-type]
    assert policy.reward(ticket, 1.0) is CREDITED


@pytest.mark.parametrize("name", ["race", "ucb-m"])
def test_100_000_open_decisions_cost_no_memory(name: str) -> None:
    policy = Make(handful.POLICIES[name])()
    for _ in range(50):
        policy.update(policy.select(), 0.5)
    policy.decide()
    size = len(policy.to_bytes())
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(100_000):
            policy.decide()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert policy.stats().decisions == 100_051
    assert sum(arm.in_flight for arm in policy.stats()) == 100_001
    assert len(policy.to_bytes()) == size
    assert peak - before < 5_000


def test_open_decisions_survive_being_saved() -> None:
    policy = handful.Race(arms=9, memory=3, seed=1)
    tickets = [policy.decide().ticket for _ in range(100)]
    assert policy.reward(tickets[90], 1.0) is CREDITED
    twin = handful.from_bytes(policy.to_bytes(), arms=9)
    receipts = [twin.reward(ticket, 1.0) for ticket in reversed(tickets)]
    assert receipts.count(CREDITED) == 99
    assert receipts[9] is DUPLICATE


def test_a_selected_arm_that_leaves_memory_is_no_longer_pending() -> None:
    """Its reward must not go to the arm that came in its place."""
    policy = handful.policy("k-failure", arms=lambda i: f"prompt {i}", seed=1)
    first = policy.decide()
    arm = policy.select()
    assert policy.reward(first.ticket, 0.0) is CREDITED
    policy.decide()
    assert arm not in policy.arms_in_memory
    with refused(handful.errors.ForgottenArmError, LookupError):
        policy.update(arm, 1.0)
    assert policy.select() in policy.arms_in_memory
    assert sum(each.pulls for each in policy.stats()) == 0


# Against a twin that remembers every ticket, whatever is done in whatever order.

actions = st.lists(
    st.tuples(
        st.sampled_from(
            ["decide", "decide", "reward", "reward", "old", "forged", "select", "update", "save"]
        ),
        st.integers(0, 2**16),
    ),
    max_size=300,
)


def do(ledger: Ledger, tickets: list[int], action: str, number: int, make: Make) -> None:
    """Do one thing to a policy by way of its ledger, which checks what comes of it."""
    policy: Policy = ledger.policy
    value = number % 5 / 4
    if action == "decide" or not tickets:
        tickets.append(ledger.decide())
    elif action == "reward":
        ledger.reward(tickets[-1 - number % min(20, len(tickets))], value)
    elif action == "old":
        ledger.reward(tickets[number % len(tickets)], value)
    elif action == "forged":
        ledger.reward(tickets[-1] + 1 + number, value)
    elif action == "select":
        policy.select()
    elif action == "update":
        policy.update(policy.arms_in_memory[number % len(policy.arms_in_memory)], value)
    else:
        ledger.policy = make.restored(policy)


@some_policies
@given(actions=actions, seed=st.integers(0, 99))
def test_receipts_are_those_of_a_twin_that_remembers_every_ticket(
    name: str, actions: list[tuple[str, int]], seed: int
) -> None:
    make = Make(handful.POLICIES[name])
    ledger = Ledger(make(seed=seed))
    tickets: list[int] = []
    for action, number in actions:
        do(ledger, tickets, action, number, make)
    ledger.check_totals()


@some_policies
def test_no_stay_is_ever_credited_more_than_it_had_decisions(name: str) -> None:
    ledger = Ledger(Make(handful.POLICIES[name])())
    rng = random.Random(0)
    tickets: list[int] = []
    for _ in range(1000):
        tickets.append(ledger.decide())
        for _ in range(3):
            ledger.reward(rng.choice(tickets), float(rng.random() < 0.5))
    ledger.check_totals()
    counts: dict[Any, int] = ledger.counts
    assert sum(counts.values()) == 3000
    assert counts[CREDITED] <= 1000
    assert counts[DUPLICATE] > 0
