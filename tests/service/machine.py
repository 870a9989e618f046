"""A state machine that does to a desk what callers do, beside a model of plain dictionaries.

The model knows nothing of policies: which arm is chosen is taken from the answer, and everything
else follows. After each restart, the bytes of every bandit must be those of before.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from handful.service import bandits
from handful.service import bodies as b
from handful.service.desk import Session
from handful.service.problems import Problem
from tests.service.world import World

NAMES = ("one", "two", "three")
KINDS = (
    ("race", 2, False), ("ucb-m", 2, False), ("ts-m", 3, False), ("ucb1", None, False),
    ("random", None, False), ("imed-m", 3, False), ("race", 2, True), ("qucb-m", 2, True),
)  # fmt: skip
REWARDS = (0.0, 0.25, 1.0)
WINDOWS = (1.0, 5.0, None)
picks = st.integers(0, 10**6)


@dataclass
class Decision:
    """What the model knows of a decision."""

    owner: int
    arm: str
    at: int
    key: str | None
    status: str = "open"
    reward: float | None = None
    late: bool = False
    """Whether a reward came after the window; it is counted once, however often it is sent."""


@dataclass
class Model:
    """What the model knows of a bandit."""

    number: int
    open: bool
    explore: float
    window: float | None
    default: float | None
    arms: set[str]
    removed: set[str] = field(default_factory=set)
    deleted: bool = False


class Machine(RuleBasedStateMachine):
    """Requests to a desk on a store in memory."""

    on_disk = False

    def __init__(self) -> None:
        super().__init__()
        self._before = bandits.MOST_ROWS, bandits.MOST_LIVE
        bandits.MOST_ROWS, bandits.MOST_LIVE = 7, 2  # snapshots and evictions all the time
        self._folder = tempfile.TemporaryDirectory()
        self.world = self.new_world()
        self.names: dict[str, Model] = {}
        self.all: dict[int, Model] = {}
        self.decisions: dict[str, Decision] = {}
        self.labels = 0
        self.keys = 0

    def new_world(self) -> World:
        """Return a world with an empty store."""
        return World(Path(self._folder.name) / "store.db" if self.on_disk else None)

    def teardown(self) -> None:
        """Close the store."""
        bandits.MOST_ROWS, bandits.MOST_LIVE = self._before
        self.world.close()
        self._folder.cleanup()

    def _model(self, pick: int) -> tuple[str, Model]:
        name = sorted(self.names)[pick % len(self.names)]
        return name, self.names[name]

    def _decision(self, pick: int) -> tuple[str, Decision]:
        id = list(self.decisions)[pick % len(self.decisions)]
        return id, self.decisions[id]

    def _new_labels(self, count: int) -> list[str]:
        self.labels += count
        return [f"arm {number}" for number in range(self.labels - count, self.labels)]

    def _of(self, model: Model) -> list[Decision]:
        return [each for each in self.decisions.values() if each.owner == model.number]

    # Bandits.

    @initialize(
        kind=st.sampled_from(KINDS),
        explore=st.sampled_from((0.0, 0.5)),
        default=st.sampled_from((None, 0.0)),
    )
    def begin(
        self, kind: tuple[str, int | None, bool], explore: float, default: float | None
    ) -> None:
        """Begin with a bandit that has a window, and with decisions of it."""
        self.create(0, kind, explore, 1.0, default, 6)
        self.decide(0, 2, None, False)

    @rule(
        pick=picks,
        kind=st.sampled_from(KINDS),
        explore=st.sampled_from((0.0, 0.5)),
        window=st.sampled_from(WINDOWS),
        default=st.sampled_from((None, 0.0)),
        count=st.integers(3, 6),
    )
    def create(
        self,
        pick: int,
        kind: tuple[str, int | None, bool],
        explore: float,
        window: float | None,
        default: float | None,
        count: int,
    ) -> None:
        """Create a bandit; a name can be taken only once."""
        name = NAMES[pick % len(NAMES)]
        policy, memory, is_open = kind
        arms = self._new_labels(count)
        given: dict[str, Any] = {
            "policy": policy,
            "memory": memory,
            "arms": arms,
            "open": is_open,
            "explore": 0.0 if is_open else explore,
            "window": window,
            "default": default if window else None,
            "seed": pick,
        }
        if name in self.names:
            body = b.NewBandit(name=name, **given)
            assert self.world.refused(lambda session: session.create(body)) == 409
            return
        self.world.create(name, **given)
        number = len(self.all) + 1
        self.names[name] = self.all[number] = Model(
            number, is_open, given["explore"], window, given["default"], set(arms)
        )

    @precondition(lambda self: self.names)
    @rule(
        pick=picks,
        window=st.sampled_from(WINDOWS),
        default=st.sampled_from((None, 0.0, 1.0)),
        explore=st.sampled_from((0.0, 0.3)),
    )
    def change(
        self, pick: int, window: float | None, default: float | None, explore: float
    ) -> None:
        """Change settings, unless they do not fit."""
        name, model = self._model(pick)
        body = b.BanditChange(window=window, default=default, explore=explore)
        status = self.world.refused(lambda session: session.change(name, body))
        waiting = any(each.status == "open" for each in self._of(model))
        if (default is not None and window is None) or (model.open and explore):
            assert status == 422
        elif (default is None) != (model.default is None) and waiting:
            assert status == 409
        else:
            assert status == 0
            model.window, model.default, model.explore = window, default, explore

    @precondition(lambda self: self.names)
    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        """Delete a bandit; its name is free again. Not often: all its decisions go with it."""
        if pick % 3:
            return
        name, model = self._model(pick)
        self.world.do(lambda session: session.delete(name))
        del self.names[name]
        model.deleted = True
        assert self.world.refused(lambda session: session.describe(name)) == 404

    # Arms.

    @precondition(lambda self: self.names)
    @rule(pick=picks, count=st.integers(1, 3), again=st.booleans())
    def add(self, pick: int, count: int, again: bool) -> None:
        """Add arms, new ones or one that was removed."""
        name, model = self._model(pick)
        labels = self._new_labels(count)
        if again and model.removed:
            labels = [sorted(model.removed)[pick % len(model.removed)]]
            if model.open:
                assert self.world.refused(lambda session: session.add_arms(name, labels)) == 409
                return
        added = self.world.do(lambda session: session.add_arms(name, labels))
        model.arms |= set(labels)
        model.removed -= set(labels)
        assert added == b.ArmsAdded(len(model.arms), len(labels))
        assert self.world.refused(lambda session: session.add_arms(name, labels)) == 409

    @precondition(lambda self: self.names)
    @rule(pick=picks, count=st.integers(1, 9))
    def remove(self, pick: int, count: int) -> None:
        """Remove arms, though never all."""
        name, model = self._model(pick)
        labels = sorted(model.arms)[pick % len(model.arms) :][:count]
        status = self.world.refused(lambda session: session.remove_arms(name, labels))
        if set(labels) == model.arms:
            assert status == 422
        if status:
            assert status == 422
            assert model.open or set(labels) == model.arms
            return
        model.arms -= set(labels)
        model.removed |= set(labels)
        assert self.world.refused(lambda session: session.remove_arms(name, labels)) == 404
        self.decide(pick, 4, None, False)

    # Decisions and rewards.

    @precondition(lambda self: self.names)
    @rule(
        pick=picks,
        n=st.integers(1, 4),
        some=st.one_of(st.none(), st.integers(1, 3)),
        keyed=st.booleans(),
    )
    def decide(self, pick: int, n: int, some: int | None, keyed: bool) -> None:
        """Make decisions; the same keys again give the same ones."""
        name, model = self._model(pick)
        allowed = None if some is None else sorted(model.arms)[pick % len(model.arms) :][:some]
        keys = None
        if keyed:
            self.keys += n
            keys = [f"key {number}" for number in range(self.keys - n, self.keys)]
        body = b.NewDecisions(n=n, allowed=allowed, keys=keys)
        made = self.world.tried(lambda session: session.decide(name, body))
        if isinstance(made, Problem):
            assert model.open
            assert made.status in (409, 422)
            return
        among = model.arms if allowed is None else set(allowed)
        assert len(made.decisions) == n
        assert made.recommended is None or made.recommended in model.arms
        own: list[str] | list[None] = keys or [None] * n
        for each, key in zip(made.decisions, own, strict=True):
            assert each.arm in among
            assert each.key == key
            assert each.id not in self.decisions
            if model.explore > 0.0:
                share = model.explore / len(among)
                assert each.probability in (share, share + (1.0 - model.explore))
            at = self.world.clock.now
            self.decisions[each.id] = Decision(model.number, each.arm, at, key)
        if keys:
            again = self.world.do(lambda session: session.decide(name, body))
            assert again.decisions == made.decisions

    def _expected(self, id: str, value: float) -> str:
        """Return the outcome of a reward, and take it into the model."""
        decision = self.decisions.get(id)
        if decision is None:
            return "unknown"
        model = self.all[decision.owner]
        if model.deleted or decision.status == "dropped":
            return "expired"
        if decision.status == "rewarded":
            return "duplicate" if decision.reward == value else "conflict"
        if decision.status == "expired":
            decision.late = True
            return "expired"
        decision.status, decision.reward = "rewarded", value
        return "credited"

    def _agrees(self, outcome: b.Outcome, expected: str) -> None:
        allowed = {"credited", "forgotten"} if expected == "credited" else {expected}
        assert outcome.outcome in allowed

    @precondition(lambda self: self.decisions)
    @rule(pick=picks, value=st.sampled_from(REWARDS))
    def reward(self, pick: int, value: float) -> None:
        """Report a reward: for the first time, again, another one, late."""
        id, _ = self._decision(pick)
        expected = self._expected(id, value)
        outcome = self.world.tried(lambda session: session.reward(id, value))
        if isinstance(outcome, Problem):
            assert outcome.status == {"conflict": 409, "expired": 410}[expected]
        else:
            self._agrees(outcome, expected)

    @precondition(lambda self: self._written_off())
    @rule(pick=picks)
    def reward_late(self, pick: int) -> None:
        """Report a reward after the window of its decision."""
        written_off = self._written_off()
        id = written_off[pick % len(written_off)]
        self._expected(id, 1.0)
        assert self.world.do(lambda session: session.reward(id, 1.0)).outcome == "expired"

    def _written_off(self) -> list[str]:
        return [
            id
            for id, each in self.decisions.items()
            if each.status == "expired" and not self.all[each.owner].deleted
        ]

    @rule(picked=st.lists(st.tuples(picks, st.sampled_from(REWARDS)), min_size=1, max_size=5))
    def reward_many(self, picked: list[tuple[int, float]]) -> None:
        """Report several rewards in one request, by id or by the caller's own key."""
        given = []
        expected = []
        for pick, value in picked:
            if not self.decisions or pick % 7 == 0:
                given.append(b.RewardOf(id=f"{pick:x}", reward=value))
                expected.append("unknown")
                continue
            id, decision = self._decision(pick)
            model = self.all[decision.owner]
            name = next((name for name, each in self.names.items() if each is model), None)
            if decision.key is not None and name is not None:
                given.append(b.RewardOf(bandit=name, key=decision.key, reward=value))
            else:
                given.append(b.RewardOf(id=id, reward=value))
            expected.append(self._expected(id, value))
        outcomes = self.world.do(lambda session: session.rewards(b.Rewards(given))).outcomes
        for outcome, became in zip(outcomes, expected, strict=True):
            self._agrees(outcome, became)

    @precondition(lambda self: self.decisions)
    @rule(pick=picks)
    def drop(self, pick: int) -> None:
        """Say that a reward will never come."""
        id, decision = self._decision(pick)
        outcome = self.world.tried(lambda session: session.drop(id))
        if isinstance(outcome, Problem):
            gone = self.all[decision.owner].deleted
            assert outcome.status == (410 if gone else 409)
            assert gone or decision.status == "rewarded"
            return
        expected = {"open": "dropped", "dropped": "duplicate", "expired": "expired"}
        assert outcome.outcome == expected[decision.status]
        if decision.status == "open":
            decision.status = "dropped"

    # Time.

    @rule(seconds=st.sampled_from((6.0, 0.4, 1.0)), jump=st.booleans())
    def wait(self, seconds: float, jump: bool) -> None:
        """Let time pass, and the windows that have passed end; a clock set back changes nothing."""
        self.world.clock.wait(seconds)
        if jump:
            now = self.world.clock.now
            self.world.clock.wait(-1000.0 * seconds)
            self.world.desk.sweep()
            self.world.clock.now = now
        while self.world.desk.sweep():
            pass
        for decision in self.decisions.values():
            model = self.all[decision.owner]
            if model.deleted or model.window is None or decision.status != "open":
                continue
            if decision.at <= self.world.clock.now - int(1000 * model.window):
                decision.status = "expired"

    # The store.

    @rule(save=st.booleans())
    def fail(self, save: bool) -> None:
        """Undo a transaction in which much was done; perhaps save snapshots of all before."""
        if save:
            self.world.save()

        def work(session: Session) -> None:
            for name in self.names:
                decided = session.decide(name, b.NewDecisions())
                session.reward(decided.decisions[0].id, 1.0)
                session.add_arms(name, ["an arm that never was"])
            session.create(b.NewBandit(name="never", memory=2, arms=["a", "b"]))
            raise ZeroDivisionError

        before = self.world.bytes()
        with suppress(ZeroDivisionError, Problem):
            self.world.do(work)
        assert self.world.bytes() == before
        assert self.world.refused(lambda session: session.describe("never")) == 404

    @rule(clean=st.booleans(), busy=picks)
    def restart(self, clean: bool, busy: int) -> None:
        """Start again, after a stop or a crash: every bandit is what it was, byte for byte."""
        before = self.world.bytes()
        if clean:
            self.world.restart()
        else:
            self.world.crash()
        if self.names and busy % 2:
            # A bandit that is loaded and saved many times before others are asked for.
            spare = f"spare{busy}"
            self.world.create(spare)
            number = len(self.all) + 1
            self.all[number] = Model(number, False, 0.0, None, None, {"a", "b", "c"}, deleted=True)
            for _ in range(10):
                self.world.decide(spare)
            self.world.do(lambda session: session.delete(spare))
        assert self.world.bytes() == before

    @invariant()
    def counters(self) -> None:
        """Every bandit counts what the model counts."""
        for name, model in self.names.items():
            shown = self.world.shown(name)
            mine = self._of(model)
            count = {s: sum(each.status == s for each in mine) for s in
                     ("open", "rewarded", "dropped", "expired")}  # fmt: skip
            assert (shown.decisions, shown.waiting) == (len(mine), count["open"])
            assert (shown.rewards, shown.dropped) == (count["rewarded"], count["dropped"])
            assert (shown.expired, shown.late) == (
                count["expired"], sum(each.late for each in mine)
            )  # fmt: skip
            assert shown.arms == len(model.arms)
            settings = shown.window, shown.default, shown.explore
            assert settings == (model.window, model.default, model.explore)
            assert shown.recommended is None or shown.recommended in model.arms

    @precondition(lambda self: self.decisions)
    @rule(pick=picks)
    def look(self, pick: int) -> None:
        """Look at a decision, at arms and at a history."""
        id, decision = self._decision(pick)
        found = self.world.do(lambda session: session.decision(id))
        assert (found.arm, found.key, found.reward) == (
            decision.arm, decision.key, decision.reward
        )  # fmt: skip
        if not self.all[decision.owner].deleted:
            assert found.status == decision.status

        if not self.names:
            return
        name, model = self._model(pick)
        listed = self.world.do(lambda session: session.arms(name, 0, 1000))
        assert set(listed.arms) == model.arms
        assert len(listed.arms) == len(model.arms)
        points = self.world.do(lambda session: session.history(name)).points
        assert points[-1].decisions == len(self._of(model))


class DiskMachine(Machine):
    """Requests to a desk on a store in a file."""

    on_disk = True
