"""A live bandit: its settings, its policy and its counters.

The state of a bandit is the fold of its rows in the log, in order: `Bandit.created` makes it from
the first row, and `fold` applies the next. A request is handled the other way round: `decide` and
similar methods change the state, and return the contents of the row. Folding that row into a twin
leaves the twin in the same state, byte for byte. For a decision, `fold` decides again, and checks
that the arm is the one in the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

import msgspec

import handful
from handful.core.posted import PostedArms
from handful.core.rng import generator_from, uniform, words
from handful.core.tickets import Decision, Receipt
from handful.core.tuples import new_tuple
from handful.errors import DamagedStoreError, SettingError, UnknownNameError
from handful.policies import POLICIES, Policy
from handful.service.config import Change, Config, check_change
from handful.service.counted import Counted
from handful.service.delays import Delays
from handful.service.saving import SavedBandit
from handful.storage.rows import Due, Kind, Row

RECENT = 1000
"""The recent reward rate is that of about so many rewards."""


class Choice(NamedTuple):
    """An arm for a decision."""

    arm: int
    ticket: int | None
    """None: it was drawn uniformly, and the policy does not know of it."""
    probability: float | None
    label: str


class Bandit(SavedBandit):
    """A bandit in memory."""

    def __init__(self, config: Config, labels: Sequence[str]) -> None:
        check_change(config.window, config.default, config.explore, config.rescale)
        known = POLICIES[config.policy]
        for key in config.settings:
            if key not in known.settings:
                raise UnknownNameError(f"{config.policy} setting", key, known.settings)
        if known.clairvoyant:
            raise SettingError(f"{config.policy} depends on true means, which only a simulator has")
        if config.open and config.explore > 0.0:
            raise SettingError(
                "explore draws from all arms, and a bandit with an open end does not list them: "
                "leave explore out"
            )
        self.config = config
        self.counted = Counted()
        self.delays = Delays()
        self.explorer = list(generator_from(words("explore", config.seed, count=1)[0]))
        self.added = len(labels)
        self.numbers = {label: number for number, label in enumerate(labels)}
        if len(self.numbers) < len(labels):
            raise SettingError("a label is given twice: labels must differ")
        self.barred = {}
        self._drawable = None
        self.policy = self._make(PostedArms(labels) if config.open else list(labels))

    def _make(self, arms: Any) -> Policy:
        config = self.config
        return handful.policy(
            config.policy,
            arms=arms,
            memory=config.memory,
            seed=config.seed,
            rescale=config.rescale,
            **config.settings,
        )

    # What requests ask for, and what a row of the log repeats.

    def decide(self, allowed: frozenset[str] | None) -> Choice:
        """Return the arm of the next decision."""
        explore = self.config.explore
        permitted = self._permitted(allowed) if self.barred else allowed
        if explore <= 0.0:
            decision = self.policy.decide(allowed=permitted)
            choice = self._choice(decision, self._uniform(allowed))
        else:
            choice = self._explored(allowed, permitted, explore)
        self.counted.decisions += 1
        return choice

    def _choice(self, decision: Decision, probability: float | None) -> Choice:
        label, ticket = decision
        return new_tuple(Choice, (self.numbers[label], ticket, probability, label))

    def _permitted(self, allowed: frozenset[str] | None) -> Any:
        barred = self.barred
        if allowed is not None:
            return allowed.difference(barred)
        return lambda label: label not in barred

    def _uniform(self, allowed: frozenset[str] | None) -> float | None:
        """Return the probability of the arm if the policy picks at random, else None."""
        if self.policy.name != "random" or allowed is not None or self.config.open:
            return None
        return 1.0 / self.policy.n_arms

    def _explored(self, allowed: frozenset[str] | None, permitted: Any, explore: float) -> Choice:
        """Return an arm drawn uniformly with the probability `explore`, else the policy's own.

        The probability is that of the arm given everything that the policy knows, its own random
        numbers included.
        """
        n = len(self.numbers) if allowed is None else len(allowed)
        share = explore / n
        u = uniform(self.explorer)
        if u < explore:
            drawn = self._in_order(allowed)[min(n - 1, int(u / explore * n))]
            if self.policy.clone().decide(allowed=permitted).arm != drawn:
                return Choice(self.numbers[drawn], None, share, drawn)
        decision = self.policy.decide(allowed=permitted)
        return self._choice(decision, share + (1.0 - explore))

    def _in_order(self, allowed: frozenset[str] | None) -> list[str]:
        """Return arms in an order that a restart does not change; the last answer is remembered."""
        if self._drawable is None or self._drawable[0] is not allowed:
            among = list(self.numbers) if allowed is None else sorted(allowed)
            self._drawable = allowed, among
        return self._drawable[1]

    def reward(self, ticket: int | None, value: float, delay: int) -> Receipt:
        """Take in the reward of a decision that came after so many milliseconds.

        With a default, rewards count when the window of their decision ends, together with those
        that did not come: otherwise every arm would look better than it is at first.
        """
        counted = self.counted
        counted.rewards += 1
        counted.total += value
        counted.recent += (value - counted.recent) / min(counted.rewards, RECENT)
        self.delays.add(delay)
        if self.config.default is not None:
            return Receipt.CREDITED if ticket is not None else Receipt.FORGOTTEN
        return self._settle(ticket, value)

    def _settle(self, ticket: int | None, value: float) -> Receipt:
        receipt = Receipt.FORGOTTEN if ticket is None else self.policy.reward(ticket, value)
        if receipt is not Receipt.CREDITED:
            self.counted.forgotten += 1
            receipt = Receipt.FORGOTTEN
        return receipt

    def drop(self, ticket: int | None) -> Receipt:
        """Write off a decision whose reward will not come."""
        self.counted.dropped += 1
        if ticket is not None and self.config.default is None:
            self.policy.drop(ticket)
        return Receipt.DROPPED

    def late(self) -> None:
        """Count a reward that came after the window of its decision."""
        self.counted.late += 1

    def close(self, upto: int, due: Iterable[Due]) -> None:
        """End the windows of decisions up to a row: their default counts, or they are lost."""
        default = self.config.default
        for each in due:
            if each.decision <= self.counted.closed:
                continue
            if not each.answered:
                self.counted.expired += 1
            if default is not None:
                self._settle(each.ticket, default if each.reward is None else each.reward)
            elif not each.answered and each.ticket is not None:
                self.policy.drop(each.ticket)
        self.counted.closed = upto

    def add(self, labels: Sequence[str]) -> None:
        """Add arms."""
        known = next((label for label in labels if label in self.numbers), None)
        if known is not None:
            raise SettingError(f"the label {known!r} already belongs to an arm")
        if isinstance(self.policy._arms, PostedArms):
            self.policy._arms.post(labels)
        else:
            self.policy.add_arms(labels)
        for label in labels:
            self.numbers[label] = self.added
            self.added += 1
        self._drawable = None

    def remove(self, labels: Sequence[str]) -> None:
        """Remove arms: no decision returns them again."""
        arms = self.policy._arms
        if isinstance(arms, PostedArms):
            removed = {*labels, *self.barred}
            state = self.policy._state
            in_memory = (arms.label(arm) for arm in state.arm[: state.held] if arms.is_there(arm))
            within_reach = chain(in_memory, arms.undrawn())
            if all(label in removed for label in within_reach):
                raise SettingError("a bandit needs at least one arm: post others first")
            for label in labels:
                self.barred[label] = self.numbers[label]
            return
        self.policy.remove_arms(labels)
        for label in labels:
            del self.numbers[label]
        self._drawable = None

    def check_change(self, change: Change) -> None:
        """Refuse settings that this bandit cannot have."""
        check_change(change.window, change.default, change.explore, self.config.rescale)
        if self.config.open and change.explore > 0.0:
            raise SettingError("a bandit with an open end cannot explore uniformly")

    def change(self, change: Change) -> None:
        """Take other settings from now on."""
        self.check_change(change)
        self.config = msgspec.structs.replace(
            self.config,
            window=change.window,
            default=change.default,
            explore=change.explore,
        )

    # The fold.

    @classmethod
    def created(cls, row: Row) -> Bandit:
        """Return a new bandit by the first row of its log."""
        config, labels = msgspec.json.decode(row.note or b"", type=tuple[Config, list[str]])
        return cls(config, labels)

    def fold(self, row: Row, look_up: LookUp) -> None:
        """Apply a row of the log."""
        kind = row.kind
        if kind == Kind.DECIDED:
            allowed = None if row.subset is None else look_up.subset(row.subset)
            choice = self.decide(allowed)
            if choice[:3] != (row.ref, row.mark, row.value):
                raise DamagedStoreError(
                    f"row {row.seq} of the log says that {self.config.name!r} chose arm {row.ref}, "
                    f"but the rows before it imply arm {choice.arm}: the log "
                    "is damaged, or was written by a version of handful that decides differently"
                )
        elif kind == Kind.REWARDED:
            decision = look_up.decision(row)
            assert row.value is not None
            self.reward(decision.mark, row.value, row.at - decision.at)
        elif kind == Kind.LATE:
            self.late()
        elif kind == Kind.DROPPED:
            self.drop(look_up.decision(row).mark)
        elif kind == Kind.CLOSED:
            assert row.ref is not None
            assert row.mark is not None
            self.close(row.ref, look_up.due_of(row.bandit, row.mark, row.ref))
        elif kind == Kind.ADDED:
            self.add(msgspec.json.decode(row.note or b"", type=list[str]))
        elif kind == Kind.REMOVED:
            self.remove(msgspec.json.decode(row.note or b"", type=list[str]))
        elif kind == Kind.CHANGED:
            self.change(msgspec.json.decode(row.note or b"", type=Change))
        elif kind != Kind.DELETED:
            raise DamagedStoreError(f"row {row.seq} of the log has a kind that is not known")


class LookUp(Protocol):
    """What folding a row needs from the store."""

    def subset(self, number: int) -> frozenset[str]:
        """Return a set of allowed arms, as labels."""

    def decision(self, row: Row) -> Row:
        """Return the row of the decision that a row refers to."""

    def due_of(self, bandit: int, after: int, upto: int) -> list[Due]:
        """Return the decisions of a bandit with `after` < number <= `upto`."""
