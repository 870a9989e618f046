"""Bandits as the API describes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from handful.core.posted import PostedArms
from handful.core.slots import slot_of
from handful.errors import ExhaustedError
from handful.policies import POLICIES
from handful.policies.allowed import stand_in
from handful.policies.settings import UNIT
from handful.service.bandit import Bandit
from handful.service.bodies import (
    ArmShown,
    BanditListed,
    BanditShown,
    DelayShown,
    PointShown,
    shown_time,
)
from handful.storage.rows import Point

MOST_IN_MEMORY = 32
"""Arms in memory that a point of a history names."""
MOST_SHOWN = 1000
"""Arms in memory that are shown of a policy without a memory bound."""


class _Past(msgspec.Struct, array_like=True):
    """The body of a point of a history."""

    rewards: int
    total: float
    recommended: int | None
    memory: list[int]
    waiting: int
    best_guess: float | None = None


def recommended(bandit: Bandit) -> str | None:
    """Return the label that the policy recommends; None before there is one."""
    try:
        label: str = bandit.policy.recommend()
    except (ExhaustedError, IndexError):
        return None
    return label if label not in bandit.barred else _best_left(bandit)


def _best_left(bandit: Bandit) -> str | None:
    """Return the arm in memory with the highest mean that was not removed, as `decide` does."""
    policy = bandit.policy
    arms, state = policy._arms, policy._state
    assert isinstance(arms, PostedArms)
    slot = stand_in(state, lambda arm: arms.is_there(arm) and arms.label(arm) not in bandit.barred)
    return None if slot < 0 else str(arms.label(state.arm[slot]))


def n_arms(bandit: Bandit) -> int:
    """Return how many arms a bandit has."""
    return len(bandit.numbers) - len(bandit.barred)


def bandit(bandit: Bandit, created_at: str, last_seq: int) -> BanditShown:
    """Return a bandit and what it knows."""
    policy, config, counted = bandit.policy, bandit.config, bandit.counted
    state: Any = policy._state
    stats = policy.stats()
    duels = getattr(state, "duel", None)
    best = recommended(bandit)
    arms = [
        ArmShown(
            str(each.arm),
            each.pulls,
            each.in_flight,
            None if math.isnan(each.mean) else each.mean,
            each.low,
            each.high,
            each.arm == best,
            bool(duels[slot]) if duels is not None else False,
        )
        for slot, each in enumerate(stats)
        if each.arm is not None
    ]
    if len(arms) > MOST_SHOWN:
        arms = sorted(arms, key=lambda arm: -arm.pulls)[:MOST_SHOWN]
    guess = next((arm.mean for arm in arms if arm.recommended), None)
    return BanditShown(
        name=config.name,
        policy=config.policy,
        title=POLICIES[config.policy].title,
        memory=policy.memory,
        settings=config.settings,
        seed=config.seed,
        window=config.window,
        default=config.default,
        explore=config.explore,
        rescale=config.rescale,
        open=config.open,
        arms=n_arms(bandit),
        decisions=counted.decisions,
        rewards=counted.rewards,
        forgotten=counted.forgotten,
        dropped=counted.dropped,
        expired=counted.expired,
        late=counted.late,
        waiting=counted.waiting,
        recommended=best,
        arms_in_memory=arms,
        arms_tried=_tried(state),
        place=policy._acts_as.place(state, policy._p),
        reward_rate=counted.total / counted.rewards if counted.rewards else None,
        recent_rate=counted.recent if counted.rewards else None,
        best_guess=guess,
        delay=_delay(bandit),
        created_at=created_at,
        state_bytes=len(policy.to_bytes()),
        last_seq=last_seq,
    )


def _tried(state: Any) -> int | None:
    """Return how many arms have come up, where the policy counts them, repetitions included.

    Race counts from the last alarm of its watch on; its position in the order continues.
    """
    tried = getattr(state, "tried", None)
    return None if tried is None else max(int(tried), int(getattr(state, "position", 0)))


def _delay(bandit: Bandit) -> DelayShown | None:
    delays = bandit.delays
    mean, p50, p90, p99 = delays.mean(), *(delays.quantile(share) for share in (0.5, 0.9, 0.99))
    if mean is None or p50 is None or p90 is None or p99 is None:
        return None
    return DelayShown(mean, p50, p90, p99)


def listed(bandit: Bandit) -> BanditListed:
    """Return a bandit in a list."""
    config, counted = bandit.config, bandit.counted
    return BanditListed(
        config.name,
        config.policy,
        bandit.policy.memory,
        n_arms(bandit),
        counted.decisions,
        counted.rewards,
        recommended(bandit),
    )


def point(bandit: Bandit, decisions: int, at: int) -> Point:
    """Return the bandit of now as a point of its history."""
    policy, counted, numbers = bandit.policy, bandit.counted, bandit.numbers
    best = recommended(bandit)
    state, arms = policy._state, policy._arms
    held = state.arm[: state.held]
    if len(held) > MOST_IN_MEMORY:
        slots = sorted(range(state.held), key=lambda slot: -state.pulls[slot])[:MOST_IN_MEMORY]
        held = [held[slot] for slot in slots]
    if isinstance(arms, PostedArms):
        held = [arm for arm in held if arms.is_there(arm)]
    past = _Past(
        counted.rewards,
        counted.total,
        None if best is None else numbers.get(best),
        sorted([numbers[arms.label(arm)] for arm in held]),
        counted.waiting,
        _guess(bandit),
    )
    return Point(decisions, at, _encode(past))


def _guess(bandit: Bandit) -> float | None:
    """Return the mean of the recommended arm, in the caller's units; None if it has no reward."""
    policy = bandit.policy
    state = policy._state
    slot = slot_of(state, policy._acts_as.recommend_arm(state, policy._p))
    if slot < 0 or not state.pulls[slot]:
        return None
    lo, hi = bandit.config.rescale or UNIT
    return float(lo + (hi - lo) * state.sums[slot] / state.pulls[slot])


def past(point: Point, bandit: Bandit, label: Callable[[int], str]) -> PointShown:
    """Return a point of a history as callers see it."""
    body = msgspec.msgpack.decode(point.body, type=_Past)
    return PointShown(
        shown_time(point.at),
        point.decisions,
        body.rewards,
        body.total,
        None if body.recommended is None else label(body.recommended),
        [label(number) for number in body.memory],
        body.waiting,
        body.best_guess,
    )


_encode = msgspec.msgpack.Encoder().encode
