"""Requests about decisions and their rewards: decide, show, reward, drop."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handful.core.tickets import Receipt
from handful.errors import DamagedStoreError, RewardError
from handful.policies.settings import unit_reward
from handful.service import shown
from handful.service.bandit import Bandit, Choice
from handful.service.batch import Batch, granted
from handful.service.bodies import (
    DecisionMade,
    Decisions,
    DecisionShown,
    NewDecisions,
    Outcome,
    Outcomes,
    Rewards,
    shown_time,
)
from handful.service.problems import Problem
from handful.storage.rows import STATUSES, BanditRow, Kind, Row

MOST_POINTS = 256
"""Points of a history."""
BECAME = {404: "unknown", 409: "conflict", 410: "expired", 503: "unavailable"}
"""The outcomes of rewards in a batch that are refused, by their statuses."""
LEAST_STRIDE = 4
"""Decisions between two points."""


class DecisionRequests(Batch):
    """What can be asked of the service about decisions and their rewards."""

    def decide(self, name: str, given: NewDecisions) -> Decisions:
        """Make decisions."""
        row, bandit = self.named(name)
        keys = self._own_keys(given)
        made = [] if keys is None else self._made_before(row.id, keys)
        if made and len(made) == given.n:
            return Decisions(made, shown.recommended(bandit))
        if made:
            raise Problem(409, "some of these keys are those of decisions already: give new ones")
        allowed, subset = self._allowed(bandit, given.allowed)
        choices = self._choices(row.id, bandit, allowed, given.n)
        own: Sequence[str | None] = keys or [None] * given.n
        for choice, key in zip(choices, own, strict=True):
            arm, ticket, probability, label = choice
            decision = self.write(Kind.DECIDED, row.id, arm, ticket, probability, subset)
            if key is not None:
                self.tx.set_key(row.id, key, decision.seq)
            id = self.ids.name(decision.seq)
            self.recent.add(id, decision)
            made.append(DecisionMade(id, label, key, probability))
        self._remember(row.id, bandit, given.n)
        return Decisions(made, shown.recommended(bandit))

    def _choices(
        self, number: int, bandit: Bandit, allowed: frozenset[str] | None, n: int
    ) -> list[Choice]:
        """Return all choices of a request, or none of them."""
        choices = []
        try:
            for _ in range(n):
                choices.append(granted(bandit.decide, allowed))
        except BaseException:
            if choices or bandit.config.explore > 0.0:
                self.bandits.discard(number)
            raise
        return choices

    def _own_keys(self, given: NewDecisions) -> list[str] | None:
        """Return the caller's own keys, one for each decision, if there are any."""
        if given.key is not None:
            if given.keys is not None or given.n != 1:
                raise Problem(422, "`key` names one decision: give `keys`, a list, for several")
            return [given.key]
        if given.keys is None:
            return None
        if len(given.keys) != given.n or len(set(given.keys)) < given.n:
            raise Problem(422, f"give `n` and as many different `keys`; here n is {given.n}")
        return given.keys

    def _made_before(self, bandit: int, keys: list[str]) -> list[DecisionMade]:
        """Return the decisions that have these keys already."""
        found = [self.tx.decision_with_key(bandit, key) for key in keys]
        made = []
        for key, seq in zip(keys, found, strict=True):
            if seq is not None:
                row = self._noted(bandit, seq)
                assert row.ref is not None
                label = self.label(bandit, row.ref)
                made.append(DecisionMade(self.ids.name(row.seq), label, key, row.value))
        return made

    def _noted(self, bandit: int, seq: int) -> Row:
        """Return the decision that is noted for a caller's key."""
        row = self.row(seq)
        if row is None or row.kind != Kind.DECIDED or row.bandit != bandit:
            raise DamagedStoreError(
                f"row {seq} is stored for a caller's key, but is not a decision of bandit "
                f"{bandit}: restore a backup"
            )
        return row

    def _allowed(
        self, bandit: Bandit, labels: list[str] | None
    ) -> tuple[frozenset[str] | None, int | None]:
        """Return the allowed arms that there are, and the number of that set in the store."""
        if labels is None:
            return None, None
        allowed = frozenset(
            label for label in labels if label in bandit.numbers and label not in bandit.barred
        )
        if not allowed:
            raise Problem(409, "no label in `allowed` belongs to an arm")
        return allowed, self.tx.subset_number(msgspec.json.encode(sorted(allowed)))

    def _remember(self, number: int, bandit: Bandit, made: int) -> None:
        """Add a point to the history of a bandit, if it is due."""
        decisions = bandit.counted.decisions
        stride = _stride(decisions)
        if decisions // stride > (decisions - made) // stride:
            due = decisions // stride * stride
            # Points are removed only when the stride has grown: 1 removes none.
            kept = stride if stride > _stride(decisions - made) else 1
            self.tx.put_point(number, shown.point(bandit, due, self.now), kept)

    def _decision(self, id: str) -> Row:
        number = self.ids.number(id)
        row = None if number is None else self.row(number)
        if row is None or row.kind != Kind.DECIDED:
            raise Problem(404, f"there is no decision {id!r}: give an id that was returned")
        return row

    def _keyed(self, name: str, key: str, only: str | None) -> Row:
        bandit = self.bandits.named(self.tx, name) if only is None or name == only else None
        seq = None if bandit is None else self.tx.decision_with_key(bandit.id, key)
        if bandit is None or seq is None:
            raise Problem(404, f"no decision of {name!r} has the key {key!r}")
        return self._noted(bandit.id, seq)

    def decision(self, id: str, only: str | None = None) -> DecisionShown:
        """Return a decision and what became of it."""
        row = self._decision(id)
        owner = self._owner(row, only)
        answer = self.answer_to(row.seq)
        reward = None
        if answer is not None:
            status = STATUSES[answer.kind]
            reward = answer.value if answer.kind == Kind.REWARDED else None
        else:
            closed = not owner.deleted and row.seq <= self.loaded(owner.id).counted.closed
            status = "expired" if closed else "open"
        assert row.ref is not None
        key = self.tx.keys_of((row.seq, row.seq)).get(row.seq)
        return DecisionShown(
            id,
            owner.name,
            self.label(row.bandit, row.ref),
            shown_time(row.at),
            key,
            row.value,
            reward,
            status,
        )

    def _owner(self, decision: Row, only: str | None) -> BanditRow:
        """Return the bandit of a decision; `only` that of the caller's key."""
        owner = self.bandits.row(self.tx, decision.bandit)
        if owner is None or (only is not None and owner.name != only):
            raise Problem(404, f"there is no decision {self.ids.name(decision.seq)!r}")
        return owner

    def reward(self, id: str, value: float, only: str | None = None) -> Outcome:
        """Take in the reward of a decision."""
        decision = self.recent.get(id)
        if decision is not None:
            return self._reward(decision, value, only, is_open=True)
        return self._reward(self._decision(id), value, only)

    def _reward(
        self, decision: Row, value: float, only: str | None, is_open: bool = False
    ) -> Outcome:
        owner = self._owner(decision, only)
        if owner.deleted:
            raise Problem(410, f"the bandit {owner.name!r} of this decision was deleted")
        bandit = self.loaded(owner.id)
        value += 0.0  # SQLite stores -0.0 as 0.0
        try:
            unit_reward(value, bandit.config.rescale)
        except RewardError as error:
            raise Problem(422, str(error)) from None
        answer = None if is_open else self.answer_to(decision.seq)
        if answer is not None:
            return _again(answer, value)
        if decision.seq <= bandit.counted.closed:
            bandit.late()
            self.write_answer(Kind.LATE, owner.id, decision.seq, value=value)
            return Outcome("expired", "the window of this decision has ended")
        receipt = bandit.reward(decision.mark, value, self.now - decision.at)
        mark = int(receipt is Receipt.CREDITED)
        self.write_answer(Kind.REWARDED, owner.id, decision.seq, mark, value)
        return Outcome(str(receipt))

    def rewards(self, given: Rewards, only: str | None = None) -> Outcomes:
        """Take in rewards of several decisions; one that is refused does not stop the others."""
        outcomes = []
        for each in given.rewards:
            try:
                if each.id is not None and each.bandit is None and each.key is None:
                    outcomes.append(self.reward(each.id, each.reward, only))
                    continue
                if each.id is None and each.bandit is not None and each.key is not None:
                    decision = self._keyed(each.bandit, each.key, only)
                else:
                    raise Problem(422, "name the decision by `id`, or by `bandit` and `key`")
                outcomes.append(self._reward(decision, each.reward, only))
            except Problem as problem:
                outcomes.append(Outcome(BECAME.get(problem.status, "invalid"), problem.detail))
        return Outcomes(outcomes)

    def drop(self, id: str, only: str | None = None) -> Outcome:
        """Write off a decision."""
        decision = self._decision(id)
        owner = self._owner(decision, only)
        if owner.deleted:
            raise Problem(410, f"the bandit {owner.name!r} of this decision was deleted")
        bandit = self.loaded(owner.id)
        answer = self.answer_to(decision.seq)
        if answer is not None and answer.kind == Kind.DROPPED:
            return Outcome("duplicate")
        if answer is not None and answer.kind == Kind.REWARDED:
            raise Problem(409, "this decision has a reward already")
        if decision.seq <= bandit.counted.closed:
            return Outcome("expired")
        receipt = bandit.drop(decision.mark)
        self.write_answer(Kind.DROPPED, owner.id, decision.seq)
        return Outcome(str(receipt))


def _again(answer: Row, value: float) -> Outcome:
    """Return what becomes of another reward for a decision that was answered."""
    if answer.kind == Kind.DROPPED:
        raise Problem(410, "this decision was dropped before its reward came")
    if answer.kind == Kind.LATE:
        return Outcome("expired", "the window of this decision has ended")
    if answer.value != value:
        raise Problem(
            409, f"this decision has the reward {answer.value:g} already: the first one counts"
        )
    return Outcome("duplicate")


def _stride(decisions: int) -> int:
    """Return how many decisions lie between two points of a history."""
    return max(LEAST_STRIDE, 1 << (decisions // MOST_POINTS).bit_length())
