"""The check of fleets: members equal single policies, byte for byte, also for your policies.

    from handful.testing.fleets import check_fleet

    check_fleet(MyPolicy)

A life is random, with a fixed seed: a fleet of a few members and a single policy for each are given
the same calls, and everything observable must be equal. Members decide many times in a call;
rewards come late, in any order, twice, with wrong tickets or never; arms are added and removed;
members are lifted out and put back; the fleet is saved, opened again and grows.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from handful.core.tickets import RECEIPTS, Receipt
from handful.fleet import Fleet
from handful.policies import Policy, policy
from handful.testing.contract import Check, expect, expect_equal

LETTERS = [f"arm {letter}" for letter in "abcdefghijklmnop"]
CHANGES = ("add", "remove", "lift", "restore")
TICKETS = (-5, 0, 7, 2**62, 123456789)
"""Tickets that no member has given."""


def check_fleet(
    kind: str | type[Policy], memory: int = 3, *, lives: int = 12, steps: int = 80, **given: Any
) -> None:
    """Compare fleets of a policy with single policies; raise `ContractError` if they differ.

    `kind` is the name of a policy or a class of one, and `given` are its settings, such as
    `window`. The first call compiles the policy for fleets, which takes some seconds.
    """

    def live(_: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(lives):
                Life(kind, seed, Path(folder) / f"{seed}", memory=memory, **given).live(steps)

    name = kind if isinstance(kind, str) else getattr(kind, "name", kind.__name__)
    Check("members_live_as_single_policies", live, name)()


class Life:
    """A fleet of a few members, and for each a policy that is made when it begins."""

    def __init__(
        self, kind: str | type[Policy], seed: int, folder: Path | None = None, **given: Any
    ) -> None:
        self.folder = folder
        self.rng = random.Random(seed)
        self.kind = kind
        self.given = {"memory": 2, **given}
        counters = self.given.pop("counters", 16)
        self.arms = LETTERS[: self.rng.choice([3, 6, 12])]
        self.named = seed % 3 == 0
        count = self.rng.randrange(1, 150)
        self.first = 1000 if seed % 3 == 1 else 0
        everybody: Any = range(self.first, self.first + count)
        if self.named:
            everybody = [f"user {i}" for i in range(count)]
        self.fleet = Fleet(
            kind, everybody, self.arms, seed=seed, counters=counters,
            threads=self.rng.choice([1, 2, 3]), **self.given,
        )  # fmt: skip
        # Few of them, so that lives are long; in blocks that belong to different threads.
        self.ids = self.rng.sample(list(everybody), min(5, count))
        self.singles: dict[Any, Policy] = {}
        self.open: list[tuple[Any, int]] = []
        self.used: list[tuple[Any, int]] = []

    def live(self, steps: int, changes: bool = True) -> None:
        """Live for some steps, and compare all that can be seen."""
        for _ in range(steps):
            kind = self.rng.choices(["decide", "reward", "change"], [5, 4, 0.6])[0]
            if kind != "change":
                getattr(self, kind)()
            elif changes:
                getattr(self, self.rng.choice(CHANGES))()
        self.look()

    def single(self, member: Any) -> Policy:
        """Return the policy of a member, which begins with its first call."""
        if member not in self.singles:
            given = {**self.given, "seed": self.fleet.seed_of(member)}
            memory = given.pop("memory")
            if isinstance(self.kind, str):
                made = policy(self.kind, self.fleet.arms, memory, **given)
            else:
                made = self.kind(self.fleet.arms, memory, **given)
            self.singles[member] = made
        return self.singles[member]

    def decide(self) -> None:
        """Decide for some members, several times for some of them."""
        ids = self.rng.choices(self.ids, k=self.rng.choice([1, 3, 20, 60]))
        arms, tickets = self.fleet.decide(self._given(ids))
        for member, arm, ticket in zip(ids, arms, tickets.tolist(), strict=True):
            expect_equal((arm, ticket), self.single(member).decide(), f"decision of {member!r}")
            self.open.append((member, ticket))

    def reward(self) -> None:
        """Give rewards late, in any order, some twice, some with a wrong ticket, some never."""
        some = self.rng.sample(self.open, min(len(self.open), self.rng.choice([1, 5, 40])))
        for pair in some:
            self.open.remove(pair)
            self.used.append(pair)
        if self.used and self.rng.random() < 0.3:
            some += self.rng.choices(self.used, k=3)
        if self.rng.random() < 0.3:
            some.append((self.rng.choice(self.ids), self.rng.choice(TICKETS)))
        if not some:
            return
        values = [self.rng.choice([0.0, 1.0, self.rng.random()]) for _ in some]
        codes = self.fleet.reward(
            self._given([member for member, _ in some]),
            np.array([ticket for _, ticket in some]),
            values,
        )
        for (member, ticket), value, code in zip(some, values, codes.tolist(), strict=True):
            wanted = self.single(member).reward(ticket, value)
            expect_equal(RECEIPTS[code], wanted, f"what became of a reward of {member!r}")

    def add(self) -> None:
        """Add arms."""
        label = f"new {self.rng.random()}"
        labels = [label, f"{label}'"][: self.rng.choice([1, 2])]
        self.fleet.add_arms(labels)
        for single in self.singles.values():
            single.add_arms(labels)

    def remove(self) -> None:
        """Remove arms."""
        if len(self.fleet.arms) > 2:
            labels = self.rng.sample(self.fleet.arms, self.rng.choice([1, 1, 2]))
            self.fleet.remove_arms(labels)
            for single in self.singles.values():
                single.remove_arms(labels)

    def lift(self) -> None:
        """Lift a member out, let it live by itself for a while, and put it back."""
        member = self.rng.choice(self.ids)
        lifted, single = self.fleet[member], self.single(member)
        for _ in range(self.rng.randrange(20)):
            decision = lifted.decide()
            expect_equal(decision, single.decide(), f"decision of {member!r}, lifted out")
            value = self.rng.random()
            for each in (lifted, single):
                expect_equal(each.reward(decision.ticket, value), Receipt.CREDITED, "a reward")
        self.fleet[member] = lifted

    def restore(self) -> None:
        """Save the fleet, and mostly go on with what is on the disk; now and then, it grows."""
        if self.folder is None:
            return
        self.fleet.save(None if self.folder.exists() else self.folder)
        if self.rng.random() < 0.7:
            arms, threads = self.fleet.arms, self.fleet.threads
            self.fleet.close()
            own = None if isinstance(self.kind, str) else self.kind
            self.fleet = Fleet.open(self.folder, arms, policy=own, threads=threads)
        if self.rng.random() < 0.3:
            last = len(self.fleet)
            more = self.rng.choice([1, 70])
            self.fleet.grow([f"new user {last}"] if self.named else more)
            self.ids.append(f"new user {last}" if self.named else self.first + last)

    def look(self) -> None:
        """Compare all that can be seen."""
        begun = [member for member in self.ids if member in self.singles]
        for member in begun:
            same = self.fleet[member].to_bytes() == self.singles[member].to_bytes()
            expect(same, f"member {member!r} has other bytes than the single policy")
        if not begun:
            return
        stats = self.fleet.stats(self._given(begun))
        for i, member in enumerate(begun):
            single = self.singles[member]
            known = single.stats()
            found = (stats.recommended[i], stats.decisions[i], stats.rewards[i], stats.in_flight[i])
            wanted = (single.recommend(), known.decisions, known.rewards,
                      sum(arm.in_flight for arm in known.arms))  # fmt: skip
            expect_equal(found, wanted, f"recommendation and counts of {member!r}")
            labels = [self.fleet.arms[arm] for arm in stats.arms[i] if arm >= 0]
            expect_equal(labels, [arm.arm for arm in known.arms], f"arms of {member!r}")
            means = [mean for mean in stats.means[i] if mean == mean]
            wanted_means = [arm.mean for arm in known.arms if arm.pulls]
            expect_equal(means, wanted_means, f"means of {member!r}")

    def _given(self, ids: list[Any]) -> Any:
        if self.named:
            return ids
        return self.rng.choice([ids, np.array(ids), np.array(ids, np.uint16)])
