"""MOSS++: MOSS on fewer and fewer fresh arms, longer and longer, and on mixtures of earlier ones.

Zhu and Nowak, "On regret with multiple best arms", NeurIPS 2020, for T planned pulls and a guess of
how many arms are best, beta from 1/2 on:

    P = ceil(log2(T^beta)),  K_i = min(K, 2^(P+2-i)),  t_i = 2^(P+i)
    for i = 1, ..., P        iterations
        S_i = K_i arms at random, and the mixtures v_1, ..., v_(i-1)
        run MOSS with the horizon min(t_i, T) on S_i for t_i pulls, with fresh statistics
        v_i = what a pull of iteration i pulled, taken at random: its members by their pulls

To pull a mixture, a member of its iteration is drawn in proportion to its rewards; that may be a
mixture of an earlier iteration. The last iteration continues if T was too low.

Arms at random are the next K_i in the shuffled order, the first ones again after the last; of
endless arms, the next K_i. If rewards come late, an iteration ends when t_i rewards have come; a
reward counts for the member for which its arm was pulled last, if that was in this iteration. If
arms are added or removed, the policy starts again. P is at most 22, for 2^24 arms in memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from handful.core.rng import uniform
from handful.core.slots import admit, credit, extend
from handful.core.state import Counts, HistoryCounts, HistoryFloats, Int, Small, WithHistory
from handful.errors import StateError
from handful.policies.base import Policy
from handful.policies.settings import PLANNED, Setting
from handful.policies.subsampled import arm_in
from handful.rules.moss import width

MOST = 22
"""The most iterations."""


class Iterations(WithHistory):
    """The members of all iterations: first the arms of an iteration, then its mixtures."""

    iteration: Small
    """i, from 1."""
    done: Int
    """Rewards of this iteration."""
    pulled_for: Counts
    """The entry of the member for which the arm was pulled last, plus 1; 0: for none."""
    slot_of_member: HistoryCounts
    """The slot that an arm has or will have, or -j for the mixture v_j."""
    n: HistoryCounts
    """Rewards of the member in its iteration."""
    s: HistoryFloats
    """Their sum."""


class Guess(NamedTuple):
    """Parameters: beta and the horizon."""

    K: int
    M: int
    endless: bool
    beta: float
    horizon: float


def iterations(T: float, beta: float) -> int:
    """Return P."""
    return min(MOST, max(1, math.ceil(beta * math.log2(max(T, 2.0)))))


def fresh_arms(i: int, p: Guess) -> int:
    """Return K_i."""
    return min(p.K, 1 << (iterations(p.horizon, p.beta) + 2 - i))


def length(i: int, p: Guess) -> int:
    """Return t_i."""
    return 1 << (iterations(p.horizon, p.beta) + i)


def arms_before(i: int, p: Guess) -> int:
    """Return K_1 + ... + K_(i-1)."""
    total = 0
    for j in range(1, i):
        total += fresh_arms(j, p)
    return total


def first_entry(i: int, p: Guess) -> int:
    """Return the entry of the first member of iteration i: j - 1 mixtures are in iteration j."""
    return arms_before(i, p) + (i - 1) * (i - 2) // 2


def begin(state: Iterations, p: Guess) -> None:
    """Begin the next iteration."""
    state.iteration += 1
    state.done = 0
    i = state.iteration
    place, entry, arms = arms_before(i, p), first_entry(i, p), fresh_arms(i, p)
    extend(state, first_entry(i + 1, p))
    for r in range(arms):
        state.slot_of_member[entry + r] = (place + r) % p.K
    for j in range(1, i):
        state.slot_of_member[entry + arms + j - 1] = -j


def meet(state: Iterations, slot: int, p: Guess) -> None:
    """Put arms in memory up to that of a slot."""
    while state.held <= slot:
        admit(state, state.held, arm_in(state.held, state, p))


def best_member(state: Iterations, p: Guess) -> int:
    """Return the entry of the member that MOSS pulls next."""
    i = state.iteration
    first, b = first_entry(i, p), min(length(i, p), int(p.horizon))
    m = state.entries - first
    best = first
    highest = -math.inf
    for entry in range(first, state.entries):
        n, slot = state.n[entry], state.slot_of_member[entry]
        if n > 0:
            x = state.s[entry] / n + width(n, b, m)
            if x > highest:
                highest = x
                best = entry
        elif slot < 0 or slot >= state.held or state.in_flight[slot] == 0:
            return entry
    return best


def slot_pulled(state: Iterations, entry: int, p: Guess) -> int:
    """Return the slot to pull for a member: its own, or one drawn from the mixture."""
    slot = state.slot_of_member[entry]
    while slot < 0:
        first, last = first_entry(-slot, p), first_entry(1 - slot, p)
        total = 0
        for e in range(first, last):
            total += state.n[e]
        place = int(uniform(state.rng) * total)
        at = first
        while at < last - 1 and place >= state.n[at]:
            place -= state.n[at]
            at += 1
        slot = state.slot_of_member[at] if total > 0 else state.slot_of_member[first]
    return slot


class MOSSPlus(Policy):
    """MOSS on fewer and fewer fresh arms, and on mixtures of what it pulled before."""

    name = "mosspp"
    title = "MOSS++"
    summary = "MOSS on fewer and fewer fresh arms and on mixtures of those pulled before"
    citation = "Zhu and Nowak, NeurIPS 2020"
    any_arms = True
    unbounded = True
    needs_horizon = True
    State = Iterations
    Parameters = Guess
    settings: ClassVar[Mapping[str, Setting]] = {
        "beta": Setting(
            0.5, "about T^beta arms are met first", lambda x: 0.5 <= x < 1.0,
            "a number from 0.5 to below 1",
        ),
        "horizon": PLANNED,
    }  # fmt: skip

    @classmethod
    def slots_for(cls, horizon: int, values: dict[str, float]) -> int:
        """Return the arms of all iterations, at most."""
        return 1 << (iterations(values["horizon"], values["beta"]) + 2)

    @classmethod
    def entries_for(cls, slots: int, horizon: int, values: dict[str, float]) -> int:
        """Return the members of all iterations, at most."""
        return cls.slots_for(horizon, values) + MOST * MOST

    @staticmethod
    def start(state: Iterations, p: Guess) -> None:
        """Begin the first iteration."""
        state.iteration = 0
        begin(state, p)
        meet(state, 0, p)

    @staticmethod
    def propose(state: Iterations, p: Guess) -> int:
        """Return the slot of the member that MOSS pulls, in the next iteration if it is due."""
        i = state.iteration
        if state.done >= length(i, p) and i < iterations(p.horizon, p.beta):
            begin(state, p)
        entry = best_member(state, p)
        slot = slot_pulled(state, entry, p)
        meet(state, slot, p)
        state.pulled_for[slot] = entry + 1
        return slot

    @staticmethod
    def observe(state: Iterations, slot: int, reward: float, p: Guess) -> None:
        """Count the reward for the member for which the arm was pulled."""
        credit(state, slot, reward)
        state.done += 1
        entry = state.pulled_for[slot] - 1
        if entry >= first_entry(state.iteration, p):
            state.n[entry] += 1
            state.s[entry] += reward

    @staticmethod
    def check(state: Iterations, p: Guess) -> None:
        """Refuse members that the iterations do not have."""
        i = state.iteration
        if not 1 <= i <= iterations(p.horizon, p.beta):
            raise StateError(f"the saved policy cannot be in iteration {i}")
        if state.entries != first_entry(i + 1, p) or state.held > min(p.K, arms_before(i + 1, p)):
            raise StateError("the saved memory does not hold the arms of the saved iteration")
        if any(state.arm[slot] != arm_in(slot, state, p) for slot in range(state.held)):
            raise StateError("the saved memory does not hold the first arms in order")
        expected = [
            member
            for j in range(1, i + 1)
            for member in (
                *((arms_before(j, p) + r) % p.K for r in range(fresh_arms(j, p))),
                *(-v for v in range(1, j)),
            )
        ]
        if state.slot_of_member[: state.entries] != expected:
            raise StateError("the saved iterations have other members")
        sums = zip(state.n[: state.entries], state.s, strict=False)
        if not all(n >= 0 and 0.0 <= s <= n for n, s in sums) or sum(state.n) > state.rewards:
            raise StateError("the saved members have sums that are not possible")
        met = zip(state.slot_of_member, state.n, strict=False)
        if any(slot >= state.held and n > 0 for slot, n in met):
            raise StateError("the saved members have rewards of arms that were not met")
        if not all(0 <= entry <= state.entries for entry in state.pulled_for[: state.held]):
            raise StateError("the saved arms were pulled for members that do not exist")
        if not 0 <= state.done <= state.rewards:
            raise StateError(f"the saved iteration cannot have {state.done} rewards")

    @staticmethod
    def place(state: Iterations, p: Guess) -> str:
        """Return the iteration."""
        i = state.iteration
        return f"iteration {i}, reward {state.done} of {length(i, p)}"
