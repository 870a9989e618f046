"""The contract of policies in real traffic.

Rewards come late, in batches or never; arms come and go; some decisions allow some arms only.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

from handful.core.arms import FiniteArms
from handful.core.state import fields
from handful.core.tickets import Receipt
from handful.errors import SettingError, UnknownArmError
from handful.policies.base import Policy
from handful.testing.contract import expect, expect_equal, expect_error
from handful.testing.driving import STEPS, play, reward_from
from handful.testing.ledger import Ledger
from handful.testing.make import Make

MOST_DRIVEN = 2000
"""If new arms come up within more decisions than this, they are not waited for."""
OVERHEAD = 84
"""The most bytes of a saved policy besides its record and its settings."""


def check_no_delay(make: Make) -> None:
    """Check that rewards that come at once by ticket lead to the choices of `select`, `update`."""
    by_label, by_ticket = make(), make()
    rng = random.Random(6)
    for _ in range(STEPS):
        reward = reward_from(rng)
        arm, ticket = by_ticket.decide()
        expect_equal(arm, by_label.select(), "the choice by ticket, beside that by label")
        expect_equal(by_ticket.reward(ticket, reward), Receipt.CREDITED, "a reward at once")
        by_label.update(arm, reward)


def check_many_at_once(make: Make) -> None:
    """Check that `decide(n)` makes the decisions that n calls of `decide` make."""
    many, single = make(), make()
    rng = random.Random(7)
    for size in (1, 2, 7, 30, 60):
        decisions = many.decide(size)
        one_by_one = [single.decide() for _ in range(size)]
        expect_equal(decisions, one_by_one, f"{size} decisions at once")
        for _, ticket in rng.sample(decisions, size):
            reward = reward_from(rng)
            expect_equal(
                many.reward(ticket, reward), single.reward(ticket, reward), "the receipt of one"
            )
    expect(many.to_bytes() == single.to_bytes(), "decisions at once left other bytes")


def check_missing_rewards(make: Make) -> None:
    """Check that every decision is accounted for if rewards are late, dropped and lost."""
    for window in (None, 12):
        ledger = Ledger(make(window=window))
        rng = random.Random(8)
        tickets: list[int] = []
        for _ in range(STEPS // 2):
            tickets.append(ledger.decide())
            if rng.random() < 0.9:
                ticket = tickets.pop(rng.randrange(len(tickets)))
                action = rng.random()
                if action < 0.6:
                    ledger.reward(ticket, reward_from(rng))
                elif action < 0.8:
                    ledger.drop(ticket)
        ledger.check_totals()
        for ticket in tickets:
            ledger.reward(ticket, reward_from(rng))
        ledger.check_totals()
        expect_equal(ledger.policy.decisions, len(ledger.lines), "decisions made")
        expect_equal(ledger.policy.pulls, ledger.counts[Receipt.CREDITED], "rewards credited")
        expect_equal(len(play(ledger.policy, 20)), 20, "decisions afterwards")


def check_default_reward(make: Make) -> None:
    """Check that decisions are answered once, after 1 to 2 windows, by reward or default."""
    window = 10
    ledger = Ledger(make(window=window, default=0.0))
    policy = ledger.policy
    tickets = [ledger.decide() for _ in range(5 * window + 5)]
    state, stays = policy._state, ledger.stays()
    waiting = sum(state.in_flight[: state.held])
    expect(waiting <= 2 * window, f"{waiting} decisions are waited for, and window={window}")
    answered = 0
    for ticket in reversed(tickets):
        line, pulls = ledger.lines[ticket], policy.pulls
        due = Receipt.EXPIRED if ledger.windows - line.window >= 2 else Receipt.CREDITED
        answered += due is Receipt.EXPIRED and line.stay in stays
        due = due if line.stay in stays else Receipt.FORGOTTEN
        expect_equal(policy.reward(ticket, 1.0), due, "what became of a late reward")
        expect_equal(policy.pulls, pulls, f"pulls after one {due}, before its window ends")
    expect(
        policy.pulls >= answered,
        f"{answered} decisions were written off, and {policy.pulls} rewards were credited",
    )


def check_size_in_flight(make: Make) -> None:
    """Check that a saved policy takes at most a + b M bytes, whatever is in flight."""
    if make.cls.unbounded:
        return
    policy = make()
    kinds = fields(type(policy._state)).values()
    record = sum(
        struct.calcsize(f"<{kind.code}") * kind.length * (policy.memory if kind.per_slot else 1)
        for kind in kinds
    )
    most = OVERHEAD + 8 * len(make.cls.settings) + record
    for size in (1, 20, 400):
        tickets = [ticket for _, ticket in policy.decide(size)]
        for ticket in tickets[::3]:
            policy.reward(ticket, 0.5)
        found = len(policy.to_bytes())
        expect(found <= most, f"{found} bytes with {size} decisions in flight, more than {most}")


def check_changing_arms(make: Make) -> None:
    """Check that removed arms never return, and that tickets, counters and bytes stay right."""
    ledger = Ledger(make())
    if not arms_can_change(ledger.policy):
        _expect_refused_changes(ledger.policy)
        return
    rng = random.Random(9)
    tickets: list[int] = []
    arms: Any = ledger.policy.arms
    # So few that they fit in memory at times.
    live = list(arms[: ledger.policy.memory + 1])
    tickets += [ledger.decide() for _ in range(20)]
    ledger.policy.remove_arms(arms[len(live) :])
    for step in range(STEPS):
        policy, action = ledger.policy, rng.random()
        if action < 0.06:
            added = [f"new arm {step}.{i}" for i in range(rng.randint(1, policy.memory + 1))]
            policy.add_arms(added)
            live += added
        elif action < 0.2 and len(live) > 1:
            gone = rng.choice([policy.recommend(), rng.choice(live)])
            policy.remove_arms([gone])
            live.remove(gone)
        elif action < 0.25:
            ledger.policy = make.restored(policy, arms=policy.arms)
            expect(ledger.policy.to_bytes() == policy.to_bytes(), "restored, it has other bytes")
            policy = ledger.policy
        elif action < 0.65:
            tickets.append(ledger.decide())
            arm = ledger.lines[tickets[-1]].arm
            expect(arm in live, f"the chosen arm {arm!r} was removed")
        elif tickets:
            ledger.reward(tickets.pop(rng.randrange(len(tickets))), reward_from(rng))
        held = policy.arms_in_memory
        expect_equal(policy.n_arms, len(live), "the number of arms")
        expect(1 <= len(held) <= policy.memory, f"{len(held)} arms have statistics after a change")
        for arm in (*held, policy.recommend()):
            expect(arm in live, f"the arm {arm!r} was removed, and is in memory or recommended")
    arms = ledger.policy.arms
    expect(set(arms) == set(live), "the arms are not those given and added")
    ledger.check_totals()


def _expect_refused_changes(policy: Policy) -> None:
    """Expect a policy whose arms cannot change to say so, and to go on as it was."""
    play(policy, 20)
    before = policy.to_bytes()
    with expect_error(SettingError, "an arm added to arms that cannot change"):
        policy.add_arms(["one more arm"])
    with expect_error((SettingError, UnknownArmError), "an arm removed from them"):
        policy.remove_arms(policy.arms_in_memory[:1])
    expect(policy.to_bytes() == before, "a refused change of the arms changed the policy")


def check_new_arms_come_up(make: Make) -> None:
    """Check that new arms enter memory within `new_arms_within` decisions, if it is a number."""
    for steps in (0, 3, 40):
        policy = make()
        if not arms_can_change(policy):
            return
        play(policy, steps)
        added = [f"new arm {i}" for i in range(policy.memory + 2)]
        policy.add_arms(added)
        policy.remove_arms(added[1:2])
        within = policy.new_arms_within
        if within is None or within > MOST_DRIVEN:
            continue
        missing = {added[0], *added[2:]} - set(policy.arms_in_memory)
        rng = random.Random(10)
        for _ in range(within):
            ticket = policy.decide().ticket
            held = policy.arms_in_memory
            expect(len(held) <= policy.memory, f"{len(held)} arms have statistics")
            missing -= set(held)
            policy.reward(ticket, reward_from(rng))
        expect(not missing, f"{sorted(missing)} not in memory within {within} decisions")


def check_allowed_arms(make: Make) -> None:
    """Check that `decide(allowed=...)` returns an allowed arm; none allowed is an error."""
    ledger = Ledger(make())
    policy = ledger.policy
    rng = random.Random(11)
    for step in range(STEPS // 3):
        allowed, allows = _some_allowed(policy, step, rng)
        ticket = ledger.decide(allowed)
        arm = ledger.lines[ticket].arm
        expect(allows(arm), f"the arm {arm!r} was chosen, which is not allowed")
        ledger.reward(ticket, reward_from(rng))
        ledger.decide()
    ledger.check_totals()
    before = policy.to_bytes()
    for nothing in ([], ["no such arm"]):
        with expect_error(SettingError, f"a decision among {nothing}"):
            policy.decide(allowed=nothing)
    expect(policy.to_bytes() == before, "a decision among no arms changed the policy")


def _some_allowed(
    policy: Policy, step: int, rng: random.Random
) -> tuple[Any, Callable[[Any], bool]]:
    """Return what to give as `allowed`, and a function that says whether an arm is."""
    in_memory = rng.choice(policy.arms_in_memory)
    if not isinstance(policy._arms, FiniteArms):

        def others(label: Any) -> bool:
            return bool(label != in_memory)

        return others, others
    some = [in_memory]
    if step % 2:
        some = [policy._arms.label(rng.randrange(policy.n_arms)) for _ in range(3)]
    return (some if step % 3 else some.__contains__), some.__contains__


def arms_can_change(policy: Policy) -> bool:
    """Return whether arms can be added to a policy and removed from it."""
    return isinstance(policy.arms, list) and policy.own_arms is None
