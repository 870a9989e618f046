"""Rewards of decisions that are in memory: the same answers as from the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from handful.service.bodies import NewDecisions, RewardOf, Rewards
from handful.service.desk import Session
from handful.service.problems import Problem
from handful.service.recent import Recent
from handful.storage.rows import Row
from handful.storage.transaction import SQLiteTransaction
from tests.service.world import World


def _row(seq: int) -> Row:
    return Row(seq, 0, 1, 6)


def test_the_oldest_are_forgotten_first() -> None:
    recent = Recent(3)
    for seq in range(1, 6):
        recent.add(f"id{seq}", _row(seq))
    assert [recent.get(f"id{seq}") for seq in range(1, 6)] == [
        None,
        None,
        _row(3),
        _row(4),
        _row(5),
    ]
    recent.answered(4)
    recent.answered(1)
    assert [recent.get(f"id{seq}") for seq in (3, 4, 5)] == [_row(3), None, _row(5)]
    recent.forget()
    assert recent.get("id5") is None


def test_where_nothing_may_be_remembered_nothing_is() -> None:
    recent = Recent(0)
    recent.add("id", _row(1))
    assert recent.get("id") is None


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "store.db")
    world.create("front")
    return world


def test_a_reward_that_comes_soon_asks_the_store_for_no_row(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made,) = world.decide("front")
    asked: list[int] = []
    row = SQLiteTransaction.row

    def counted(self: SQLiteTransaction, seq: int) -> Row | None:
        asked.append(seq)
        return row(self, seq)

    monkeypatch.setattr(SQLiteTransaction, "row", counted)
    assert world.reward(made.id, 1.0) == "credited"
    assert asked == []
    assert world.reward(made.id, 1.0) == "duplicate"
    assert asked


@pytest.mark.parametrize("first", ["key", "id", "drop", "many"])
def test_an_answer_counts_whichever_way_it_came(world: World, first: str) -> None:
    """A decision in memory that was answered by its key must not be taken for an open one."""
    made = world.do(lambda session: session.decide("front", NewDecisions(key="mine"))).decisions[0]
    by_key = RewardOf(bandit="front", key="mine", reward=1.0)
    by_id = RewardOf(id=made.id, reward=1.0)

    def answer(session: Session) -> None:
        if first == "drop":
            session.drop(made.id)
        elif first == "id":
            session.reward(made.id, 1.0)
        else:
            session.rewards(Rewards([by_key if first == "key" else by_id]))

    world.do(answer)
    if first == "drop":
        assert world.refused(lambda session: session.reward(made.id, 1.0)) == 410
    else:
        assert world.reward(made.id, 1.0) == "duplicate"
        assert world.refused(lambda session: session.reward(made.id, 0.0)) == 409
    outcomes = world.do(lambda session: session.rewards(Rewards([by_id, by_key, by_id]))).outcomes
    expected = "expired" if first == "drop" else "duplicate"
    assert [each.outcome for each in outcomes] == [expected] * 3


def test_decisions_of_a_transaction_that_failed_are_forgotten(world: World) -> None:
    """Their numbers, and so their ids, are used again."""
    made: list[str] = []

    def fail(session: Session) -> None:
        made.append(session.decide("front", NewDecisions()).decisions[0].id)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.do(fail)
    assert world.refused(lambda session: session.reward(made[0], 1.0)) == 404
    (other,) = world.decide("front")
    assert world.reward(other.id, 1.0) == "credited"


def test_an_answer_of_a_transaction_that_failed_did_not_come(world: World) -> None:
    (made,) = world.decide("front")

    def fail(session: Session) -> None:
        session.reward(made.id, 1.0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.do(fail)
    assert world.reward(made.id, 0.0) == "credited"


def test_the_bandit_of_a_decision_in_memory_may_be_deleted_or_another_ones(world: World) -> None:
    made, other = world.decide("front", n=2)
    with pytest.raises(Problem):
        world.do(lambda session: session.reward(made.id, 1.0, only="back"))
    world.do(lambda session: session.delete("front"))
    assert world.refused(lambda session: session.reward(other.id, 1.0)) == 410
