"""Several desks on one store: what one of them does, the others know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from handful.errors import ExhaustedError
from handful.service import bodies as b
from handful.service import shared_bandits
from handful.service.about import About, about
from handful.service.app import Service
from handful.service.auth import add_key, new_key, remove_key
from handful.service.bandit import Bandit, Choice
from handful.service.desk import Session
from handful.service.doctor import examine
from handful.service.problems import Problem
from handful.service.shared_bandits import SharedBandits
from handful.service.shared_session import SharedSession
from handful.storage.postgres.transaction import PostgresTransaction
from handful.storage.rows import Kind, Row, Snapshot
from handful.storage.shared import BusyError
from tests.service.shared_world import SharedMachine, SharedWorld
from tests.service.test_machine import run


@pytest.fixture
def world() -> Iterator[SharedWorld]:
    """Two desks on a new store."""
    made = SharedWorld()
    yield made
    made.close()


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bandits are saved all the time."""
    monkeypatch.setattr(shared_bandits, "SAVED_AFTER", 3)


@pytest.mark.usefixtures("often")
def test_two_desks_agree_with_a_model() -> None:
    run(SharedMachine, 4, 40)


@pytest.mark.usefixtures("often")
def test_long_two_desks_agree_with_a_model() -> None:
    run(SharedMachine, 150, 60)


Mistake = Callable[[pytest.MonkeyPatch], None]


def _nobody_catches_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SharedBandits, "_folded", lambda self, look_up, number, version, tail: True)


def _answers_are_remembered(patch: pytest.MonkeyPatch) -> None:
    def answer_to(self: PostgresTransaction, decision: int) -> int | None:
        return _known.setdefault((id(self._link), decision))

    _known: dict[tuple[int, int], int | None] = {}
    patch.setattr(PostgresTransaction, "answer_to", answer_to)


def _windows_never_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PostgresTransaction, "set_due", lambda *given, **named: None)


def _deleted_bandits_stay(patch: pytest.MonkeyPatch) -> None:
    fold = SharedBandits._fold

    def kept(self: Any, look_up: Any, number: int, bandit: Any, tail: Iterable[Any]) -> None:
        fold(self, look_up, number, bandit, [row for row in tail if row.kind != Kind.DELETED])

    patch.setattr(SharedBandits, "_fold", kept)


def _rollback_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SharedBandits, "forget", lambda self: None)


MISTAKES = (_nobody_catches_up, _answers_are_remembered, _windows_never_end, _deleted_bandits_stay,
            _rollback_is_forgotten)  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.__name__.strip("_"))
def test_long_a_mistake_is_noticed(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises(Exception):  # noqa: B017, PT011
        run(SharedMachine, 40, 40)


def test_a_bandit_that_another_server_deleted(world: SharedWorld) -> None:
    one, two = world.desks
    world.create()
    for desk in (one, two):
        with desk.batch() as session:
            made = session.decide("front", b.NewDecisions())
    with one.batch() as session:
        session.delete("front")
    with two.batch() as session:
        with pytest.raises(Problem) as refused:
            session.reward(made.decisions[0].id, 1.0)
        assert refused.value.status == 410
        with pytest.raises(Problem) as refused:
            session.decide("front", b.NewDecisions())
        assert refused.value.status == 404
        assert session.listed("", 10).bandits == []
        session.create(b.NewBandit(name="front", memory=2, arms=["x", "y"]))
    with one.batch() as session:
        assert session.describe("front").arms == 2


def test_what_is_held_elsewhere_is_put_off(world: SharedWorld) -> None:
    """Nothing of a request that is put off is done."""
    one, two = world.desks
    for name in ("a", "b"):
        world.create(name)
    with one.batch() as session:
        made = [session.decide(name, b.NewDecisions()).decisions[0].id for name in ("a", "b")]
    first = one.begin()
    first.decide("b", b.NewDecisions())
    with two.batch() as session:
        session.prepare([(About(("a",)), False, 0), (About(("b",)), False, 0)])
        session.decide("a", b.NewDecisions())
        with pytest.raises(BusyError):
            session.decide("b", b.NewDecisions())
        both = b.Rewards([b.RewardOf(id=id, reward=1.0) for id in made])
        with pytest.raises(BusyError):
            session.rewards(both)
        session.reads = True
        assert session.describe("b").decisions == 1
    first.finish()
    first.tx.commit()
    one.done(first)
    with two.batch() as session:
        assert (session.describe("a").rewards, session.describe("b").rewards) == (0, 0)
        assert [each.outcome for each in session.rewards(both).outcomes] == ["credited"] * 2
        assert (session.describe("a").decisions, session.describe("b").decisions) == (2, 2)


def test_a_request_that_was_put_off_often_waits_for_all(world: SharedWorld) -> None:
    """Two servers that send rewards of the same bandits do not put each other off for ever."""
    session = world.desks[0].begin()
    held: list[tuple[list[int], list[int]]] = []

    class Noting:
        def __getattr__(self, name: str) -> Any:
            return getattr(tx, name)

        def hold(self, first: list[int], others: list[int], *rest: Any) -> Any:
            held.append((list(first), list(others)))
            return tx.hold(first, others, *rest)

    tx = session.tx
    for name in ("a", "b", "c"):
        session.create(b.NewBandit(name=name, memory=2, arms=["x", "y"]))
    session.tx = Noting()  # type: ignore[assignment]
    about_all = [About(("c",)), About(("b", "a"))]
    session.prepare([(about_all[0], False, 0), (about_all[1], False, 0)])
    session.prepare([(about_all[0], False, 0), (about_all[1], False, 3)])
    assert held == [([3], [1, 2]), ([1, 2, 3], [])]
    tx.rollback()


def test_one_key_at_two_servers_at_once(world: SharedWorld) -> None:
    """The second finds the answer to the first."""
    world.create()

    def decide(desk: Any) -> bytes:
        while True:
            try:
                with desk.batch() as session:

                    def handle() -> tuple[int, bytes]:
                        made = session.decide("front", b.NewDecisions())
                        return 201, made.decisions[0].id.encode()

                    _, body, _ = session.once("scope", "key", b"digest", handle)
                    return bytes(body)
            except BusyError:
                continue

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(decide, world.desks))
    assert found[0] == found[1]
    assert world.shown().decisions == 1


