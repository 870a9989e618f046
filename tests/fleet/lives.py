"""Random lives of a fleet and of single policies, side by side: all that can be seen is equal."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

import handful
from handful.core.tickets import RECEIPTS, Receipt
from handful.fleet import Fleet
from handful.policies import Policy

LETTERS = [f"arm {letter}" for letter in "abcdefghijklmnop"]
CHANGES = ("add", "remove", "lift", "restore")


class Life:
    """A fleet of a few members, and for each a policy that is made when it begins."""

    def __init__(
        self, name: str | type[Policy], seed: int, folder: Path | None = None, **given: Any
    ) -> None:
        self.folder = folder
        self.rng = random.Random(seed)
        self.kind = name
        self.given = {"memory": 2, **given}
        counters = self.given.pop("counters", 16)
        self.arms = LETTERS[: self.rng.choice([3, 6, 12])]
        self.named = seed % 3 == 0
        count = self.rng.randrange(1, 150)
        members: Any = [f"user {i}" for i in range(count)] if self.named else count
        if seed % 3 == 1:
            members = range(1000, 1000 + count)
        self.fleet = Fleet(
            name, members, self.arms, seed=seed, counters=counters,
            threads=self.rng.choice([1, 2, 3]), **self.given,
        )  # fmt: skip
        everybody = members if not isinstance(members, int) else range(members)
        # Few of them, so that lives are long; in blocks that belong to different threads.
        self.ids = self.rng.sample(list(everybody), min(5, count))
        self.singles: dict[Any, Policy] = {}
        self.open: list[tuple[Any, int]] = []
        self.used: list[tuple[Any, int]] = []

    def single(self, member: Any) -> Policy:
        """The policy of a member, which begins with its first call."""
        if member not in self.singles:
            given = {**self.given, "seed": self.fleet.seed_of(member)}
            memory = given.pop("memory")
            if isinstance(self.kind, str):
                made = handful.policy(self.kind, self.fleet.arms, memory, **given)
            else:
                made = self.kind(self.fleet.arms, memory, **given)
            self.singles[member] = made
        return self.singles[member]

    def decide(self) -> None:
        ids = self.rng.choices(self.ids, k=self.rng.choice([1, 3, 20, 60]))
        arms, tickets = self.fleet.decide(self._given(ids))
        for member, arm, ticket in zip(ids, arms, tickets.tolist(), strict=True):
            assert self.single(member).decide() == (arm, ticket)
            self.open.append((member, ticket))

    def reward(self) -> None:
        """Late, in any order, some twice, some with a wrong ticket, some never."""
        some = self.rng.sample(self.open, min(len(self.open), self.rng.choice([1, 5, 40])))
        for pair in some:
            self.open.remove(pair)
            self.used.append(pair)
        if self.used and self.rng.random() < 0.3:
            some += self.rng.choices(self.used, k=3)
        if self.rng.random() < 0.3:
            some.append((self.rng.choice(self.ids), self.rng.choice([-5, 0, 7, 2**62, 123456789])))
        if not some:
            return
        values = [self.rng.choice([0.0, 1.0, self.rng.random()]) for _ in some]
        codes = self.fleet.reward(
            self._given([member for member, _ in some]),
            np.array([ticket for _, ticket in some]),
            values,
        )
        for (member, ticket), value, code in zip(some, values, codes.tolist(), strict=True):
            assert self.single(member).reward(ticket, value) is RECEIPTS[code]

    def add(self) -> None:
        label = f"new {self.rng.random()}"
        labels = [label, f"{label}'"][: self.rng.choice([1, 2])]
        self.fleet.add_arms(labels)
        for policy in self.singles.values():
            policy.add_arms(labels)

    def remove(self) -> None:
        if len(self.fleet.arms) > 2:
            labels = self.rng.sample(self.fleet.arms, self.rng.choice([1, 1, 2]))
            self.fleet.remove_arms(labels)
            for policy in self.singles.values():
                policy.remove_arms(labels)

    def lift(self) -> None:
        """Lift a member out, let it live by itself for a while, and put it back."""
        member = self.rng.choice(self.ids)
        policy, single = self.fleet[member], self.single(member)
        for _ in range(self.rng.randrange(20)):
            decision = policy.decide()
            assert decision == single.decide()
            value = self.rng.random()
            assert policy.reward(decision.ticket, value) is Receipt.CREDITED
            assert single.reward(decision.ticket, value) is Receipt.CREDITED
        self.fleet[member] = policy

    def restore(self) -> None:
        """Save the fleet, and mostly go on with what is on the disk; now and then, it grows."""
        if self.folder is None:
            return
        if self.folder.exists():
            self.fleet.save()
        else:
            self.fleet.save(self.folder)
        if self.rng.random() < 0.7:
            arms, threads = self.fleet.arms, self.fleet.threads
            self.fleet.close()
            own = None if isinstance(self.kind, str) else self.kind
            self.fleet = Fleet.open(self.folder, arms, policy=own, threads=threads)
        if self.rng.random() < 0.3:
            last = len(self.fleet)
            more = self.rng.choice([1, 70])
            first = 0 if self.named else int(self.fleet._ids.first)  # type: ignore[union-attr]
            self.fleet.grow([f"new user {last}"] if self.named else more)
            self.ids.append(f"new user {last}" if self.named else first + last)

    def look(self) -> None:
        """Compare all that can be seen."""
        begun = [member for member in self.ids if member in self.singles]
        for member in begun:
            assert self.fleet[member].to_bytes() == self.singles[member].to_bytes()
        if not begun:
            return
        stats = self.fleet.stats(self._given(begun))
        for i, member in enumerate(begun):
            single = self.singles[member]
            known = single.stats()
            assert stats.recommended[i] == single.recommend()
            assert stats.decisions[i] == known.decisions
            assert stats.rewards[i] == known.rewards
            assert stats.in_flight[i] == sum(arm.in_flight for arm in known.arms)
            labels = [self.fleet.arms[arm] for arm in stats.arms[i] if arm >= 0]
            assert labels == [arm.arm for arm in known.arms]
            means = [mean for mean in stats.means[i] if mean == mean]
            assert means == [arm.mean for arm in known.arms if arm.pulls]

    def live(self, steps: int, changes: bool = True) -> None:
        """Live for some steps."""
        for _ in range(steps):
            kind = self.rng.choices(["decide", "reward", "change"], [5, 4, 0.6])[0]
            if kind == "change":
                if changes:
                    getattr(self, self.rng.choice(CHANGES))()
            else:
                getattr(self, kind)()
        self.look()

    def _given(self, ids: list[Any]) -> Any:
        if self.named:
            return ids
        return self.rng.choice([ids, np.array(ids), np.array(ids, np.uint16)])
