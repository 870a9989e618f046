"""What can be asked of the service, each request within a transaction of the store.

A `Desk` belongs to one thread. It is handed requests in batches: `batch` begins a transaction, the
methods of the `Session` that it gives handle requests one after the other, and when the block ends
everything is on disk. A request that cannot be granted raises `Problem` before it changes anything,
so that it does not disturb the others of its batch. If the transaction fails, the bandits in memory
are forgotten, and loaded again from the store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from handful.core.tickets import Receipt
from handful.errors import (
    DamagedStoreError,
    ExhaustedError,
    HandfulError,
    RewardError,
    StoreError,
)
from handful.policies import POLICIES
from handful.policies.settings import unit_reward
from handful.service import shown
from handful.service.bandit import Bandit, Change, Choice, Config
from handful.service.bandits import Bandits, StoreLookUp
from handful.service.bodies import (
    ArmList,
    ArmsAdded,
    ArmsRemoved,
    BanditChange,
    BanditList,
    BanditListed,
    BanditShown,
    DecisionMade,
    Decisions,
    DecisionShown,
    History,
    NewBandit,
    NewDecisions,
    Outcome,
    Outcomes,
    Rewards,
    shown_time,
)
from handful.service.clock import Clock, going_on, steady_clock
from handful.service.ids import Ids
from handful.service.problems import Problem
from handful.storage.contract import Storage, Transaction
from handful.storage.rows import ANSWERS, STATUSES, Answer, BanditRow, Kind, Row

MOST_DUE = 1000
"""Rows whose windows are looked at in one transaction."""
ANSWERS_KEPT = 24 * 3600 * 1000
"""Milliseconds for which an `Idempotency-Key` is remembered."""
FORGET_EVERY = 60 * 1000
"""Milliseconds between two looks for those that need not be remembered any more."""
MOST_POINTS = 256
"""Points of a history."""
LEAST_STRIDE = 4
"""Decisions between two points."""

T = TypeVar("T")


class Desk:
    """Requests to one store."""

    def __init__(self, storage: Storage, clock: Clock | None = None) -> None:
        self.storage = storage
        self.bandits = Bandits()
        self.ids = Ids(storage.identity())
        self.forget_at = 0
        self.changed: set[int] = set()
        """Bandits that have changed since somebody looked: for the live page."""
        with storage.begin() as tx:
            self.clock = going_on(clock or steady_clock(), tx.last()[1])
            self.bandits.start(tx)
            self.windows = _windows(tx)
            """The windows in use, and up to which row they were looked at."""

    @contextmanager
    def batch(self) -> Iterator[Session]:
        """Begin a transaction; it is on disk when the block ends."""
        session = self.begin()
        try:
            yield session
            session.finish()
            session.tx.commit()
        except BaseException:
            self.undo(session)
            raise
        self.done(session)

    def begin(self) -> Session:
        """Begin a transaction. It must be ended by `done` or `undo`."""
        return Session(self, self.storage.begin())

    def done(self, session: Session) -> None:
        """Note that a transaction is on disk."""
        self.changed |= session.touched

    def undo(self, session: Session) -> None:
        """Undo a transaction, and forget the bandits in memory, which are ahead of the store."""
        session.tx.rollback()
        self.bandits.forget()
        self.windows = session.windows_before

    def sweep(self) -> bool:
        """End the windows that have passed; return whether there may be more to do at once."""
        with self.batch() as session:
            return session.sweep()

    def close(self) -> None:
        """Save every bandit, so that the next start need not read the log."""
        try:
            with self.batch() as session:
                self.bandits.save_all(session.look_up)
        finally:
            self.storage.close()


class Session:
    """The requests of one transaction."""

    def __init__(self, desk: Desk, tx: Transaction) -> None:
        self.desk = desk
        self.tx = tx
        self.look_up = StoreLookUp(tx)
        self.touched: set[int] = set()
        self.windows_before = dict(desk.windows)
        self.seq, at = tx.last()
        self.now = max(at, desk.clock())
        self._rows: dict[int, Row] = {}
        self._answers: dict[int, int] = {}

    # Rows of the log.

    def _write(
        self,
        kind: Kind,
        bandit: int,
        ref: int | None = None,
        mark: int | None = None,
        value: float | None = None,
        subset: int | None = None,
        note: bytes | None = None,
    ) -> int:
        """Write a row and return its number. It reaches the store with others, by `flush`."""
        self.seq += 1
        seq = self.seq
        self._rows[seq] = Row(seq, self.now, bandit, int(kind), ref, mark, value, subset, note)
        self.touched.add(bandit)
        self.desk.bandits.changed(bandit, seq)
        return seq

    def flush(self) -> None:
        """Hand everything to the store."""
        if self._rows:
            self.tx.append(self._rows.values())
            self._rows = {}
        for decision, seq in self._answers.items():
            self.tx.set_answer(decision, seq)
        self._answers = {}

    def finish(self) -> None:
        """End the transaction: everything is handed to the store, and old snapshots are renewed.

        A transaction that only reads stays one, so that it works on a full disk.
        """
        self.flush()
        if self.touched:
            self.desk.bandits.save_some(self.look_up)

    @property
    def has_written(self) -> bool:
        """Whether there is anything to put on disk."""
        return self.tx.has_written

    def _row(self, seq: int) -> Row | None:
        return self._rows.get(seq) or self.tx.row(seq)

    def _answer_to(self, decision: int) -> Row | None:
        seq = self._answers.get(decision) or self.tx.answer_to(decision)
        row = None if seq is None else self._row(seq)
        if row is not None and (row.ref != decision or row.kind not in ANSWERS):
            raise DamagedStoreError(
                f"row {row.seq} is noted as the answer to decision {decision}, and is none: "
                "restore a backup"
            )
        return row

    # Bandits.

    def _named(self, name: str) -> tuple[BanditRow, Bandit]:
        row = self.desk.bandits.named(self.tx, name)
        if row is None:
            raise Problem(404, f"there is no bandit {name!r}: create it with POST /v1/bandits")
        return row, self._loaded(row.id)

    def _loaded(self, number: int) -> Bandit:
        if number not in self.desk.bandits:
            self.flush()
        try:
            bandit = self.desk.bandits.get(self.look_up, number)
        except DamagedStoreError as error:
            # Nothing has changed: the other requests of the transaction, and bandits, go on.
            raise Problem(503, f"this bandit cannot be loaded: {error}") from error
        window = bandit.config.window
        if window is not None and window not in self.desk.windows:
            raise DamagedStoreError(
                f"nobody watches the window of {bandit.config.name!r}: restore a backup"
            )
        return bandit

    def create(self, given: NewBandit) -> BanditShown:
        """Create a bandit."""
        if self.desk.bandits.named(self.tx, given.name) is not None:
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
        bandit = _granted(lambda: Bandit(config, given.arms))
        number = self.tx.number("bandits") + 1
        if self.tx.bandit(number) is not None:
            raise DamagedStoreError(f"bandit {number} is there before it is made: restore a backup")
        self.tx.set_number("bandits", number)
        note = msgspec.json.encode((config, given.arms))
        seq = self._write(Kind.CREATED, number, note=note)
        self.desk.bandits.put_row(self.tx, BanditRow(number, given.name, seq))
        self.tx.put_labels(number, 0, given.arms)
        self.flush()  # another bandit may be saved in place of this one, with all its rows
        self.desk.bandits.put(self.look_up, number, bandit)
        self._watch(config.window, seq)
        return self._describe(number, bandit, self.now)

    def _watch(self, window: float | None, after: int) -> None:
        """See to it that decisions after a row are looked at when a window has passed."""
        if window is None:
            return
        windows = self.desk.windows
        windows[window] = min(windows.get(window, after), after)
        self.tx.set_number(_window_name(window), windows[window])

    def describe(self, name: str) -> BanditShown:
        """Return a bandit and what it knows."""
        row, bandit = self._named(name)
        created = self._row(row.created)
        return self._describe(row.id, bandit, created.at if created else 0)

    def _describe(self, number: int, bandit: Bandit, created_at: int) -> BanditShown:
        return shown.bandit(bandit, shown_time(created_at), self.seq)

    def listed(self, after: str, limit: int) -> BanditList:
        """Return bandits by name."""
        rows = self.tx.bandits(after, limit + 1)
        found = [shown.listed(self._loaded(row.id)) for row in rows[:limit]]
        return BanditList(found, rows[limit - 1].name if len(rows) > limit else None)

    def listed_one(self, name: str) -> BanditListed | None:
        """Return one bandit as a list shows it."""
        row = self.desk.bandits.named(self.tx, name)
        return None if row is None else shown.listed(self._loaded(row.id))

    def change(self, name: str, given: BanditChange) -> BanditShown:
        """Change settings of a bandit."""
        row, bandit = self._named(name)
        config = bandit.config
        change = Change(
            window=config.window if given.window is msgspec.UNSET else given.window,
            default=config.default if given.default is msgspec.UNSET else given.default,
            explore=config.explore if given.explore is msgspec.UNSET else given.explore,
        )
        _granted(lambda: bandit.check_change(change))
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
        self._write(Kind.CHANGED, row.id, note=msgspec.json.encode(change))
        if change.window != config.window:
            self._watch(change.window, max(row.created, bandit.counted.closed))
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
            after = max(bandit.counted.closed, min(self.desk.windows.get(config.window, 0), upto))
        bandit.close(upto, self.look_up.due(after, upto).get(number, []))
        self._write(Kind.CLOSED, number, upto, after)

    def delete(self, name: str) -> None:
        """Delete a bandit; its rows stay in the log."""
        row, _ = self._named(name)
        self._write(Kind.DELETED, row.id)
        self.desk.bandits.put_row(self.tx, row._replace(deleted=True))
        self.desk.bandits.gone(row.id)

    # Arms.

    def arms(self, name: str, after: int, limit: int) -> ArmList:
        """Return the labels of arms, in the order of adding."""
        _, bandit = self._named(name)
        found = [
            (number, label)
            for label, number in bandit.numbers.items()
            if number >= after and label not in bandit.barred
        ]
        found.sort()
        more = found[limit][0] if len(found) > limit else None
        return ArmList([label for _, label in found[:limit]], more)

    def add_arms(self, name: str, labels: list[str]) -> ArmsAdded:
        """Add arms to a bandit."""
        row, bandit = self._named(name)
        known = next((label for label in labels if label in bandit.numbers), None)
        if known is not None:
            raise Problem(409, f"{known!r} is an arm of {name!r} already: add other labels")
        if len(set(labels)) < len(labels):
            raise Problem(422, "a label is given twice: give each arm once")
        first = bandit.added
        _granted(lambda: bandit.add(labels))
        self._write(Kind.ADDED, row.id, first, note=msgspec.json.encode(labels))
        self.tx.put_labels(row.id, first, labels)
        return ArmsAdded(shown.n_arms(bandit), len(labels))

    def remove_arms(self, name: str, labels: list[str]) -> ArmsRemoved:
        """Remove arms from a bandit."""
        row, bandit = self._named(name)
        if len(set(labels)) < len(labels):
            raise Problem(422, "a label is given twice: give each arm once")
        missing = next(
            (label for label in labels if label not in bandit.numbers or label in bandit.barred),
            None,
        )
        if missing is not None:
            raise Problem(404, f"{missing!r} is not an arm of {name!r}")
        _granted(lambda: bandit.remove(labels))
        self._write(Kind.REMOVED, row.id, note=msgspec.json.encode(labels))
        return ArmsRemoved(shown.n_arms(bandit), len(labels))

    # Decisions and rewards.

    def decide(self, name: str, given: NewDecisions) -> Decisions:
        """Make decisions."""
        row, bandit = self._named(name)
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
            seq = self._write(
                Kind.DECIDED, row.id, choice.arm, choice.ticket, choice.probability, subset
            )
            if key is not None:
                self.tx.set_key(row.id, key, seq)
            made.append(
                DecisionMade(self.desk.ids.name(seq), choice.label, key, choice.probability)
            )
        self._remember(row.id, bandit, given.n)
        return Decisions(made, shown.recommended(bandit))

    def _choices(
        self, number: int, bandit: Bandit, allowed: frozenset[str] | None, n: int
    ) -> list[Choice]:
        """Return all choices of a request, or none of them."""
        choices = []
        try:
            for _ in range(n):
                choices.append(_granted(lambda: bandit.decide(allowed)))
        except BaseException:
            if choices or bandit.config.explore > 0.0:
                self.desk.bandits.discard(number)
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
                label = self._label(bandit, row.ref)
                made.append(DecisionMade(self.desk.ids.name(row.seq), label, key, row.value))
        return made

    def _noted(self, bandit: int, seq: int) -> Row:
        """Return the decision that is noted for a caller's key."""
        row = self._row(seq)
        if row is None or row.kind != Kind.DECIDED or row.bandit != bandit:
            raise DamagedStoreError(
                f"row {seq} is noted for a caller's key, and is no decision of bandit {bandit}: "
                "restore a backup"
            )
        return row

    def _label(self, bandit: int, arm: int) -> str:
        return self.tx.labels(bandit, [arm])[arm]

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
            raise Problem(409, "none of the labels in `allowed` is that of an arm")
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
        number = self.desk.ids.number(id)
        row = None if number is None else self._row(number)
        if row is None or row.kind != Kind.DECIDED:
            raise Problem(404, f"there is no decision {id!r}: give an id that was returned")
        return row

    def _keyed(self, name: str, key: str, only: str | None) -> Row:
        bandit = self.desk.bandits.named(self.tx, name) if only is None or name == only else None
        seq = None if bandit is None else self.tx.decision_with_key(bandit.id, key)
        if bandit is None or seq is None:
            raise Problem(404, f"no decision of {name!r} has the key {key!r}")
        return self._noted(bandit.id, seq)

    def decision(self, id: str, only: str | None = None) -> DecisionShown:
        """Return a decision and what became of it."""
        row = self._decision(id)
        owner = self._owner(row, only)
        answer = self._answer_to(row.seq)
        reward = None
        if answer is not None:
            status = STATUSES[answer.kind]
            reward = answer.value if answer.kind == Kind.REWARDED else None
        else:
            closed = not owner.deleted and row.seq <= self._loaded(owner.id).counted.closed
            status = "expired" if closed else "open"
        assert row.ref is not None
        key = self.tx.keys_of((row.seq, row.seq)).get(row.seq)
        return DecisionShown(
            id,
            owner.name,
            self._label(row.bandit, row.ref),
            shown_time(row.at),
            key,
            row.value,
            reward,
            status,
        )

    def _owner(self, decision: Row, only: str | None) -> BanditRow:
        """Return the bandit of a decision; `only` that of the caller's key."""
        owner = self.desk.bandits.row(self.tx, decision.bandit)
        if owner is None or (only is not None and owner.name != only):
            raise Problem(404, f"there is no decision {self.desk.ids.name(decision.seq)!r}")
        return owner

    def reward(self, id: str, value: float, only: str | None = None) -> Outcome:
        """Take in the reward of a decision."""
        return self._reward(self._decision(id), value, only)

    def _reward(self, decision: Row, value: float, only: str | None) -> Outcome:
        owner = self._owner(decision, only)
        if owner.deleted:
            raise Problem(410, f"the bandit {owner.name!r} of this decision was deleted")
        bandit = self._loaded(owner.id)
        value += 0.0  # SQLite stores -0.0 as 0.0
        try:
            unit_reward(value, bandit.config.rescale)
        except RewardError as error:
            raise Problem(422, str(error)) from None
        answer = self._answer_to(decision.seq)
        if answer is not None:
            return _again(answer, value)
        if decision.seq <= bandit.counted.closed:
            bandit.late()
            self._answers[decision.seq] = self._write(
                Kind.LATE, owner.id, decision.seq, value=value
            )
            return Outcome("expired", "the window of this decision has ended")
        receipt = bandit.reward(decision.mark, value, self.now - decision.at)
        mark = int(receipt is Receipt.CREDITED)
        seq = self._write(Kind.REWARDED, owner.id, decision.seq, mark, value)
        self._answers[decision.seq] = seq
        return Outcome(str(receipt))

    def rewards(self, given: Rewards, only: str | None = None) -> Outcomes:
        """Take in rewards of several decisions; one that is refused does not stop the others."""
        outcomes = []
        for each in given.rewards:
            try:
                if each.id is not None and each.bandit is None and each.key is None:
                    decision = self._decision(each.id)
                elif each.id is None and each.bandit is not None and each.key is not None:
                    decision = self._keyed(each.bandit, each.key, only)
                else:
                    raise Problem(422, "name the decision by `id`, or by `bandit` and `key`")
                outcomes.append(self._reward(decision, each.reward, only))
            except Problem as problem:
                became = {404: "unknown", 409: "conflict", 410: "expired"}
                outcomes.append(Outcome(became.get(problem.status, "invalid"), problem.detail))
        return Outcomes(outcomes)

    def drop(self, id: str, only: str | None = None) -> Outcome:
        """Write off a decision."""
        decision = self._decision(id)
        owner = self._owner(decision, only)
        if owner.deleted:
            raise Problem(410, f"the bandit {owner.name!r} of this decision was deleted")
        bandit = self._loaded(owner.id)
        answer = self._answer_to(decision.seq)
        if answer is not None and answer.kind == Kind.DROPPED:
            return Outcome("duplicate")
        if answer is not None and answer.kind == Kind.REWARDED:
            raise Problem(409, "this decision has a reward already")
        if decision.seq <= bandit.counted.closed:
            return Outcome("expired")
        receipt = bandit.drop(decision.mark)
        self._answers[decision.seq] = self._write(Kind.DROPPED, owner.id, decision.seq)
        return Outcome(str(receipt))

    def history(self, name: str) -> History:
        """Return a bandit over time."""
        row, bandit = self._named(name)
        points = [*self.tx.points(row.id), shown.point(bandit, bandit.counted.decisions, self.now)]
        return History([shown.past(point, bandit, self._labels_of(row.id)) for point in points])

    def _labels_of(self, bandit: int) -> Callable[[int], str]:
        known: dict[int, str] = {}

        def label(number: int) -> str:
            if number not in known:
                known[number] = self._label(bandit, number)
            return known[number]

        return label

    # Windows.

    def sweep(self) -> bool:
        """End the windows that have passed; return whether there may be more to do at once."""
        more = False
        self.flush()
        for window, after in list(self.desk.windows.items()):
            before = self.now - int(window * 1000.0)
            upto = self.tx.written_by(before, after, MOST_DUE)
            if upto == after:
                continue
            more = more or upto == after + MOST_DUE
            due = self.look_up.due(after, upto)
            for number, decisions in due.items():
                owner = self.desk.bandits.row(self.tx, number)
                if owner is None or owner.deleted:
                    continue
                try:
                    bandit = self._loaded(number)
                except Problem:
                    continue  # it is damaged; the windows of others end all the same
                closed = bandit.counted.closed
                if bandit.config.window == window and decisions[-1].decision > closed:
                    bandit.close(upto, decisions)
                    self._write(Kind.CLOSED, number, upto, after)
            self.desk.windows[window] = upto
            self.tx.set_number(_window_name(window), upto)
        return more

    # Requests that may be repeated.

    def once(
        self,
        scope: str,
        key: str,
        digest: bytes,
        handle: Callable[[], tuple[int, bytes]],
        secret: bool = False,
    ) -> tuple[int, bytes, bool]:
        """Handle a request with an `Idempotency-Key`, or return what was answered before.

        A `secret` answer is not stored, and is not given again.
        """
        if self.now >= self.desk.forget_at:
            self.tx.forget_answered(self.now - ANSWERS_KEPT)
            self.desk.forget_at = self.now + FORGET_EVERY
        before = self.tx.answered(scope, key)
        if before is not None:
            if before.digest != digest:
                raise Problem(
                    422, "this Idempotency-Key was used for another request: take a new one"
                )
            if secret:
                raise Problem(
                    409,
                    "this request was answered before, with a secret that is shown once: remove "
                    "what was made, and make another with a new Idempotency-Key",
                )
            return before.status, before.body, True
        status, body = handle()
        stored = Answer(digest, status, b"" if secret else body)
        self.tx.put_answered(scope, key, stored, self.now)
        return status, body, False


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


def _granted(work: Callable[[], T]) -> T:
    """Do what was asked; what the library refuses is a problem of the request."""
    try:
        return work()
    except StoreError:
        raise
    except ExhaustedError as error:
        raise Problem(409, str(error)) from None
    except HandfulError as error:
        raise Problem(422, str(error)) from None


def _stride(decisions: int) -> int:
    """Return how many decisions lie between two points of a history."""
    return max(LEAST_STRIDE, 1 << (decisions // MOST_POINTS).bit_length())


def _windows(tx: Transaction) -> dict[float, int]:
    return {
        float(name.removeprefix("window ")): value for name, value in tx.numbers("window ").items()
    }


def _window_name(window: float) -> str:
    return f"window {window!r}"