def test_many_requests_at_several_servers_at_once() -> None:
    """Nothing is lost or doubled where four servers use three bandits without a pause."""
    world = SharedWorld(servers=4)
    for name in ("a", "b", "c"):
        world.create(name, window=30.0, default=0.0)

    def work(number: int) -> int:
        desk = world.desks[number]
        done = 0
        for turn in range(12):
            names = ["a", "b", "c"][(number + turn) % 3 :][:2]
            with desk.batch() as session:
                session.prepare([(About((name,), rows=2), False, 0) for name in names])
                for name in names:
                    try:
                        made = session.decide(name, b.NewDecisions(n=2)).decisions
                        assert session.reward(made[0].id, 1.0).outcome in ("credited", "forgotten")
                    except BusyError:
                        continue
                    done += 2
        return done

    with ThreadPoolExecutor(4) as pool:
        done = sum(pool.map(work, range(4)))
    found = [world.shown(name) for name in ("a", "b", "c")]
    assert sum(each.decisions for each in found) == done
    assert sum(each.rewards for each in found) == done / 2
    for desk in world.desks:
        assert examine(desk.storage).problems == []
    world.close()


def test_keys_follow_those_of_another_server(world: SharedWorld) -> None:
    one, two = world.desks
    keys = Service(two).keys
    assert keys.is_open
    key, row = new_key("n", ["admin"], None, 5)
    with one.batch() as session:
        add_key(session.tx, row)
    two.sweep()
    assert not keys.is_open
    assert keys.caller(f"Bearer {key}").id == row.id
    with one.batch() as session:
        remove_key(session.tx, row.id)
    two.sweep()
    with pytest.raises(Problem):
        keys.caller(f"Bearer {key}")
    assert not keys.is_open


def test_the_page_follows_another_server(world: SharedWorld) -> None:
    one, two = world.desks
    world.create("a")
    world.create("b")
    two.watches = True
    two.sweep()
    two.changed.clear()
    with one.batch() as session:
        session.decide("b", b.NewDecisions())
    two.sweep()
    assert two.changed == {2}


def test_a_damaged_bandit_does_not_stop_others(world: SharedWorld) -> None:
    world.create("good", window=1.0)
    world.create("bad", window=1.0)
    for name in ("good", "bad"):
        world.decide(name, n=2)
    with world.desks[0].storage.begin() as tx:
        assert isinstance(tx, PostgresTransaction)
        tx._write("UPDATE log SET ref = ref + 1 WHERE bandit = 2 AND kind = 6")
    for desk in world.desks:
        desk.bandits.forget()
    assert world.refused(lambda session: session.decide("bad", b.NewDecisions())) == 503
    world.clock.wait(5.0)
    world.desk.sweep()
    assert world.shown("good").expired == 2
    assert any("row" in problem for problem in examine(world.desks[0].storage).problems)


