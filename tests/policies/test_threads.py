"""A policy that threads and tasks share loses no reward in silence, whatever they call."""

from __future__ import annotations

import asyncio
import pickle
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import pytest

import handful
from handful import Receipt, State
from handful.errors import ForgottenArmError
from handful.own import admit
from handful.policies import Policy
from handful.testing import Make

THREADS = 16
EACH = 30
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


class Caller:
    """A thread that calls everything, and what it counted."""

    def __init__(self, policy: Policy, number: int) -> None:
        self.policy = policy
        self.number = number
        self.rng = random.Random(number)
        self.seen: Counter[str] = Counter()
        self.tickets: list[int] = []
        self.added: list[str] = []
        self.removed: set[str] = set()

    def run(self) -> Counter[str]:
        """Call methods at random, and then give every reward that is still due."""
        calls = [self.decide, self.decide, self.reward, self.reward, self.drop, self.among]
        calls += [self.made_up, self.look, self.save]
        if isinstance(self.policy.arms, list) and self.policy.own_arms is None:
            calls += [self.add, self.remove]
        for _ in range(EACH):
            self.rng.choice(calls)()
        while self.tickets:
            self.reward()
        return self.seen

    def decide(self) -> None:
        decisions = [self.policy.decide(), *self.policy.decide(self.rng.randint(1, 3))]
        assert not self.removed & {arm for arm, _ in decisions}
        self.open(decisions)

    def among(self) -> None:
        last = str(self.rng.randrange(2))  # arms 0 and 1 are never removed, but may be guests
        decision = self.policy.decide(allowed=lambda arm: arm.endswith(last))
        assert decision.arm.endswith(last)
        self.open([decision])

    def open(self, decisions: list[handful.Decision]) -> None:
        self.tickets += [ticket for _, ticket in decisions]
        self.seen["decisions"] += len(decisions)

    def ticket(self) -> int:
        return self.tickets.pop(self.rng.randrange(len(self.tickets)))

    def reward(self) -> None:
        if self.tickets:
            self.seen[self.policy.reward(self.ticket(), 1.0)] += 1

    def drop(self) -> None:
        if self.tickets:
            self.seen[self.policy.drop(self.ticket())] += 1

    def made_up(self) -> None:
        ticket = self.policy.decide().ticket
        self.seen["decisions"] += 1
        self.seen[self.policy.reward(ticket ^ 1, 1.0)] += 1
        self.seen[self.policy.reward(ticket, 1.0)] += 1

    def add(self) -> None:
        labels = [f"{self.number} {self.seen['added'] + i}" for i in range(2)]
        self.policy.add_arms(labels)
        self.added += labels
        self.seen["added"] += 2

    def remove(self) -> None:
        if self.added:
            gone = self.added.pop()
            self.policy.remove_arms([gone])
            self.removed.add(gone)
            self.seen["removed"] += 1

    def look(self) -> None:
        stats = self.policy.stats()
        assert all(arm.pulls == 0 or arm.mean == 1.0 for arm in stats)
        assert stats.rewards <= stats.decisions
        assert self.policy.arms_in_memory
        assert self.policy.memory_words > 0
        self.policy.recommend()

    def save(self) -> None:
        with self.policy.lock:  # the labels of the moment that the state is of
            labels, blob = self.policy.arms, self.policy.to_bytes()
        assert handful.from_bytes(blob, labels).to_bytes() == blob
        twin = self.policy.clone()
        for each in (twin, pickle.loads(pickle.dumps(self.policy))):
            assert handful.from_bytes(each.to_bytes(), each.arms).n_arms == each.n_arms


def expect_balance(policy: Policy, seen: Counter[str]) -> None:
    """Compare the counters of a policy with what its callers counted; no decision is open."""
    stats = policy.stats()
    closed = [Receipt.CREDITED, Receipt.FORGOTTEN, Receipt.DROPPED]
    assert policy.decisions == seen["decisions"] == sum(seen[receipt] for receipt in closed)
    assert policy.pulls == seen[Receipt.CREDITED]
    assert stats.forgotten == seen[Receipt.FORGOTTEN]
    assert stats.refused == seen[Receipt.UNKNOWN]
    assert stats.lost == seen[Receipt.DROPPED]
    state = policy._state
    held = slice(state.held)
    assert not any(state.in_flight[held] + state.missing[held])
    assert state.sums[held] == state.pulls[held]
    assert sum(state.pulls[held]) <= policy.pulls


MIXED = ["race", "ucb-m", "ts-m", "imed", "single-pass", "mbse", "random", "cover", "qucb-m"]


@pytest.mark.parametrize("name", MIXED)
def test_everything_at_once_balances(name: str) -> None:
    cls = handful.POLICIES[name]
    # A window so long that no decision is written off: each is closed by its own reward.
    policy = Make(cls)(window=10**6)
    seen = in_threads(lambda number: Caller(policy, number).run())
    expect_balance(policy, seen)
    if not cls.endless:
        assert policy.n_arms == (cls.own_arms or 11) + seen["added"] - seen["removed"]
    handful.from_bytes(policy.to_bytes(), policy.arms)


