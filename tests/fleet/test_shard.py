"""A shard and a router without a cluster: each call is served once, and no loss goes unreported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handful import Fleet
from handful.errors import DamagedStoreError, StoreInUseError
from handful.files.lock import Lock
from handful.fleet.shards.log import Call, CallLog, read_log, record_of
from handful.fleet.shards.messages import DONE, FAILED, OTHER, REFUSED, Fresh, Reply, Spec
from handful.fleet.shards.places import LostError, Places
from handful.fleet.shards.router import Router
from handful.fleet.shards.shard import Shard

# They run the kernels that the worker of these tests has compiled.
pytestmark = pytest.mark.xdist_group("tests/fleet/test_equality.py")

ARMS = [f"offer {i}" for i in range(6)]
SAME: dict[str, Any] = {"memory": 2, "seed": 7}


class Worker:
    """A shard without a cluster, and what a router would say to it."""

    def __init__(
        self, folder: Path, term: int, durable: bool = True, threads: int = 1, **given: Any
    ) -> None:
        one = Fleet("ucb-m", 1, ARMS, **SAME)
        fresh = Fresh(one._shared.model.to_bytes(), 16, one.seed, range(100, 200))
        self.shard = Shard()
        self.claimed = self.shard.claim(
            Spec(str(folder), term, (ARMS,), None, threads, durable, 0.2, fresh, **given)
        )

    def decide(self, number: int, token: int = 0) -> Any:
        return self.shard.serve(number, token or number, "decide", (np.array([0, 99, 0]),))


def test_a_call_is_served_once(tmp_path: Path) -> None:
    """Whether its answer is lost, the worker, or one worker after the other."""
    one = Fleet("ucb-m", range(100, 200), ARMS, **SAME)
    wanted = [one.decide([100, 199, 100], labels=False)[1].tolist() for _ in range(4)]
    worker = Worker(tmp_path, 1)
    assert worker.claimed.number == 0
    for term in (2, 3):
        first = worker.decide(1)
        assert (first.kind, first.number) == (DONE, 1)
        assert first.value[1].tolist() == wanted[0]
        worker.shard.close()
        worker = Worker(tmp_path, term)
        assert worker.claimed.number == 1
    assert worker.decide(1).value[1].tolist() == wanted[0]
    assert worker.decide(2).value[1].tolist() == wanted[1]
    # Another call of a number that was served, or one too far ahead, is none.
    for number, token in ((2, 77), (1, 1), (4, 4)):
        assert worker.decide(number, token)[:2] == (OTHER, 2)
    worker.shard.read("save", ())
    worker.decide(3)
    worker.shard.close()
    last = Worker(tmp_path, 4, durable=False)
    assert last.decide(3).value[1].tolist() == wanted[2]
    assert last.decide(4).value[1].tolist() == wanted[3]
    last.shard.close()
    assert Worker(tmp_path, 5).claimed.number == 3  # the last call was not durable


def test_a_long_log_becomes_a_save(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 1, fold=1)
    for number in (1, 2, 3):
        worker.decide(number)
    assert [path.name for path in tmp_path.glob("term-1/calls-*")] == ["calls-2-1"]
    worker.shard.close()
    again = Worker(tmp_path, 2)
    assert again.claimed.number == 3
    assert again.decide(3).kind == DONE


def test_two_workers_never_have_one_shard(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 1)
    worker.decide(1)
    other = Worker(tmp_path, 2)
    assert other.claimed.kind == REFUSED
    assert other.claimed.value[0] == "StoreInUseError"
    # A file system that loses locks: the other one takes over, and the first can write no more.
    fleet = worker.shard._fleet
    assert fleet is not None
    assert fleet._folder is not None
    held, fleet._folder._lock = fleet._folder._lock, Lock(tmp_path / "other", "it", "in use")
    held.release()
    other = Worker(tmp_path, 3)
    assert other.claimed.number == 1
    seen = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert worker.decide(2).kind == DONE  # to nobody: the router has left it
    assert worker.shard.read("save", ()).kind == FAILED
    assert seen == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    # A claim that comes late is none.
    assert Worker(tmp_path, 2).claimed.value[0] == "StoreInUseError"
    assert other.decide(2).kind == DONE


@pytest.mark.parametrize("durable", [False, True])
def test_an_error_of_a_policy_does_not_close_a_shard(
    durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy of a user's own may raise anything: also when the call is replayed."""
    decide = Fleet._decide

    def failing(self: Fleet, rows: Any) -> Any:
        if 13 in rows:
            raise ZeroDivisionError("division by zero")
        return decide(self, rows)

    monkeypatch.setattr(Fleet, "_decide", failing)
    worker = Worker(tmp_path, 1, durable)
    worker.decide(1)
    reply = worker.shard.serve(2, 2, "decide", (np.array([1, 13]),))
    assert (reply.kind, reply.number, reply.value[0]) == (REFUSED, 2, "HandfulError")
    assert "ZeroDivisionError: division by zero" in reply.value[1]
    third = worker.decide(3)
    assert third.kind == DONE
    if durable:
        worker.shard.close()
        worker = Worker(tmp_path, 2)
        assert worker.claimed[:2] == (DONE, 3)
        assert worker.decide(3).value[1].tolist() == third.value[1].tolist()
    assert worker.decide(4).kind == DONE


