"""A policy that several threads share loses no reward in silence."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Barrier
from typing import Any

import pytest

import handful
from handful import Receipt
from handful.errors import ForgottenArmError
from handful.policies import Policy
from handful.testing import Make

THREADS = 8
EACH = 60
TOTAL = THREADS * EACH
every_policy = pytest.mark.parametrize("name", sorted(handful.POLICIES))


@pytest.fixture(autouse=True)
def _busy_threads() -> Iterator[None]:
    """Let Python change threads as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def in_threads(work: Callable[[int], Counter[str]]) -> Counter[str]:
    """Let every thread begin at the same time, and add up what they counted."""
    start = Barrier(THREADS)

    def begin(number: int) -> Counter[str]:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(begin, range(THREADS)), Counter[str]())


def by_ticket(policy: Policy, each: int = EACH) -> Counter[str]:
    def work(number: int) -> Counter[str]:
        seen: Counter[str] = Counter()
        for step in range(each):
            ticket = policy.decide().ticket
            seen[policy.reward(ticket, float((number + step) % 2))] += 1
        return seen

    return in_threads(work)


def by_label(policy: Policy, each: int = EACH) -> Counter[str]:
    def work(number: int) -> Counter[str]:
        seen: Counter[str] = Counter()
        for step in range(each):
            arm = policy.select()
            try:
                policy.update(arm, float((number + step) % 2))
                seen["credited"] += 1
            except ForgottenArmError:
                seen["forgotten"] += 1
        return seen

    return in_threads(work)


@every_policy
def test_every_reward_with_a_ticket_is_credited_or_said_to_be_forgotten(name: str) -> None:
    policy = Make(handful.POLICIES[name])()
    seen = by_ticket(policy)
    stats = policy.stats()
    assert set(seen) <= {Receipt.CREDITED, Receipt.FORGOTTEN}
    assert seen.total() == policy.decisions == TOTAL
    assert seen[Receipt.CREDITED] == policy.pulls
    assert seen[Receipt.FORGOTTEN] == stats.forgotten
    assert stats.refused == 0
    assert sum(arm.in_flight for arm in stats) == 0


@every_policy
def test_every_update_is_credited_or_said_to_be_too_late(name: str) -> None:
    policy = Make(handful.POLICIES[name])()
    seen = by_label(policy)
    assert seen.total() == TOTAL
    assert seen["credited"] == policy.pulls


@pytest.mark.parametrize("name", ["ucb-m", "ts-m", "race", "imed", "ucb1"])
@pytest.mark.parametrize("play", [by_ticket, by_label])
def test_with_all_arms_in_memory_every_reward_is_credited(name: str, play: Any) -> None:
    policy = Make(handful.POLICIES[name], arms=["red", "green", "blue"], memory=3)()
    assert play(policy) == {"credited": TOTAL}
    assert sum(arm.pulls for arm in policy.stats()) == policy.pulls == TOTAL


@pytest.mark.parametrize("play", [by_ticket, by_label])
def test_a_state_saved_meanwhile_is_whole(play: Any) -> None:
    policy = handful.Race(20, 4, seed=1)
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play, policy)
        blobs = [policy.to_bytes()]
        while not playing.done():
            blobs.append(policy.to_bytes())
    assert playing.result().total() == TOTAL
    for blob in blobs:
        handful.from_bytes(blob, arms=20)


def test_without_the_lock_rewards_are_lost() -> None:
    # That the tests above can fail.
    policy = Make(handful.POLICIES["ts-m"], arms=["red", "green", "blue"], memory=3)()
    policy._lock = nullcontext()  # type: ignore[assignment]
    for _ in range(200):
        by_ticket(policy)
        if policy.decisions % TOTAL or policy.pulls % TOTAL:
            return
    pytest.fail("no reward was lost in 200 tries")
