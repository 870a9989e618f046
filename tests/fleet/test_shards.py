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
    ClusterError,
    HandfulError,
    OtherArmsError,
    RewardError,
    SettingError,
    ShardLostError,
    StateError,
    StoreError,
    StoreInUseError,
)
from handful.fleet.shards.places import LostError
from handful.fleet.shards.shard import Shard
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
    with pytest.raises(ShardLostError, match=r"0 \(1 calls\).*\. Discard the tickets") as told:
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
    with pytest.raises(SettingError, match="is not a member"):
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
    with pytest.raises(StoreError, match="not the folder of a sharded fleet"):
        ShardedFleet.open(folder, ARMS, cluster="tcp://127.0.0.1:1")


def test_a_fleet_that_was_not_made_completely_can_be_made_again(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = Shard._make

    def failing(self: Shard) -> None:
        if self._spec.folder.endswith("1"):
            raise RuntimeError("no such luck")
        make(self)

    folder = tmp_path / "fleet"
    with monkeypatch.context() as patched:
        patched.setattr(Shard, "_make", failing)
        with pytest.raises(ClusterError, match="no such luck"):
            Pair(folder, client, shards=2)
    with pytest.raises(StoreError, match="never made completely"):
        ShardedFleet.open(folder, ARMS, cluster=client)
    pair = Pair(folder, client, shards=3)
    pair.decide()
    pair.many.close()
    (folder / "shards.json").unlink()
    with pytest.raises(SettingError, match="exists"):  # one that was made is not taken
        Pair(folder, client, shards=3)


def test_a_change_of_arms_that_never_began(tmp_path: Path, client: Any) -> None:
    pair = Pair(tmp_path / "fleet", client, shards=2, durable=True)
    pair.decide()
    pair.many.close()
    with pytest.raises(StateError, match="never began: open the fleet with arms=those before it"):
        ShardedFleet.open(pair.many.folder, [*ARMS, "new"], before=ARMS, cluster=client)
    pair.reopen()
    # All shards refuse a change: the fleet can be used as it was.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("handful.fleet.fleet.converted", lambda *_: 1 / 0)
        with pytest.raises(HandfulError, match="ZeroDivisionError"):
            pair.many.add_arms(["new"])
    pair.decide()
    pair.change()
    pair.same()
    assert "members have begun" in str(pair.many)
    assert repr(pair.many).startswith("ShardedFleet(UCBM(arms=6, memory=2, eta=1), members=1,000, ")
    pair.many.close()


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
