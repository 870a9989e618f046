"""A fleet in shards on the workers of a cluster, with the methods and the results of a `Fleet`.

    fleet = handful.ShardedFleet(
        "race", members=10**9, arms=offers, memory=2, seed=7,
        folder="/shared/fleet", shards=64, cluster="tcp://10.0.0.1:8786", durable=True,
    )
    arms, tickets = fleet.decide(ids)

A shard is a range of members. A call is checked as a whole here and split by shard; the shards
serve it in parallel, and the answers are joined in the order of the call.
"""

from __future__ import annotations

import shutil
from collections.abc import Hashable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from handful.errors import SettingError, StateError, StoreError, integer
from handful.fleet.fleet import Codes, Fleet
from handful.fleet.keeping import MOST_MEMBERS
from handful.fleet.saving import locked
from handful.fleet.shards.front import Front, raise_unless_done
from handful.fleet.shards.manifest import Manifest, check_free, read_manifest, write_manifest
from handful.fleet.shards.messages import Fresh, Spec
from handful.fleet.shards.places import Places
from handful.fleet.shards.router import Outcome, Router
from handful.fleet.shards.shard import model_from, term_of
from handful.fleet.shared import Shared
from handful.fleet.shown import Shown
from handful.fleet.stats import FleetStats, Totals
from handful.policies import Policy
from handful.policies.changes import listed
from handful.policies.given import ArmsLike, seed_word
from handful.sweeps.cluster import check_workers, joined_client

MOST_SHARDS = 2**15
PATIENCE = 30.0
"""Seconds that a worker has to take a shard, and a former holder to let go of it."""


class ShardedFleet(Shown):
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
        check_free(path)
        own = None if isinstance(policy, str) else policy
        size = -(-count // many)
        many = -(-count // size)  # the last ones would be empty
        model = one._shared.model.to_bytes()
        with ExitStack() as stack:
            client = _client(cluster, stack)
            path.mkdir(parents=True, exist_ok=True)
            _lock(path, stack)
            check_free(path)  # another process may have made one since
            for left in path.glob("shard-*"):
                shutil.rmtree(left)  # of a fleet that was not made completely
            write_manifest(path, Manifest(many, size, complete=False))
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
            write_manifest(path, Manifest(many, size, complete=True))
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
        many, size, complete = read_manifest(path)
        if not complete:
            raise StoreError(
                f"{path} has a fleet that was never made completely: make it again with "
                "ShardedFleet(..., folder=...), which takes this folder"
            )
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
                raise StateError(
                    "no shard has the arms after the change, so it never began: open the fleet "
                    "with arms=those before it, and without `before`"
                )
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

    def _about(self) -> tuple[Policy, int, str]:
        return self._front._shared.model, len(self), f"folder={str(self.folder)!r}"

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

    def recommend(self, ids: Any, *, id: str | None = None) -> NDArray[Any]:
        """Return the arm that each member recommends, as its label, without exploring."""
        return self._front.recommend(ids, id=id)

    def stats(self, ids: Any, *, id: str | None = None) -> FleetStats:
        """Return what is known of each member."""
        return self._front.stats(ids, id=id)

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
            raise_unless_done(outcome)
            return model_from(outcome.values[shard], front.arms, self._policy)

    def __setitem__(self, member: Any, policy: Policy) -> None:
        """Put a member back that was lifted out."""
        front = self._front
        with front._lock, policy.lock:
            front._check_open()
            front._shared.check_lifted(policy, seed_word(front.seed_of(member)))
            shard, which = front.place(member)
            data = np.frombuffer(policy.to_bytes(), np.uint8)
            raise_unless_done(front.router.call("put", {shard: (which, data)}))

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
            outcome = front.router.call("grow", {last: (np.array([count]),)})
            raise_unless_done(outcome)
            front._ids.count = last * front.size + outcome.values[last]

    # Files.

    def save(self) -> None:
        """Save what has changed, all shards in parallel, each to its own folder."""
        self._all("save")

    def check(self) -> None:
        """Read the whole fleet, and refuse one that is damaged."""
        self._all("check")

    def close(self) -> None:
        """Release shards, folder and cluster; unless durable, what was not saved is lost."""
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
            raise_unless_done(outcome)
            return outcome


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
    raise_unless_done(router.call("change", dict.fromkeys(behind, part)))


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
