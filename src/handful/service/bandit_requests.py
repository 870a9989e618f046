"""Requests about bandits and their arms: create, show, change, delete, add, remove."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from handful.errors import DamagedStoreError
from handful.policies import POLICIES
from handful.service import shown
from handful.service.bandit import Bandit
from handful.service.batch import Batch, granted
from handful.service.bodies import (
    ArmList,
    ArmsAdded,
    ArmsRemoved,
    BanditChange,
    BanditList,
    BanditListed,
    BanditShown,
    History,
    NewBandit,
    shown_time,
)
from handful.service.config import Change, Config
from handful.service.problems import Problem
from handful.storage.rows import BanditRow, Kind


class BanditRequests(Batch):
    """What can be asked of the service about bandits and their arms."""

    def create(self, given: NewBandit) -> BanditShown:
        """Create a bandit."""
        if self.bandits.named(self.tx, given.name) is not None:
            raise Problem(
                409, f"there is a bandit {given.name!r} already: take another name, or delete it"
            )
        if given.policy not in POLICIES:
            raise Problem(422, f"there is no policy {given.policy!r}: see `handful policies`")
        seed = given.seed
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little") >> 11
        config = Config(
            name=given.name,
            policy=given.policy,
            memory=given.memory,
            settings=given.settings,
            seed=seed,
            window=given.window,
            default=given.default,
            explore=given.explore,
            rescale=given.rescale,
            open=given.open,
        )
        bandit = granted(Bandit, config, given.arms)
        number = self.tx.number("bandits") + 1
        if self.tx.bandit(number) is not None:
            raise DamagedStoreError(
                f"bandit {number} exists before its first row: restore a backup"
            )
        self.tx.set_number("bandits", number)
        note = msgspec.json.encode((config, given.arms))
        seq = self.write(Kind.CREATED, number, note=note).seq
        self.bandits.put_row(self.tx, BanditRow(number, given.name, seq))
        self.tx.put_labels(number, 0, given.arms)
        self.flush()  # another bandit may be saved in place of this one, with all its rows
        self.bandits.put(self.look_up, number, bandit)
        self.watch(number, config.window, seq)
        return self._describe(number, bandit, self.now)

    def describe(self, name: str) -> BanditShown:
        """Return a bandit and what it knows."""
        row, bandit = self.named(name)
        created = self.row(row.created)
        return self._describe(row.id, bandit, created.at if created else 0)

    def _describe(self, number: int, bandit: Bandit, created_at: int) -> BanditShown:
        return shown.bandit(bandit, shown_time(created_at), self._last_row(number))

    def _last_row(self, number: int) -> int:
        """Return the number of the last row that a bandit is shown by."""
        return self.seq

    def listed(self, after: str, limit: int) -> BanditList:
        """Return bandits by name."""
        rows = self.tx.bandits(after, limit + 1)
        found = [shown.listed(self.loaded(row.id)) for row in rows[:limit]]
        return BanditList(found, rows[limit - 1].name if len(rows) > limit else None)

    def listed_one(self, name: str) -> BanditListed | None:
        """Return one bandit as a list shows it."""
        row = self.bandits.named(self.tx, name)
        return None if row is None else shown.listed(self.loaded(row.id))

    def change(self, name: str, given: BanditChange) -> BanditShown:
        """Change settings of a bandit."""
        row, bandit = self.named(name)
        config = bandit.config
        change = Change(
            window=config.window if given.window is msgspec.UNSET else given.window,
            default=config.default if given.default is msgspec.UNSET else given.default,
            explore=config.explore if given.explore is msgspec.UNSET else given.explore,
        )
        granted(bandit.check_change, change)
        toggles = (change.default is None) != (config.default is None)
        if toggles and bandit.counted.waiting:
            raise Problem(
                409,
                f"{bandit.counted.waiting} decisions wait for rewards, which count in another way "
                "with a default than without: wait until their windows have ended, or make a new "
                "bandit",
            )
        if toggles:
            self._close_now(row.id, bandit)
        bandit.change(change)
        self.write(Kind.CHANGED, row.id, note=msgspec.json.encode(change))
        if change.window != config.window:
            self.watch(row.id, change.window, max(row.created, bandit.counted.closed))
            self.leave(config.window)
        return self.describe(name)

    def _close_now(self, number: int, bandit: Bandit) -> None:
        """Let all rewards of a bandit count for which no window is waited for any more.

        With a default, rewards that came count when their windows end; without one they have
        counted already, and must not count again.
        """
        self.flush()
        upto = after = self.seq
        config = bandit.config
        if config.default is not None and config.window is not None:
            after = max(bandit.counted.closed, min(self.windows.upto(config.window), upto))
        bandit.close(upto, self.look_up.due_of(number, after, upto))
        self.write(Kind.CLOSED, number, upto, after)

    def delete(self, name: str) -> None:
        """Delete a bandit; its rows stay in the log."""
        row, bandit = self.named(name)
        self.leave(bandit.config.window)
        self.write(Kind.DELETED, row.id)
        self.bandits.put_row(self.tx, row._replace(deleted=True))
        self.bandits.gone(row.id)

    def history(self, name: str) -> History:
        """Return a bandit over time."""
        row, bandit = self.named(name)
        points = [*self.tx.points(row.id), shown.point(bandit, bandit.counted.decisions, self.now)]
        label = self._labels_of(row.id)
        return History([shown.past(point, bandit, label) for point in points])

    def _labels_of(self, bandit: int) -> Callable[[int], str]:
        known: dict[int, str] = {}

        def label(number: int) -> str:
            if number not in known:
                known[number] = self.label(bandit, number)
            return known[number]

        return label

    # Arms.

    def arms(self, name: str, after: int, limit: int) -> ArmList:
        """Return the labels of arms, in the order of adding.

        The store is asked for as many as are shown, and for more only in place of removed ones.
        """
        row, bandit = self.named(name)
        found: list[str] = []
        while after < bandit.added:
            page = self.tx.labels_from(row.id, after, limit + 1)
            for number, label in enumerate(page, after):
                if bandit.numbers.get(label) == number and label not in bandit.barred:
                    if len(found) == limit:
                        return ArmList(found, number)
                    found.append(label)
            if not page:
                break
            after += len(page)
        return ArmList(found, None)

    def add_arms(self, name: str, labels: list[str]) -> ArmsAdded:
        """Add arms to a bandit."""
        row, bandit = self.named(name)
        known = next((label for label in labels if label in bandit.numbers), None)
        if known is not None:
            raise Problem(409, f"{known!r} is an arm of {name!r} already: add other labels")
        if len(set(labels)) < len(labels):
            raise Problem(422, "a label is given twice: give each arm once")
        first = bandit.added
        granted(bandit.add, labels)
        self.write(Kind.ADDED, row.id, first, note=msgspec.json.encode(labels))
        self.tx.put_labels(row.id, first, labels)
        return ArmsAdded(shown.n_arms(bandit), len(labels))

    def remove_arms(self, name: str, labels: list[str]) -> ArmsRemoved:
        """Remove arms from a bandit."""
        row, bandit = self.named(name)
        if len(set(labels)) < len(labels):
            raise Problem(422, "a label is given twice: give each arm once")
        missing = next(
            (label for label in labels if label not in bandit.numbers or label in bandit.barred),
            None,
        )
        if missing is not None:
            raise Problem(404, f"{missing!r} is not an arm of {name!r}")
        granted(bandit.remove, labels)
        self.write(Kind.REMOVED, row.id, note=msgspec.json.encode(labels))
        return ArmsRemoved(shown.n_arms(bandit), len(labels))
