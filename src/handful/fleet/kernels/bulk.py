"""Calls for many members: decisions, rewards, statistics, changes of the arms.

Each kernel is made for a policy, from its functions, as those of `handful.simulation.kernels` are.
For one member, the kernels do what `Policy.decide`, `reward`, `recommend` and `add_arms` do for a
policy; tests compare both, byte for byte.

A call names members by their rows. A thread serves the members of its part of the blocks, in the
order of the call, so that the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from handful.compiling.arrays import Floats, Ints
from handful.compiling.jit import family, kernel, named, use
from handful.compiling.state import bind
from handful.core import change, flight, tickets
from handful.fleet.kernels.members import (
    DONE,
    MOST_DECISIONS,
    NEXT,
    NO_ROOM,
    SLOT,
    TOO_MANY,
    USED,
    WRONG_ARM,
    WRONG_SLOT,
    Desk,
    Rows,
    ask_ahead,
    close,
    list_part,
    opener,
)
from handful.fleet.layout import NOT_BEGUN
from handful.policies.definition import Definition, parameters_with

for _function in (
    flight.turn_is_due, flight.turn, flight.close, flight.answer, flight.keep, flight.issue,
    tickets.issue, tickets.ticket_for, tickets.recognised,
):  # fmt: skip
    use(_function)


class How(NamedTuple):
    """What all members share besides p."""

    n_arms: int
    no_slot: int
    """As in tickets."""
    window: float
    default: float


class Kernels(NamedTuple):
    """The kernels of a policy."""

    decide: Callable[..., int]
    reward: Callable[..., int]
    look: Callable[..., None]
    change_arms: Callable[..., int]


@cache
def kernels_of(policy: type[Definition]) -> Kernels:
    """Return the kernels of a policy, which are compiled when they are first called."""
    return Kernels(
        decide_kernel(policy), reward_kernel(policy), look_kernel(policy), change_kernel(policy)
    )


def _kin(kind: str, policy: Any, *functions: Any) -> str:
    """Return the name of a kernel of a policy; `decide_kernel` stands for the sources of fleets."""
    p = policy.Parameters or parameters_with(tuple(policy.settings))
    # Functions that a factory made do not show what they were made of: whose they are must count.
    owner = (policy,) if any(f.__closure__ for f in functions) else ()
    for function in functions:
        use(function)
    return family(f"fleet_{kind}", policy.name, *functions, p, decide_kernel, *owner)


def decide_kernel(policy: Any) -> Callable[..., int]:
    """Return the kernel of `Fleet.decide`."""
    start, propose, observe, waited = policy.start, policy.propose, policy.observe, policy.waited
    kin = _kin("decide", policy, start, propose, observe, waited)
    open_member = opener(start, kin)
    end_window = named(flight.turner(observe, waited), "end_window", kin)

    def decide(
        ids: Ints, part: int, parts: int, p: Any, how: How, fleet: Rows, desk: Desk,
        arms: Ints, given: Ints,
    ) -> int:  # fmt: skip
        now = bind(desk.scalars, desk.slots, desk.history)
        mine = desk.mine
        n = list_part(ids, desk.at[NEXT], part, parts, mine)
        for turn in range(n):
            ask_ahead(fleet.rows, ids, mine, turn, n)
            here = mine[turn]
            desk.at[NEXT] = here
            if desk.at[USED] == len(desk.spare):
                return NO_ROOM
            member = ids[here]
            draws = open_member(now, member, fleet, desk, p)
            if now.clock >= MOST_DECISIONS:
                return TOO_MANY
            if flight.turn_is_due(now, how.window):
                end_window(now, how.default, p)
            slot = propose(now, p)
            desk.at[SLOT] = slot
            if not 0 <= slot < min(now.held, len(desk.slots)):
                return WRONG_SLOT
            if not 0 <= now.arm[slot] < how.n_arms:
                return WRONG_ARM
            arms[here] = now.arm[slot]
            tickets.issue(now, slot)
            given[here] = tickets.ticket_for(now, slot, how.no_slot)
            close(now, member, fleet, desk, draws)
        return DONE

    return kernel(decide, kin)


def reward_kernel(policy: Any) -> Callable[..., int]:
    """Return the kernel of `Fleet.reward`."""
    start, observe = policy.start, policy.observe
    kin = _kin("reward", policy, start, observe)
    open_member = opener(start, kin)

    def reward(
        ids: Ints, part: int, parts: int, p: Any, how: How, fleet: Rows, desk: Desk,
        given: Ints, rewards: Floats, receipts: Ints,
    ) -> int:  # fmt: skip
        now = bind(desk.scalars, desk.slots, desk.history)
        keeps = how.default == how.default
        mine = desk.mine
        n = list_part(ids, desk.at[NEXT], part, parts, mine)
        for turn in range(n):
            ask_ahead(fleet.rows, ids, mine, turn, n)
            here = mine[turn]
            desk.at[NEXT] = here
            if desk.at[USED] == len(desk.spare):
                return NO_ROOM
            member = ids[here]
            draws = open_member(now, member, fleet, desk, p)
            if now.refused >= MOST_DECISIONS or now.forgotten >= MOST_DECISIONS:
                return TOO_MANY
            became, t, slot = tickets.recognised(now, given[here], how.no_slot)
            if became == tickets.OPEN:
                if keeps:
                    became = flight.keep(now, slot, t, rewards[here])
                else:
                    became = flight.answer(now, slot, t)
                if became == flight.DUPLICATE or became == flight.EXPIRED:
                    now.refused += 1
                elif became == flight.CREDITED:
                    observe(now, slot, rewards[here], p)
            receipts[here] = became
            close(now, member, fleet, desk, draws)
        return DONE

    return kernel(reward, kin)


def look_kernel(policy: Any) -> Callable[..., None]:
    """Return the kernel of `Fleet.stats` and `recommend`: it changes nothing."""
    start, recommend_arm = policy.start, policy.recommend_arm
    kin = _kin("look", policy, start, recommend_arm)
    open_member = opener(start, kin)

    def look(
        ids: Ints, part: int, parts: int, p: Any, fleet: Rows, desk: Desk,
        recommended: Ints, counts: Ints, arms: Ints, pulls: Ints, sums: Floats,
    ) -> None:  # fmt: skip
        now = bind(desk.scalars, desk.slots, desk.history)
        mine = desk.mine
        n = list_part(ids, 0, part, parts, mine)
        for turn in range(n):
            ask_ahead(fleet.rows, ids, mine, turn, n)
            here = mine[turn]
            open_member(now, ids[here], fleet, desk, p)
            recommended[here] = recommend_arm(now, p)
            if len(counts) > 0:
                counts[here, 0] = now.clock
                counts[here, 1] = now.rewards
                counts[here, 2] = now.lost
                counts[here, 3] = now.forgotten
                counts[here, 4] = now.refused
                counts[here, 5] = now.held
                waiting = 0
                for slot in range(now.held):
                    waiting += now.in_flight[slot]
                    arms[here, slot] = now.arm[slot]
                    pulls[here, slot] = now.pulls[slot]
                    sums[here, slot] = now.sums[slot]
                counts[here, 6] = waiting

    return kernel(look, kin)


COUNTS = ("decisions", "rewards", "lost", "forgotten", "refused", "held", "in_flight")
"""The columns of `counts` in `look`."""


def change_kernel(policy: Any) -> Callable[..., int]:
    """Return the kernel of `Fleet.add_arms` and `remove_arms`, for members that have begun."""
    start, withdraw, resized = policy.start, policy.withdraw, policy.resized
    kin = _kin("change", policy, start, withdraw, resized)
    open_member = opener(start, kin)
    change_arms = named(
        change.changer(start, withdraw, resized, policy.news_first), "change_arms", kin
    )

    def change_all(
        first: int, last: int, p: Any, fleet: Rows, target: Rows, desk: Desk, removed: Ints,
        added: int, before: int,
    ) -> int:  # fmt: skip
        now = bind(desk.scalars, desk.slots, desk.history)
        for member in range(first + desk.at[NEXT], last):
            desk.at[NEXT] = member - first
            if fleet.rows[member, 0] == NOT_BEGUN:
                continue
            if desk.at[USED] == len(desk.spare):
                return NO_ROOM
            draws = open_member(now, member, fleet, desk, p)
            change_arms(now, removed, added, before, p)
            close(now, member, target, desk, draws)
        return DONE

    return kernel(change_all, kin)
