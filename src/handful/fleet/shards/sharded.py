"""A fleet in shards on the workers of a cluster, with the methods and the results of a `Fleet`.

    fleet = handful.ShardedFleet(
        "race", members=10**9, arms=offers, memory=2, seed=7,
        folder="/shared/fleet", shards=64, cluster="tcp://10.0.0.1:8786", durable=True,
    )
    arms, tickets = fleet.decide(ids)

A shard is a range of members. A call is checked as a whole here, cut by shard, served by all of
them in parallel and put together in its order.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from handful.core.tickets import Receipt
from handful.errors import (
    DamagedStoreError,
    SettingError,
    ShardLostError,
    StateError,
    StoreError,
    integer,
)
from handful.files.writing import write_whole
from handful.fleet.fleet import Codes, Fleet
from handful.fleet.keeping import MOST_MEMBERS
from handful.fleet.kernels.bulk import COUNTS
from handful.fleet.members import Ids
from handful.fleet.saving import locked
from handful.fleet.shards.log import Arrays
from handful.fleet.shards.places import Places
from handful.fleet.shards.router import Outcome, Router
from handful.fleet.shards.shard import Fresh, ShardFleet, Spec, model_from, term_of
from handful.fleet.shared import Shared
from handful.fleet.stats import FleetStats, Totals
from handful.policies import Policy
from handful.policies.changes import listed
from handful.policies.given import ArmsLike, seed_word
from handful.sweeps.cluster import check_workers, joined_client

MANIFEST = "shards.json"
FORMAT = 1
MOST_SHARDS = 2**15
PATIENCE = 30.0
"""Seconds that a worker has to take a shard, and a former holder to let go of it."""


class Front(ShardFleet):
    """A fleet without members of its own: calls are checked here, and served by shards."""

    router: Router
    interrupted = False
    """Whether a change of the arms has reached some shards only."""
    size: int
    """Members of a shard; the last one may have others."""

    def _cut(self, rows: Ids) -> tuple[Ids | None, dict[int, slice]]:
        """Return the order that puts ids of a shard side by side, and where each shard's are."""
        last = len(self.router.shards) - 1
        shard = np.minimum(rows // self.size, last).astype(np.int16)
        if not len(rows):
            return None, {}
        if shard[0] == shard[-1] and (shard == shard[0]).all():
            return None, {int(shard[0]): slice(0, len(rows))}
        ends = np.cumsum(np.bincount(shard, minlength=last + 1))
        starts = np.concatenate([[0], ends[:-1]])
        named = np.flatnonzero(ends > starts).tolist()
        order = np.argsort(shard, kind="stable")
        return order, {k: slice(int(starts[k]), int(ends[k])) for k in named}

    def _routed(
        self, operation: str, rows: Ids, *columns: NDArray[Any], blank: tuple[NDArray[Any], ...],
        reading: Arrays | None = None,
    ) -> tuple[NDArray[Any], ...]:  # fmt: skip
        """Serve a call with an element for each id; the answer has the forms of `blank`."""
        self._check_open()
        order, places = self._cut(rows)
        given = [rows, *columns]
        if order is not None:
            given = [column[order] for column in given]
        parts = {}
        for shard, place in places.items():
            mine, *others = (column[place] for column in given)
            parts[shard] = (mine - shard * self.size, *others, *(reading or ()))
        ask = self.router.call if reading is None else self.router.read
        outcome = ask(operation, parts)
        answer = tuple(np.empty((len(rows), *one.shape[1:]), one.dtype) for one in blank)
        served = np.zeros(len(rows), np.bool_)
        for shard, value in outcome.values.items():
            where = places[shard] if order is None else order[places[shard]]
            served[where] = True
            values = value if isinstance(value, tuple) else (value,)
            for into, column in zip(answer, values, strict=True):
                if len(column):  # nothing was counted otherwise
                    into[where] = column
        _raise_unless_done(outcome, served, tuple(column[served] for column in answer))
        return answer

    def _decide(self, rows: Ids) -> tuple[Ids, Ids]:
        none = np.empty(0, np.int64)
        arms, tickets = self._routed("decide", rows, blank=(none, none))
        return arms, tickets

    def _reward(self, rows: Ids, tickets: Ids, rewards: NDArray[np.float64]) -> Codes:
        return self._routed("reward", rows, tickets, rewards, blank=(np.empty(0, np.uint8),))[0]

    def _look(self, rows: Ids, counting: bool) -> tuple[Any, ...]:
        slots = self._shared.layout.memory
        wide = np.empty((0, slots), np.int64)
        counts = np.empty((0, len(COUNTS)), np.int64)
        blank = (np.empty(0, np.int64), counts, wide, wide, np.empty((0, slots)))
        return self._routed("look", rows, blank=blank, reading=(np.array([counting]),))

    def _change(self, added: list[Hashable], removed: list[int]) -> None:
        if not added and not removed:
            return
        self._check_open()
        before, after = self._shared, self._shared.other_arms(added, removed)
        self.router.set_arms(after.model.arms, before.model.arms)
        self.interrupted = True
        part: Any = (added, removed)
        outcome = self.router.call("change", dict.fromkeys(self.router.shards, part))
        if outcome.gone:
            # These shards went back to a save, and must have the same arms as the others.
            again = self.router.call("change", dict.fromkeys(outcome.gone, part))
            outcome.refused |= again.refused
            outcome.gone |= again.gone
        if outcome.refused:
            _raise_unless_done(outcome)
        self.interrupted = False
        self.router.set_arms(after.model.arms)
        self._shared = after
        self._label_array = None
        _raise_unless_done(outcome)

    def _check_open(self) -> None:
        if not hasattr(self, "router"):
            raise StoreError("the fleet was closed: open it again with ShardedFleet.open")
        if self.interrupted:
            raise StoreError(
                "a change of the arms was interrupted: close the fleet, and open it again with "
                "ShardedFleet.open(..., arms=those after the change, before=those before it)"
            )

    def place(self, member: Any) -> tuple[int, NDArray[np.int64]]:
        """Return the shard of a member, and the member as an array for a call."""
        row = int(self._ids.rows([member])[0])
        return min(row // self.size, len(self.router.shards) - 1), np.array([row])


class ShardedFleet:
    """Many bandits of one kind, in shards on a Dask cluster, with the results of one `Fleet`.

    policy, arms, memory, seed, counters and settings: as of a `Fleet`
    members  a number of members, called 0, 1, ...
    folder   a new folder that this process and all workers can reach by this path
    shards   how many; a worker that is lost is replaced shard by shard. A few for each worker
    cluster  "tcp://HOST:PORT" of a scheduler, "local:N" for N processes here, or a Dask client
    durable  whether a call is on the disk before it is answered. Otherwise, `save()` saves
    threads  how many threads of a worker serve a shard's part of a call; None: one for each core

    One process at a time has the fleet open; its methods may be called from several threads.
    """

    def __init__(
        self,
        policy: str | type[Policy],
        members: int,
        arms: ArmsLike,
        memory: int | None = None,
        *,
        folder: str | Path,
        cluster: Any,
        shards: int = 16,
        durable: bool = False,
        seed: int | None = None,
        counters: int = 16,
        threads: int | None = None,
        patience: float = PATIENCE,
        **given: Any,
    ) -> None:
        count, many = _members(members), integer("shards", shards)
        if not 1 <= many <= min(count, MOST_SHARDS):
            raise SettingError(
                f"shards={shards}: give from 1 to {MOST_SHARDS}, and no more than the {count} "
                "members"
            )
        # Refuses what a fleet would, before anything is made.
        one = Fleet(policy, 1, arms, memory, seed=seed, counters=counters, threads=threads, **given)
        path = Path(folder).absolute()
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise SettingError(
                f"{path} exists: give a new folder, or open this one with ShardedFleet.open"
            )
        own = None if isinstance(policy, str) else policy
        size = -(-count // many)
        many = -(-count // size)  # the last ones would be empty
        model = one._shared.model.to_bytes()
        with ExitStack() as stack:
            client = _client(cluster, stack)
            path.mkdir(parents=True, exist_ok=True)
            _lock(path, stack)
            specs = []
            for shard in range(many):
                mine = range(shard * size, min(count, (shard + 1) * size))
                fresh = Fresh(model, one._shared.counters, one.seed, mine)
                specs.append(
                    Spec(_shard_folder(path, shard), 0, (one.arms,), own, threads, durable,
                         patience, fresh)
                )  # fmt: skip
            router = Router(Places(client, patience), specs)
            stack.callback(router.close, patience)
            router.open()
            _write_manifest(path, many, size)
            self._set(path, one._shared, one.seed, count, size, router, own, stack.pop_all())

    def _set(
        self, path: Path, shared: Shared, seed: int, count: int, size: int, router: Router,
        policy: type[Policy] | None, stack: ExitStack,
    ) -> None:  # fmt: skip
        self.folder = path
        self._policy = policy
        self._front = Front.made(shared, seed, range(count), 1, rows=False)
        self._front.router = router
        self._front.size = size
        self._stack = stack

    @classmethod
    def open(
        cls,
        folder: str | Path,
        arms: ArmsLike,
        *,
        cluster: Any,
        durable: bool = False,
        policy: type[Policy] | None = None,
        threads: int | None = None,
        patience: float = PATIENCE,
        before: ArmsLike | None = None,
    ) -> Self:
        """Open a fleet as it was: after its last call if it was durable, else as it was saved.

        `arms` are those that it had then. If a change of them was interrupted, give the arms after
        the change, and as `before` those before it: the change is finished.
        """
        path = Path(folder).absolute()
        many, size = _read_manifest(path)
        candidates = (arms,) if before is None else (arms, before)
        specs = [
            Spec(_shard_folder(path, shard), term_of(Path(_shard_folder(path, shard))), candidates,
                 policy, threads, durable, patience)
            for shard in range(many)
        ]  # fmt: skip
        with ExitStack() as stack:
            client = _client(cluster, stack)
            _lock(path, stack)
            router = Router(Places(client, patience), specs)
            stack.callback(router.close, patience)
            router.open()
            router.accept()
            behind = [shard for shard, facts in router.claimed.items() if facts["arms"]]
            ahead = next((s for s in router.shards if s not in behind), None)
            if ahead is None:
                raise StateError("no shard has the arms after the change: open it with `before`")
            facts = router.claimed[ahead]
            shared = Shared(model_from(facts["model"], arms, policy), facts["counters"])
            count = router.claimed[many - 1]["members"].stop
            fleet = object.__new__(cls)
            if behind:
                _finish(router, behind, shared, before, policy)
            router.set_arms(shared.model.arms)
            fleet._set(path, shared, facts["seed"], count, size, router, policy, stack.pop_all())
        return fleet

    # What it is.

    def __len__(self) -> int:
        return len(self._front)

    @property
    def policy(self) -> str:
        """The name of the policy of all members."""
        return self._front.policy

    @property
    def arms(self) -> Any:
        """The arms, as the policy gives them: a list of labels, or as they were given."""
        return self._front.arms

    @property
    def memory(self) -> int:
        """The most arms that a member has statistics of."""
        return self._front.memory

    @property
    def seed(self) -> int:
        """The seed of the fleet."""
        return self._front.seed

    @property
    def shards(self) -> int:
        """How many shards there are."""
        self._front._check_open()
        return len(self._front.router.shards)

    def seed_of(self, member: Any) -> int:
        """Return the seed with which a single policy makes the same choices as a member."""
        return self._front.seed_of(member)

    def __repr__(self) -> str:
        head = self._front._shared.model._head()
        return f"ShardedFleet({head}, members={len(self):,}, folder={str(self.folder)!r})"

    # Calls.

    def decide(self, ids: Any, *, id: str | None = None, labels: bool = True) -> Any:
        """Return an arm and a ticket for each id, as `Fleet.decide` does."""
        return self._front.decide(ids, id=id, labels=labels)

    def reward(
        self,
        ids: Any,
        tickets: Any = None,
        rewards: Any = None,
        *,
        id: str | None = None,
        ticket: str | None = None,
        reward: str | None = None,
    ) -> Codes:
        """Take in rewards; return what became of each, as `Fleet.reward` does."""
        return self._front.reward(ids, tickets, rewards, id=id, ticket=ticket, reward=reward)

    @staticmethod
    def receipts(codes: Any) -> list[Receipt]:
        """Return what became of rewards, by the codes that `reward` returned."""
        return Fleet.receipts(codes)

    def recommend(self, ids: Any) -> NDArray[Any]:
        """Return the arm that each member recommends, as its label, without exploring."""
        return self._front.recommend(ids)

    def stats(self, ids: Any) -> FleetStats:
        """Return what is known of each member."""
        return self._front.stats(ids)

    def totals(self) -> Totals:
        """Return what is known of the whole fleet; this reads every member that has begun."""
        found = self._all("totals")
        return Totals(*(sum(column) for column in zip(*found.values.values(), strict=True)))

    def __getitem__(self, member: Any) -> Policy:
        """Return a member as a policy of its own, exactly as it is; the fleet does not change."""
        front = self._front
        with front._lock:
            front._check_open()
            shard, which = front.place(member)
            outcome = front.router.read("lift", {shard: (which,)})
            _raise_unless_done(outcome)
            return model_from(outcome.values[shard], front.arms, self._policy)

    def __setitem__(self, member: Any, policy: Policy) -> None:
        """Put a member back that was lifted out."""
        front = self._front
        with front._lock, policy.lock:
            front._check_open()
            front._shared.check_lifted(policy, seed_word(front.seed_of(member)))
            shard, which = front.place(member)
            data = np.frombuffer(policy.to_bytes(), np.uint8)
            _raise_unless_done(front.router.call("put", {shard: (which, data)}))

    # Changes.

    def add_arms(self, labels: Iterable[Hashable]) -> None:
        """Add arms for all members, which try them before others, and save all shards."""
        self._front.add_arms(labels)

    def remove_arms(self, labels: Iterable[Hashable]) -> None:
        """Remove arms for all members, and save all shards."""
        self._front.remove_arms(labels)

    def grow(self, more: int) -> None:
        """Add members after the last one, to the last shard, and save it."""
        front = self._front
        with front._lock:
            front._check_open()
            count = integer("more", more)
            if not 0 <= count <= MOST_MEMBERS - len(self):
                raise SettingError(f"grow({more}): give a number of members from 0 on")
            last = len(front.router.shards) - 1
            _raise_unless_done(front.router.call("grow", {last: (np.array([count]),)}))
            _raise_unless_done(front.router.read("save", {last: ()}))
            front._ids.count += count

    # Files.

    def save(self) -> None:
        """Save what has changed, all shards in parallel, each to its own folder."""
        self._all("save")

    def check(self) -> None:
        """Read the whole fleet, and refuse one that is damaged."""
        self._all("check")

    def close(self) -> None:
        """Let go of shards, folder and cluster; unless durable, what was not saved is lost."""
        with self._front._lock:
            if hasattr(self._front, "router"):
                del self._front.router
                self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _all(self, operation: str) -> Outcome:
        front = self._front
        with front._lock:
            front._check_open()
            outcome = front.router.read(operation, dict.fromkeys(front.router.shards, ()))
            _raise_unless_done(outcome)
            return outcome


def _raise_unless_done(outcome: Outcome, served: Any = None, answer: Any = None) -> None:
    if outcome.gone:
        which = ", ".join(f"{shard} ({calls} calls)" for shard, calls in outcome.gone.items())
        raise ShardLostError(
            f"workers were lost, and their shards went back to their last save. Shards, and how "
            f"many calls of each are gone: {which}. This call was served by the other shards only; "
            "durable=True would have lost none",
            outcome.gone, served, answer,
        )  # fmt: skip
    for error in outcome.refused.values():
        raise error


def _finish(
    router: Router, behind: list[int], shared: Shared, before: Any, policy: type[Policy] | None
) -> None:
    """Change the arms of the shards that have not been changed yet."""
    model = model_from(router.claimed[behind[0]]["model"], before, policy)
    old, new = listed(model._arms).listed(), listed(shared.model._arms).listed()
    added = [label for label in new if label not in old]
    removed = [at for at, label in enumerate(old) if label not in new]
    after = Shared(model, shared.counters).other_arms(added, removed)
    if listed(after.model._arms).listed() != new:
        raise SettingError("`before` are not the arms that were changed into `arms`")
    part: Any = (added, removed)
    _raise_unless_done(router.call("change", dict.fromkeys(behind, part)))


def _client(cluster: Any, stack: ExitStack) -> Any:
    """Return a client of a cluster whose workers have the sources of this process."""
    if isinstance(cluster, str):
        client = stack.enter_context(joined_client(cluster, direct=True))
    elif hasattr(cluster, "submit") and hasattr(cluster, "as_current"):
        client = cluster
    else:
        raise SettingError(
            f"cluster={cluster!r}: give tcp://HOST:PORT of a Dask scheduler, local:N, or a "
            "distributed.Client"
        )
    check_workers(client, cluster if isinstance(cluster, str) else "this client")
    return client


def _lock(path: Path, stack: ExitStack) -> None:
    stack.callback(locked(path).release)


def _shard_folder(path: Path, shard: int) -> str:
    return str(path / f"shard-{shard:05d}")


def _members(members: Any) -> int:
    if isinstance(members, str) or not hasattr(members, "__index__"):
        raise SettingError(
            f"members={members!r}: a fleet in shards has members by number; give how many"
        )
    count = integer("members", members)
    if not 1 <= count <= MOST_MEMBERS:
        raise SettingError(f"members={members!r}: give from 1 to 2^40 members")
    return count


def _write_manifest(path: Path, shards: int, size: int) -> None:
    data = json.dumps({"format": FORMAT, "shards": shards, "size": size}).encode()
    write_whole(path / MANIFEST, lambda file: file.write(data))


def _read_manifest(path: Path) -> tuple[int, int]:
    try:
        found = json.loads((path / MANIFEST).read_bytes())
        if found["format"] != FORMAT:
            raise ValueError
        return int(found["shards"]), int(found["size"])
    except FileNotFoundError:
        raise StoreError(
            f"{path} is no folder of a sharded fleet: there is no {MANIFEST} in it"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise DamagedStoreError(
            f"{path / MANIFEST} is damaged, or of a newer version of handful"
        ) from None
