"""A fleet in shards has the results of one fleet, to the bit, also when workers are lost."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handful import Fleet, ShardedFleet
from handful.errors import (
    DamagedStoreError,
    OtherArmsError,
    RewardError,
    SettingError,
    ShardLostError,
    StoreError,
    StoreInUseError,
)
from handful.files.lock import Lock
from handful.fleet.shards.log import Call, CallLog, read_log, record_of
from handful.fleet.shards.places import LostError
from handful.fleet.shards.shard import DONE, FAILED, OTHER, REFUSED, Fresh, Shard, Spec
from tests.sweeps.processes import cluster as processes
from tests.sweeps.processes import kill, wait_for

# They run the kernels that the worker of these tests has compiled.
pytestmark = pytest.mark.xdist_group("tests/fleet/test_equality.py")

distributed: Any = import_module("distributed")  # much of it has no types
ARMS = [f"offer {i}" for i in range(6)]
MEMBERS = 1000
SAME: dict[str, Any] = {"memory": 2, "seed": 7}


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as made:
        yield made


@pytest.fixture
def client(local: Any) -> Iterator[Any]:
    with distributed.Client(local, set_as_default=False, direct_to_workers=True) as made:
        yield made


class Pair:
    """A fleet in shards and one that is not, which live the same random life."""

    def __init__(self, folder: Path, cluster: Any, seed: int = 1, **given: Any) -> None:
        self.rng = random.Random(seed)
        self.one = Fleet("ucb-m", MEMBERS, ARMS, threads=1, **SAME)
        self.given = {"cluster": cluster, "threads": 1, "patience": 60.0, **given}
        self.many = ShardedFleet("ucb-m", MEMBERS, ARMS, folder=folder, **SAME, **self.given)
        self.tickets: list[tuple[int, int]] = []

    def some(self) -> Any:
        """Ids of many shards, a few of them again and again; or of one shard."""
        first = self.rng.choice([0, 0, 0, 900])
        count = self.rng.choice([1, 30, 300])
        ids = [self.rng.choice([first, self.rng.randrange(first, MEMBERS)]) for _ in range(count)]
        return np.array(ids)

    def decide(self) -> None:
        ids = self.some()
        arms, tickets = self.one.decide(ids)
        got = self.many.decide(ids)
        assert got[0].tolist() == arms.tolist()
        assert got[1].tolist() == tickets.tolist()
        self.tickets += zip(ids.tolist(), tickets.tolist(), strict=True)

    def reward(self) -> None:
        some = self.rng.sample(self.tickets, min(len(self.tickets), 200))
        given = (
            [member for member, _ in some],
            np.array([ticket for _, ticket in some], np.int64),
            [self.rng.random() for _ in some],
        )
        assert self.many.reward(*given).tolist() == self.one.reward(*given).tolist()

    def lift(self) -> None:
        member = self.rng.randrange(MEMBERS)
        policy = self.many[member]
        assert policy.to_bytes() == self.one[member].to_bytes()
        policy.reward(policy.decide().ticket, 1.0)
        self.many[member] = policy
        self.one[member] = policy

    def change(self) -> None:
        label = f"new {self.rng.random()}"
        for fleet in (self.one, self.many):
            fleet.add_arms([label])
            fleet.remove_arms([fleet.arms[1]])
        assert self.one.arms == self.many.arms

    def step(self) -> None:
        kind = self.rng.choices(["decide", "reward", "lift"], [5, 4, 1])[0]
        getattr(self, kind)()

    def same(self) -> None:
        """All that can be seen is equal."""
        everybody = np.arange(len(self.one))
        assert self.many.totals()._replace(wide=0) == self.one.totals()._replace(wide=0)
        for got, wanted in zip(self.many.stats(everybody), self.one.stats(everybody), strict=True):
            np.testing.assert_array_equal(got, wanted)
        assert self.many.recommend(everybody).tolist() == self.one.recommend(everybody).tolist()

    def reopen(self, **given: Any) -> None:
        self.many.close()
        kept = {name: value for name, value in self.given.items() if name != "shards"}
        self.many = ShardedFleet.open(self.many.folder, self.one.arms, **{**kept, **given})


def lose(local: Any, shard: int) -> None:
    """Close the worker that has a shard, and let another one come."""
    for name, worker in list(local.workers.items()):
        actors = dict(worker.state.actors)
        if any(key.startswith(f"handful-shard-{shard}-") for key in actors):
            local.sync(worker.close)
            for actor in actors.values():
                actor.close()  # its process would be gone, and with it the lock
            del local.workers[name]
            local.scale(2)
            wait_for(lambda: len(local.scheduler.workers) == 2)
            return
    raise AssertionError("no worker has it")


@pytest.mark.parametrize("durable", [False, True])
def test_shards_live_as_one_fleet(durable: bool, tmp_path: Path, client: Any) -> None:
    pair = Pair(tmp_path / "fleet", client, shards=7, durable=durable)
    for _ in range(2):
        for _ in range(12):
            pair.step()
        pair.change()
        pair.decide()
        pair.same()
        pair.many.save()
        pair.decide()
        if not durable:
            pair.many.save()
        pair.reopen()
        pair.same()
    for fleet in (pair.one, pair.many):
        fleet.grow(70)
    assert len(pair.many) == MEMBERS + 70
    pair.reopen()
    ids = [MEMBERS + 69, 3, MEMBERS]
    assert pair.many.decide(ids)[0].tolist() == pair.one.decide(ids)[0].tolist()
    pair.many.check()
    pair.same()
    pair.many.close()


def test_a_durable_fleet_loses_a_worker_and_nothing_else(
    tmp_path: Path, local: Any, client: Any
) -> None:
    pair = Pair(tmp_path / "fleet", client, shards=3, durable=True)
    for shard in (0, 2):
        for _ in range(4):
            pair.step()
        lose(local, shard)
        pair.decide()
        pair.reward()
        pair.same()
    lose(local, 1)
    pair.change()  # every shard is changed once
    pair.decide()
    pair.same()
    pair.many.close()


def test_an_answer_that_is_lost_with_its_worker_is_given_again(
    tmp_path: Path, local: Any, client: Any
) -> None:
    """Shard 1 has served and saved the call; then its worker is lost, before the router hears."""
    pair = Pair(tmp_path / "fleet", client, shards=3, durable=True)
    places = pair.many._front.router._places
    wait = places.wait
    for step in (pair.decide, pair.reward, pair.change, pair.lift, pair.decide):
        answers: list[Any] = []

        def lossy(shard: int, pending: Any, answers: list[Any] = answers) -> Any:
            reply = wait(shard, pending)
            if shard == 1 and not answers:
                answers.append(reply)
                lose(local, 1)
                raise LostError
            return reply

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(places, "wait", lossy)
            step()
        pair.same()
    pair.many.close()


def test_a_fleet_that_is_not_durable_goes_back_to_its_save_and_says_so(
    tmp_path: Path, local: Any, client: Any
) -> None:
    pair = Pair(tmp_path / "fleet", client, shards=2)
    for _ in range(6):
        pair.step()
    pair.many.save()
    lose(local, 0)
    pair.same()  # nothing is gone: it was saved
    ids = np.array([1, 999, 1, 600])
    after = pair.one.decide(ids)
    assert pair.many.decide(ids)[1].tolist() == after[1].tolist()
    lose(local, 0)
    with pytest.raises(ShardLostError, match=r"0 \(1 calls\)") as told:
        pair.many.decide(ids)
    mine = {shard for shard, calls in told.value.shards.items() if calls == 1}
    served = np.array([int(i >= 500) not in mine for i in ids])
    assert told.value.served.tolist() == served.tolist()
    again = pair.one.decide(ids)
    assert told.value.answer[1].tolist() == again[1][served].tolist()
    # The shard is as it was saved: its members decide as they did then.
    if mine == {0}:
        assert pair.many.decide([1, 1])[1].tolist() == after[1][[0, 2]].tolist()
    pair.many.close()


def test_a_call_is_checked_as_a_whole(tmp_path: Path, client: Any) -> None:
    pair = Pair(tmp_path / "fleet", client, shards=4)
    with pytest.raises(SettingError, match="is no member"):
        pair.many.decide([1, 2, MEMBERS])
    _, tickets = pair.many.decide([1, 999])
    with pytest.raises(RewardError, match="none was taken in"):
        pair.many.reward([1, 999], tickets, [1.0, 2.0])
    assert pair.many.totals().rewards == 0
    assert pair.many.decide([])[0].tolist() == []
    assert pair.many.stats([]).means.shape == (0, 2)
    with pytest.raises(StoreInUseError):
        ShardedFleet.open(tmp_path / "fleet", ARMS, cluster=client)
    pair.many.close()
    for call in (lambda: pair.many.decide([1]), pair.many.totals, lambda: pair.many[1]):
        with pytest.raises(StoreError, match="was closed"):
            call()
    with pytest.raises(OtherArmsError):
        ShardedFleet.open(tmp_path / "fleet", ARMS[:5], cluster=client)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shards": 0}, "shards=0"),
        ({"shards": 11}, "no more than the 10 members"),
        ({"members": ["ann", "bob"]}, "members by number"),
        ({"members": 0}, "from 1 to"),
        ({"cluster": 5}, "cluster=5"),
        ({"cluster": "local:0"}, "local:0"),
        ({"folder": "."}, "exists"),
        ({"policy": "ucb1", "memory": None}, "statistics of every arm"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    folder = tmp_path / given.pop("folder", "fleet")
    wanted = {"policy": "ucb-m", "members": 10, "arms": ARMS, "cluster": "tcp://127.0.0.1:1",
              "shards": 2, "memory": 2}  # fmt: skip
    with pytest.raises(SettingError, match=message):
        ShardedFleet(**{**wanted, **given}, folder=folder)
    assert not (tmp_path / "fleet").exists()
    with pytest.raises(StoreError, match="no folder of a sharded fleet"):
        ShardedFleet.open(folder, ARMS, cluster="tcp://127.0.0.1:1")


class Worker:
    """A shard without a cluster, and what a router would say to it."""

    def __init__(self, folder: Path, term: int, durable: bool = True, **given: Any) -> None:
        one = Fleet("ucb-m", 1, ARMS, **SAME)
        fresh = Fresh(one._shared.model.to_bytes(), 16, one.seed, range(100, 200))
        self.shard = Shard()
        self.claimed = self.shard.claim(
            Spec(str(folder), term, (ARMS,), None, 1, durable, 0.2, fresh, **given)
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


def calls() -> list[Call]:
    return [Call(n, n + 7, "decide", (np.arange(n), np.ones((2, n)))) for n in range(1, 4)]


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
                assert got[:3] == wanted[:3]
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


@contextmanager
def on_processes(folder: Path, durable: bool) -> Iterator[tuple[Any, Pair, dict[int, Any]]]:
    """A pair on two worker processes, and the processes by their id."""
    with processes(folder, 0) as made:
        workers = {process.pid: process for process in (made.add_worker(), made.add_worker())}
        pair = Pair(folder / "fleet", made.address, shards=6, durable=durable)
        try:
            yield made, pair, workers
        finally:
            pair.many.close()


def test_worker_processes_are_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    """With kill -9, while calls are on their way: four times, with another worker each time."""
    with on_processes(tmp_path, durable=True) as (made, pair, workers):
        for round_ in range(4):
            for _ in range(5):
                pair.step()
            victim = workers.pop(next(iter(workers)))
            new = made.add_worker()
            workers[new.pid] = new
            timer = threading.Timer(0.01 * round_, kill, [victim])
            timer.start()
            while timer.is_alive() or victim.poll() is None:
                pair.step()
            pair.step()
            if round_ == 2:
                pair.change()
            pair.same()
        pair.reopen()
        pair.same()


def test_worker_processes_are_killed_and_their_shards_go_back(tmp_path: Path) -> None:
    with on_processes(tmp_path, durable=False) as (made, pair, workers):
        for _ in range(10):
            pair.step()
        pair.many.save()
        ids = np.arange(0, MEMBERS, 3)
        saved = pair.many.stats(ids)
        pair.many.decide(ids)
        kill(workers.pop(next(iter(workers))))
        new = made.add_worker()
        workers[new.pid] = new
        with pytest.raises(ShardLostError) as told:
            pair.many.decide(ids)
        back = np.isin(ids // -(-MEMBERS // 6), list(told.value.shards))
        assert set(told.value.shards.values()) == {1}
        assert (told.value.served == ~back).all()
        now = pair.many.stats(ids)
        # Those that were lost are as saved; those that were not have decided twice since.
        assert (now.decisions - saved.decisions).tolist() == np.where(back, 0, 2).tolist()
        for column in ("rewards", "arms", "pulls", "means"):
            np.testing.assert_array_equal(getattr(now, column)[back], getattr(saved, column)[back])


def test_a_change_of_arms_that_was_interrupted_is_finished(tmp_path: Path, client: Any) -> None:
    pair = Pair(tmp_path / "fleet", client, shards=3, durable=True)
    pair.decide()
    part: Any = (["new"], [1])
    pair.many._front.router.call("change", {1: part})  # the router dies after one shard
    pair.many.close()
    pair.one.add_arms(["new"])
    pair.one.remove_arms([ARMS[1]])
    for before in (None, [*ARMS[1:], ARMS[0]]):
        with pytest.raises(OtherArmsError):
            pair.reopen(before=before)
    pair.reopen(before=ARMS)
    pair.decide()
    pair.same()
    pair.many.close()