def test_with_all_arms_in_memory_the_pulls_of_the_arms_add_up() -> None:
    policy = handful.policy("imed", arms=[f"arm {i}" for i in range(11)], seed=1, window=10**6)

    def work(number: int) -> Counter[str]:
        caller = Caller(policy, number)
        caller.add = caller.remove = caller.look  # type: ignore[method-assign]
        return caller.run()

    seen = in_threads(work)
    expect_balance(policy, seen)
    assert sum(policy._state.pulls) == policy.pulls
    assert not seen[Receipt.FORGOTTEN]


# Several calls as one step.


def test_the_lock_makes_several_calls_one_step() -> None:
    policy = handful.UCBM(20, memory=4, seed=1)

    def work(number: int) -> Counter[str]:
        for _ in range(EACH):
            with policy.lock:
                before = policy.decisions
                arm = policy.select()
                policy.update(arm, 1.0)
                policy.decide()
                assert policy.decisions == before + 2
                assert handful.from_bytes(policy.to_bytes(), 20).decisions == before + 2
        return Counter(steps=EACH)

    assert in_threads(work) == {"steps": TOTAL}
    assert policy.pulls == TOTAL  # no update went to an arm that had left memory meanwhile


def test_each_policy_has_a_lock_of_its_own() -> None:
    policy = handful.UCBM(20, memory=4, seed=1)
    assert policy.clone().lock is not policy.lock
    assert policy.lock is policy.lock


def test_a_pickled_policy_has_the_arms_of_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = handful.UCBM(["red", "green", "blue"], memory=2, seed=1)
    other = Thread(target=policy.add_arms, args=[["gold"]])
    plain = policy.to_bytes

    def to_bytes() -> bytes:
        blob = plain()
        other.start()
        other.join(timeout=0.1)
        return blob

    monkeypatch.setattr(policy, "to_bytes", to_bytes)
    assert pickle.loads(pickle.dumps(policy)).n_arms == 3
    other.join()
    assert policy.n_arms == 4


# Tasks of an event loop.


async def visits(policy: Policy, number: int) -> Receipt:
    """Decide, wait for a reward, and give it; some do so in a thread."""
    decision = policy.decide() if number % 3 else await asyncio.to_thread(policy.decide)
    for _ in range(number % 7):
        await asyncio.sleep(0)
    if number % 4:
        return policy.reward(decision.ticket, 1.0)
    return await asyncio.to_thread(policy.reward, decision.ticket, 1.0)


def counted(receipts: list[Receipt]) -> Counter[str]:
    return Counter(decisions=len(receipts)) + Counter(str(receipt) for receipt in receipts)


@pytest.mark.parametrize("name", ["race", "ucb-m", "ts"])
def test_an_event_loop_with_hundreds_of_tasks(name: str) -> None:
    policy = Make(handful.POLICIES[name])(window=10**6)

    async def serve() -> list[Receipt]:
        return await asyncio.gather(*(visits(policy, number) for number in range(400)))

    expect_balance(policy, counted(asyncio.run(serve())))


def test_an_event_loop_and_threads_on_one_policy() -> None:
    policy = Make(handful.POLICIES["race"])(window=10**6)

    async def serve() -> tuple[Counter[str], list[Receipt]]:
        threads = asyncio.to_thread(in_threads, lambda number: Caller(policy, number).run())
        tasks = asyncio.gather(*(visits(policy, number) for number in range(200)))
        return await asyncio.gather(threads, tasks)

    seen, receipts = asyncio.run(serve())
    expect_balance(policy, seen + counted(receipts))


# Without the lock, rewards are lost: that the tests above can fail.


def unlock(policy: Policy) -> None:
    """Take the lock out of a policy."""
    policy._lock = nullcontext()  # type: ignore[assignment]
    policy._acquire = policy._release = lambda: None  # type: ignore[assignment]


def test_without_the_lock_rewards_are_lost() -> None:
    policy = Make(handful.POLICIES["ts-m"], arms=["red", "green", "blue"], memory=3)()
    unlock(policy)
    for _ in range(200):
        by_ticket(policy)
        if policy.decisions % TOTAL or policy.pulls % TOTAL:
            return
    pytest.fail("no reward was lost in 200 tries")


class Meeting(Policy):
    """One arm. In the middle of `observe`, a thread waits for another one that is there, too."""

    name = "meeting"
    own_memory = 1
    inside: Barrier

    @staticmethod
    def start(state: State, p: Any) -> None:
        admit(state, 0, 0)

    @staticmethod
    def propose(state: State, p: Any) -> int:
        return 0

    @staticmethod
    def observe(state: State, slot: int, reward: float, p: Any) -> None:
        pulls = state.pulls[slot]
        with suppress(BrokenBarrierError):  # nobody else came in time
            Meeting.inside.wait()
        state.pulls[slot] = pulls + 1


@pytest.mark.parametrize("locked", [True, False])
def test_two_rewards_at_the_same_time(locked: bool) -> None:
    policy = Meeting(1, seed=1)
    if not locked:
        unlock(policy)
    Meeting.inside = Barrier(2, timeout=0.1 if locked else 60.0)
    tickets = [ticket for _, ticket in policy.decide(2)]
    with ThreadPoolExecutor(2) as pool:
        receipts = list(pool.map(lambda ticket: policy.reward(ticket, 1.0), tickets))
    assert receipts == [Receipt.CREDITED] * 2
    assert policy._state.pulls == ([2] if locked else [1])