def test_windows_end_of_decisions_before_a_refusal(
    world: SharedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that fails halfway has its bandit discarded: it is loaded again, or is not."""
    world.create(window=10.0, explore=0.5)
    decide = Bandit.decide
    calls = iter(range(9))

    def failing(bandit: Bandit, allowed: frozenset[str] | None) -> Choice:
        if next(calls) == 2:
            raise ExhaustedError("no arm is left")
        return decide(bandit, allowed)

    with monkeypatch.context() as patch, world.desks[0].batch() as session:
        patch.setattr(Bandit, "decide", failing)
        session.decide("front", b.NewDecisions())
        with pytest.raises(Problem, match="no arm is left"):
            session.decide("front", b.NewDecisions(n=3))
        assert 1 not in world.desks[0].bandits
    world.clock.wait(10.0)
    world.desks[1].sweep()
    assert world.shown().expired == 1


def test_a_window_that_changes_in_the_transaction_of_a_decision(world: SharedWorld) -> None:
    """The new window counts for that decision, too; a bandit without one is not looked at."""
    for name in ("longer", "none", "gone"):
        world.create(name, window=10.0)
    with world.desks[0].batch() as session:
        for name in ("longer", "none", "gone"):
            session.decide(name, b.NewDecisions())
        session.change("longer", b.BanditChange(window=30.0))
        session.change("none", b.BanditChange(window=None))
        session.delete("gone")
    world.clock.wait(10.0)
    with world.desks[1].storage.begin() as tx:
        assert isinstance(tx, PostgresTransaction)
        assert tx.hold_due(world.clock(), 9) == {}
    world.clock.wait(20.0)
    world.desks[1].sweep()
    assert (world.shown("longer").expired, world.shown("none").expired) == (1, 0)


@pytest.mark.usefixtures("often")
def test_a_snapshot_that_is_newer_than_what_was_read_of_the_log(
    world: SharedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server saves the bandit in the middle of a read, which need not read all its rows."""
    one, two = world.desks
    world.create()
    with one.batch() as session:
        session.decide("front", b.NewDecisions(n=5))
    one.bandits.forget()
    snapshot = PostgresTransaction.snapshot
    rows_of = PostgresTransaction.rows_of
    starts: list[int] = []

    def later(tx: PostgresTransaction, number: int) -> Snapshot | None:
        if tx is reading.tx:
            with two.batch() as session:
                session.decide("front", b.NewDecisions(n=5))
        return snapshot(tx, number)

    def noted(tx: PostgresTransaction, bandit: int, after: int, upto: int) -> Iterator[Row]:
        if tx is reading.tx:
            starts.append(after)
        return rows_of(tx, bandit, after, upto)

    monkeypatch.setattr(PostgresTransaction, "snapshot", later)
    monkeypatch.setattr(PostgresTransaction, "rows_of", noted)
    with one.batch() as reading:
        reading.reads = True
        assert reading.describe("front").decisions == 10
    assert len(starts) == 1
    assert starts[0] > 5


def test_what_requests_are_about() -> None:
    assert about({"name": "a"}, b.NewDecisions(n=7)) == About(("a",), (), 7)
    assert about({"id": "2fbc8"}, b.Reward(1.0)) == About((), ("2fbc8",), 1)
    many = b.Rewards([b.RewardOf(id="1", reward=0), b.RewardOf(bandit="x", key="k", reward=1)])
    assert about({}, many) == About(("x",), ("1",), 2)
    assert about({}, None) == About()


def test_sessions_of_requests_are_those_of_every_desk() -> None:
    """A request that is added to the desk must be looked at here: does it change a bandit?"""
    changes = {"create", "change", "delete", "add_arms", "remove_arms", "decide", "reward",
               "rewards", "drop"}  # fmt: skip
    reads = {"describe", "listed", "listed_one", "history", "arms", "decision"}
    inner = {"write", "write_answer", "flush", "finish", "has_written", "row", "answer_to", "named",
             "loaded", "label", "watch", "leave", "prepare", "sweep", "once"}  # fmt: skip
    public = {name for name in dir(Session) if not name.startswith("_")}
    assert public == changes | reads | inner
    assert issubclass(SharedSession, Session)