def test_an_error_of_the_machine_is_not_one_of_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call was logged, and is served as soon as the shard is restored."""

    def none_left(self: Fleet, rows: Any) -> Any:
        raise MemoryError

    worker = Worker(tmp_path, 1)
    with monkeypatch.context() as patched:
        patched.setattr(Fleet, "_decide", none_left)
        assert worker.decide(1).kind == FAILED
    worker = Worker(tmp_path, 2)
    assert worker.claimed.number == 1
    assert worker.decide(1).kind == DONE


def test_a_call_that_failed_is_replayed_by_as_many_threads(tmp_path: Path) -> None:
    """Members of other threads have been served: the same ones as before."""
    worker = Worker(tmp_path, 1, threads=2)
    fleet = worker.shard._fleet
    assert fleet is not None
    far = fleet[105]
    far._state.clock = far._state.turned = 2**31 - 1
    member = np.array([105]), np.frombuffer(far.to_bytes(), np.uint8)
    assert worker.shard.serve(1, 1, "put", member).kind == DONE
    rows = np.array([5, 6] * 2500 + [70])  # the last one in another block
    reply = worker.shard.serve(2, 2, "decide", (rows,))
    assert (reply.kind, reply.value[0]) == (REFUSED, "RuleError")
    counts = fleet.stats([106, 170]).decisions.tolist()
    assert counts == [0, 1]
    worker.shard.close()
    worker = Worker(tmp_path, 2, threads=1)
    again = worker.shard._fleet
    assert again is not None
    assert again.threads == 1
    assert again.stats([106, 170]).decisions.tolist() == counts


def test_a_shard_without_room_refuses_to_grow(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 1)
    worker.decide(1)
    reply = worker.shard.serve(2, 2, "grow", (np.array([2**39]),))
    assert (reply.kind, reply.number, reply.value[0]) == (REFUSED, 1, "StoreUnavailableError")
    assert worker.shard.serve(2, 3, "grow", (np.array([50]),)) == (DONE, 2, 150)
    worker.shard.close()
    worker = Worker(tmp_path, 2)
    assert worker.claimed.number == 2
    assert worker.claimed.value["members"] == range(100, 250)


def test_a_change_that_cannot_be_saved_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(self: Fleet) -> None:
        raise DamagedStoreError("it is damaged")

    worker = Worker(tmp_path, 1)
    with monkeypatch.context() as patched:
        patched.setattr(Fleet, "save", damaged)
        assert worker.shard.serve(1, 1, "change", (["new"], [])).kind == FAILED  # type: ignore[arg-type]
    assert Worker(tmp_path, 2).claimed.number == 0


class Scripted(Places):
    """Places without a cluster: shards that have served so many calls, or are lost."""

    def __init__(self, served: list[int]) -> None:
        self.served = served
        self.saved = list(served)
        self.lost: set[int] = set()
        self.refusing: set[int] = set()

    def start(self, shards: list[int]) -> None:
        pass

    def ask(self, shard: int, method: str, *given: Any) -> Any:
        return method, given

    def wait(self, shard: int, pending: Any) -> Reply:
        method, given = pending
        if method == "claim":
            if shard in self.refusing:
                return Reply(REFUSED, 0, ("StoreInUseError", "somebody has it", []))
            if shard in self.lost:
                self.lost.discard(shard)
                self.served[shard] = self.saved[shard]
            return Reply(DONE, self.served[shard], {})
        if shard in self.lost:
            raise LostError
        if method == "serve":
            if given[0] != self.served[shard] + 1:
                return Reply(OTHER, self.served[shard])
            self.served[shard] += 1
        return Reply(DONE, self.served[shard], "served")


def routed(places: Scripted) -> Router:
    spec = Spec("", 0, (ARMS,), None, 1, False, 0.2)
    router = Router(places, [spec] * len(places.served))
    router.open()
    router.accept()
    return router


@pytest.mark.parametrize("operation", ["call", "read"])
def test_calls_that_are_lost_while_a_call_fails_are_reported_later(operation: str) -> None:
    places = Scripted([5, 5, 5])
    router = routed(places)
    everywhere: dict[int, Any] = dict.fromkeys(range(3), ())
    for _ in range(2):
        assert not router.call("decide", everywhere).gone
    places.lost, places.refusing = {0, 1}, {0}
    with pytest.raises(StoreInUseError, match="somebody has it"):
        router.call("decide", everywhere)
    assert places.served == [7, 5, 8]  # shard 1 has been restored, and nobody knows yet
    places.refusing = set()
    assert not router.call("decide", {2: ()}).gone
    outcome = getattr(router, operation)("decide", everywhere)
    assert outcome.gone == {0: 2, 1: 2}
    assert set(outcome.values) == {2}
    assert not router.call("decide", everywhere).gone
    assert places.served[:2] == [6, 6]


def test_a_call_that_was_given_up_but_served_is_no_loss() -> None:
    places = Scripted([0])
    router = routed(places)
    places.served[0] = 1
    outcome = router.call("decide", {0: ()})
    assert (outcome.gone, outcome.values) == ({}, {0: "served"})
    assert places.served == [2]


def calls() -> list[Call]:
    return [Call(n, n + 7, "decide", (np.arange(n), np.ones((2, n))), 3) for n in range(1, 4)]


def test_a_log_that_ends_early_has_the_calls_before(tmp_path: Path) -> None:
    path = tmp_path / "calls-0-1"
    log = CallLog(path, tuple(calls()[:2]))
    log.append(calls()[2])
    log.close()
    whole = path.read_bytes()
    assert len(whole) == log.size
    ends = np.cumsum([0, *(len(record_of(call)) for call in calls())]).tolist()
    for size in range(len(whole) + 1):
        for zeros in (0, 5, 50, 10**6):  # of the same record, as far as that goes
            room = next(end for end in [*ends, size] if end >= size) - size
            path.write_bytes(whole[:size] + bytes(min(zeros, room)))
            missing = any(whole[size : size + room])  # else the zeros were right
            complete = sum(end <= size + (0 if missing else min(zeros, room)) for end in ends[1:])
            found = list(read_log(path))
            assert [call.number for call in found] == [1, 2, 3][:complete]
            for got, wanted in zip(found, calls(), strict=False):
                assert (*got[:3], got.threads) == (*wanted[:3], wanted.threads)
                for one, other in zip(got.arrays, wanted.arrays, strict=True):
                    np.testing.assert_array_equal(one, other)


def test_a_log_that_is_damaged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "calls-0-1"
    whole = b"".join(map(record_of, calls()))
    last = len(record_of(calls()[2]))
    for at in range(len(whole) - last):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :])
        with pytest.raises(DamagedStoreError, match="is damaged at byte"):
            list(read_log(path))


def test_a_full_disk_refuses_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(tmp_path, 1)
    worker.decide(1)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("handful.fleet.shards.log.os.fsync", full)
        reply = worker.decide(2)
    assert (reply.kind, reply.number, reply.value[0]) == (REFUSED, 1, "StoreUnavailableError")
    assert worker.decide(2).number == 2
    worker.shard.close()
    assert Worker(tmp_path, 2).claimed.number == 2
