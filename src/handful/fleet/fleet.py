"""Fleets: one bandit for each of millions of users, pages or keywords.

    fleet = handful.Fleet("race", members=10_000_000, arms=offers, memory=2, seed=7)
    arms, tickets = fleet.decide(ids)
    receipts = fleet.reward(ids, tickets, rewards)

Every member makes the choices of the single policy with its seed, `fleet.seed_of(i)`. A fleet calls
the functions of the policy, compiled, for records in an array (`handful.fleet.members`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.core.tickets import UNKNOWN
from handful.errors import SettingError, integer
from handful.fleet.changing import converted
from handful.fleet.frames import column, ids_in, is_frame, values, with_columns
from handful.fleet.ids import NOBODY, Names, Numbers
from handful.fleet.keeping import MOST_MEMBERS, Keeping
from handful.fleet.kernels.bulk import COUNTS, kernels_of
from handful.fleet.kernels.members import Desk
from handful.fleet.members import Ids, Members
from handful.fleet.shared import FOR_KERNELS, Shared, model_of
from handful.fleet.shown import Shown
from handful.fleet.stats import FleetStats, Totals, means_of
from handful.policies import Policy
from handful.policies.changes import indices_to_remove, listed, new_labels
from handful.policies.given import ArmsLike, seed_word
from handful.policies.settings import UNIT

CHUNK = 1 << 20
"""Members that are looked at together for totals."""
Codes = NDArray[np.uint8]


class Fleet(Shown, Keeping):
    """Many bandits of one kind, on the same arms.

    policy   the name of a policy, such as "race" or "ucb-m:eta=0.5", or a class of one
    members  a number of members, called 0, 1, ...; or a range of such numbers, for a shard of a
             larger fleet; or a list of strings, to which names that come later are added
    arms, memory, rescale, window, default, clicks_only and settings: as of the policy
    seed     any integer: `seed_of(i)` follows from it. None: a random one
    counters the bits of a counter: 16, 32 or 64. A member for which 16 or 32 are not enough takes a
             wide row of its own
    threads  how many threads serve a call; None: one for each core. They do not change results

    A member begins with the first call of `decide` or `reward` that names it, on the arms that
    there are then. Methods may be called from several threads; each call is applied as a whole.
    """

    def __init__(
        self,
        policy: str | type[Policy],
        members: int | range | Iterable[str],
        arms: ArmsLike,
        memory: int | None = None,
        *,
        seed: int | None = None,
        counters: int = 16,
        threads: int | None = None,
        **given: Any,
    ) -> None:
        self._shared = Shared(model_of(policy, arms, memory, given), counters)
        self._seed = integer("seed", seed) if seed is not None else seed_word(None) >> 1
        self._ids = _ids_of(members, self._seed)
        self._members = Members(self._shared.layout, self._ids.count, self._ids.first_seed)
        if isinstance(self._ids, Names):
            self._give_seeds(0, self._ids.names)
        self._prepare(threads)

    # What it is.

    @property
    def arms(self) -> Any:
        """The arms, as the policy gives them: a list of labels, or as they were given."""
        return self._shared.model.arms

    @property
    def memory(self) -> int:
        """The most arms that a member has statistics of."""
        return self._shared.model.memory

    @property
    def seed(self) -> int:
        """The seed of the fleet."""
        return self._seed

    @property
    def bytes_per_member(self) -> int:
        """The bytes of an ordinary member; a wide one takes `wide_bytes` more."""
        return self._shared.layout.size

    @property
    def wide_bytes(self) -> int:
        """The bytes that a member takes besides if it does not fit into an ordinary row."""
        return self._shared.layout.wide_size

    def seed_of(self, member: Any) -> int:
        """Return the seed with which a single policy makes the same choices as a member."""
        return self._ids.seed_of(member)

    def _about(self) -> tuple[Policy, int, str]:
        return self._shared.model, len(self), f"{self.bytes_per_member} bytes each"

    # Decisions and rewards.

    def decide(self, ids: Any, *, id: str | None = None, labels: bool = True) -> Any:
        """Return an arm and a ticket for each id, as two arrays; repeated ids are served in order.

        A frame of polars, pandas or Arrow is returned with the columns `arm` and `ticket`; `id` is
        the name of its column of ids. Without `labels`, arms are given by their index.
        """
        given = ids_in(ids, id)
        with self._lock:
            self._check_open()
            self._welcome(given)
            indices, tickets = self._decide(self._ids.rows(given))
            arms = self._labels(indices) if labels else indices
        if is_frame(ids):
            return with_columns(ids, {"arm": arms, "ticket": tickets})
        return arms, tickets

    def _decide(self, rows: Ids) -> tuple[Ids, Ids]:
        arms = np.empty(len(rows), np.int64)
        tickets = np.empty(len(rows), np.int64)
        kernel = kernels_of(self._shared.acts_as).decide
        members, shared = self._members, self._shared

        def task(part: int, parts: int, desk: Desk) -> int:
            return kernel(
                rows, part, parts, shared.p, shared.how, members.seen, desk, arms, tickets
            )

        self._run(rows, task)
        return arms, tickets

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
        """Take in rewards, late and in any order; return what became of each, as a code.

        `receipts(codes)` names the codes. Of a frame, `id`, `ticket` and `reward` are the names of
        its columns.
        """
        given = ids_in(ids, id)
        if is_frame(ids):
            tickets = column(ids, ticket or "ticket", "ticket")
            rewards = column(ids, reward or "reward", "reward")
        elif tickets is None or rewards is None:
            raise SettingError("give the tickets and the rewards: fleet.reward(ids, tickets, ...)")
        with self._lock:
            rows = self._ids.known(given)
            numbers = _tickets(values(tickets), len(rows))
            taken = self._shared.rewards(values(rewards), len(rows))
            there = rows != NOBODY
            if not there.all():
                # No member, so no ticket of one.
                codes = np.full(len(rows), UNKNOWN, np.uint8)
                codes[there] = self._reward(rows[there], numbers[there], taken[there])
                return codes
            return self._reward(rows, numbers, taken)

    def _reward(self, rows: Ids, tickets: Ids, rewards: NDArray[np.float64]) -> Codes:
        codes = np.empty(len(rows), np.uint8)
        kernel = kernels_of(self._shared.acts_as).reward
        members, shared = self._members, self._shared

        def task(part: int, parts: int, desk: Desk) -> int:
            return kernel(
                rows, part, parts, shared.p, shared.how, members.seen, desk, tickets, rewards,
                codes,
            )  # fmt: skip

        self._run(rows, task)
        return codes

    # What is known.

    def recommend(self, ids: Any, *, id: str | None = None) -> NDArray[Any]:
        """Return the arm that each member recommends, as its label, without exploring."""
        given = ids_in(ids, id)
        with self._lock:
            return self._labels(self._look(self._ids.rows(given), counting=False)[0])

    def stats(self, ids: Any, *, id: str | None = None) -> FleetStats:
        """Return what is known of each member."""
        given = ids_in(ids, id)
        with self._lock:
            recommended, counts, arms, pulls, sums = self._look(self._ids.rows(given), True)
            lo, hi = self._shared.model._rescale or UNIT
            by = dict(zip(COUNTS, counts.T, strict=True))
            return FleetStats(
                np.asarray(given), by["decisions"], by["rewards"], by["in_flight"], by["lost"],
                by["forgotten"], by["refused"], self._labels(recommended), arms, pulls,
                means_of(pulls, sums, lo, hi),
            )  # fmt: skip

    def totals(self) -> Totals:
        """Return what is known of the whole fleet; this reads every member that has begun."""
        with self._lock:
            self._check_open()
            sums = np.zeros(len(COUNTS), np.int64)
            begun = 0
            for first in range(0, len(self), CHUNK):
                last = min(first + CHUNK, len(self))
                rows = first + np.flatnonzero(self._members.rows[first:last, 0])
                begun += len(rows)
                sums += self._look(rows, counting=True)[1].sum(axis=0)
            by = dict(zip(COUNTS, sums.tolist(), strict=True))
            return Totals(
                len(self), begun, self._members.used_wide(), by["decisions"], by["rewards"],
                by["in_flight"], by["lost"], by["forgotten"], by["refused"],
            )  # fmt: skip

    # Single members.

    def __getitem__(self, member: Any) -> Policy:
        """Return a member as a policy of its own, exactly as it is; the fleet does not change."""
        with self._lock:
            row = self._row(member)
            state = self._members.state(row)
            if state is not None:
                return self._shared.lifted(state)
            alone = self._shared.model.clone()
            alone._key = seed_word(self.seed_of(member))
            alone.reset()
            return alone

    def __setitem__(self, member: Any, policy: Policy) -> None:
        """Put a member back that was lifted out."""
        with self._lock, policy.lock:
            row = self._row(member)
            state = self._shared.check_lifted(policy, seed_word(self.seed_of(member)))
            self._members.put(row, state)

    # Changes.

    def add_arms(self, labels: Iterable[Hashable]) -> None:
        """Add arms for all members, which try them before others."""
        with self._lock:
            self._change(new_labels(labels, listed(self._shared.model._arms)), [])

    def remove_arms(self, labels: Iterable[Hashable]) -> None:
        """Remove arms for all members."""
        with self._lock:
            self._change([], indices_to_remove(labels, listed(self._shared.model._arms)))

    def _change(self, added: list[Hashable], removed: list[int]) -> None:
        if not added and not removed:
            return
        after = self._shared.other_arms(added, removed)
        self.check()
        folder = self._members.file
        self._members = converted(self._members, self._shared, after, added, removed, self.threads)
        self._members.file = folder
        self._shared = after
        self._label_array = None


def _ids_of(members: Any, seed: int) -> Numbers | Names:
    if isinstance(members, str | bytes):
        raise SettingError(f"members={members!r}: give a number, a range or a list of names")
    if isinstance(members, range):
        if members.step != 1 or members.start < 0 or len(members) == 0:
            raise SettingError(f"members={members!r}: give a range such as range(1000, 2000)")
        first, count = members.start, len(members)
    elif isinstance(members, Iterable):
        return Names(seed, members)
    else:
        first, count = 0, integer("members", members)
    if not 1 <= count <= MOST_MEMBERS or first + count > MOST_MEMBERS:
        raise SettingError(f"members={members!r}: give from 1 to 2^40 members")
    return Numbers(seed, first, count)


def _tickets(tickets: Any, size: int) -> Ids:
    given = np.asarray(tickets)
    if given.size == 0:
        given = given.astype(np.int64)
    if given.dtype.kind not in "iu" or given.shape != (size,):
        raise SettingError(
            f"tickets of the type {given.dtype} and the shape {given.shape}: give an integer for "
            f"each of the {size} ids"
        )
    if given.dtype == np.uint64 and given.size:
        # No ticket is that large.
        given = np.where(given > np.uint64(2**63 - 1), np.uint64(0), given)
    return np.require(given, np.int64, FOR_KERNELS)
