"""The desk: defects that were found by attacking it, each of which failed here before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handful.service import bandits
from handful.service import bodies as b
from handful.service.bodies import MOST_MEMORY
from handful.service.desk import Session
from tests.service.world import World


@pytest.fixture(params=["memory", "disk"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A world on each kind of store."""
    return World(tmp_path / "store.db" if request.param == "disk" else None)


def test_exploring_goes_on_after_arms_were_removed(world: World) -> None:
    """A restart changed the order of the arms, and the store was called damaged."""
    world.create(arms=list("abcdefgh"), explore=1.0)
    world.do(lambda session: session.remove_arms("front", ["b", "d"]))
    world.save()
    world.decide(n=20)
    before = world.bytes()
    world.crash()
    assert world.bytes() == before


def test_a_checkpoint_leaves_no_bandit_behind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash, rows of bandits that nobody had asked for yet were skipped for ever."""
    monkeypatch.setattr(bandits, "MOST_ROWS", 20)
    world.create()
    world.save()
    world.decide(n=5)
    world.crash()
    world.create("busy")
    for _ in range(50):
        world.decide("busy")
    assert world.shown().decisions == 5
    world.crash()
    assert world.shown().decisions == 5


def test_many_new_bandits_leave_no_bandit_behind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bandits, "MOST_LIVE", 2)
    world.create()
    world.save()
    world.decide(n=5)
    world.crash()
    for number in range(6):
        world.create(f"b{number}")
    assert world.shown().decisions == 5


def test_the_more_bandits_change_the_later_they_are_saved(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a thousand were in use, most of the work of the service was to save them."""
    monkeypatch.setattr(bandits, "MOST_ROWS", 20)
    monkeypatch.setattr(bandits, "MANY", 2)
    names = [f"b{number}" for number in range(8)]
    for name in names:
        world.create(name)
    world.save()

    def saved() -> list[int]:
        return world.do(
            lambda session: [
                snapshot.seq
                for number in range(1, 9)
                if (snapshot := session.tx.snapshot(number)) is not None
            ]
        )

    first = saved()
    for step in range(80):
        world.decide(names[step % 8])
    assert saved() == first
    for step in range(8):
        world.decide(names[step % 8])
        now = saved()
        # One in a transaction: no request waits for many.
        assert sum(a != b for a, b in zip(first, now, strict=True)) == step + 1
    before = world.bytes()
    world.crash()
    assert world.bytes() == before


@pytest.mark.parametrize("is_open", [False, True])
def test_a_page_of_arms_asks_the_store_for_a_page(
    world: World, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    """Every page took a look at all arms."""
    labels = [f"arm {number}" for number in range(500)]
    world.create(arms=labels, open=is_open)
    gone = [*labels[3:9], labels[499]]
    world.do(lambda session: session.remove_arms("front", gone))
    world.do(lambda session: session.add_arms("front", ["new"]))
    left = [label for label in labels if label not in gone] + ["new"]
    asked = []
    looked = type(world.do(lambda session: session.tx))
    before = looked.labels_from

    def labels_from(self: Any, bandit: int, first: int, limit: int | None = None) -> list[str]:
        found: list[str] = before(self, bandit, first, limit)
        asked.append(len(found))
        return found

    monkeypatch.setattr(looked, "labels_from", labels_from)
    found: list[str] = []
    after: int | None = 0
    while after is not None:
        with world.desk.batch() as session:
            page = session.arms("front", after, 4)
        assert len(page.arms) == 4 or page.next is None
        found, after = found + page.arms, page.next
        assert 0 < sum(asked) <= 15
        asked.clear()
    assert found == left


def test_rewards_count_once_where_the_default_is_switched_off(world: World) -> None:
    """Rewards whose window was still open were lost."""
    world.create(window=10.0, default=0.0)
    for each in world.decide(n=10):
        world.reward(each.id, 1.0)
    world.change(default=None)
    world.clock.wait(60.0)
    world.desk.sweep()
    shown = world.shown()
    assert sum(each.pulls for each in shown.arms_in_memory) + shown.forgotten == 10
    assert sum(each.in_flight for each in shown.arms_in_memory) == 0


def test_rewards_count_once_where_a_default_is_switched_on(world: World) -> None:
    """They were settled a second time when their window ended."""
    world.create(window=10.0)
    for each in world.decide(n=100):
        world.reward(each.id, 1.0)
    forgotten = world.shown().forgotten
    pulls = sum(each.pulls for each in world.shown().arms_in_memory)
    world.change(default=0.0)
    world.clock.wait(60.0)
    world.desk.sweep()
    shown = world.shown()
    assert shown.forgotten == forgotten
    assert sum(each.pulls for each in shown.arms_in_memory) == pulls
    before = world.bytes()
    world.crash()
    assert world.bytes() == before


def test_a_negative_zero_is_a_zero(world: World) -> None:
    """SQLite stores 0.0 for it, and the row was called damaged ever after."""
    world.create()
    (decision,) = world.decide()
    world.reward(decision.id, -0.0)
    assert world.reward(decision.id, 0.0) == "duplicate"
    before = world.bytes()
    world.crash()
    assert world.bytes() == before
    assert world.shown().rewards == 1


def test_an_open_end_keeps_an_arm(world: World) -> None:
    """All arms could be removed, and one that was removed was recommended."""
    world.create(open=True, arms=["a", "b", "c"])
    world.decide(n=2)
    assert world.refused(lambda session: session.remove_arms("front", ["a", "b", "c"])) == 422
    assert world.refused(lambda session: session.remove_arms("front", ["a", "a"])) == 422
    best = world.shown().recommended
    assert best is not None
    removed = world.do(lambda session: session.remove_arms("front", [best]))
    assert removed == b.ArmsRemoved(2, 1)
    shown = world.shown()
    assert shown.recommended != best
    assert [each.arm for each in shown.arms_in_memory if each.recommended] in (
        [], [shown.recommended]
    )  # fmt: skip
    assert best not in {each.arm for each in world.decide(n=10)}


def test_a_memory_of_any_size_is_made_at_once(world: World) -> None:
    """A policy for endless arms made room for 2^31 arms, for minutes."""
    assert MOST_MEMORY <= 100_000
    shown = world.create(policy="qucb-m", open=True, memory=1000)
    assert shown.memory == 1000


def test_a_clock_that_goes_back_changes_nothing(world: World) -> None:
    world.create(window=10.0)
    world.decide()
    world.clock.wait(10.0)
    world.desk.sweep()
    world.clock.wait(-5000.0)
    world.desk.sweep()
    (later,) = world.decide()
    assert (world.shown().expired, world.shown().waiting) == (1, 1)
    assert world.refused(lambda session: session.reward(later.id, 1.0)) == 0
    world.crash()
    world.desk.sweep()
    assert world.shown().expired == 1


def test_a_longer_or_shorter_window_is_that_of_open_decisions(world: World) -> None:
    world.create(window=10.0)
    world.decide(n=2)
    world.change(window=100.0)
    world.clock.wait(50.0)
    world.desk.sweep()
    assert world.shown().waiting == 2
    world.change(window=20.0)
    world.desk.sweep()
    assert (world.shown().waiting, world.shown().expired) == (0, 2)
    world.change(window=None)
    world.decide(n=3)
    world.clock.wait(10**6)
    world.desk.sweep()
    assert world.shown().waiting == 3


def test_many_windows_end_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handful.service.desk.MOST_DUE", 7)
    world.create(window=1.0, default=0.0)
    world.decide(n=50)
    world.clock.wait(1.0)
    rounds = 1
    while world.desk.sweep():
        rounds += 1
    assert rounds > 5
    assert world.shown().expired == 50
    before = world.bytes()
    world.crash()
    assert world.bytes() == before


def test_rewards_of_a_bandit_that_cannot_be_loaded_are_not_invalid() -> None:
    """They were, and a client that was told so gave them up."""
    world = World()
    world.create()
    world.create("other")
    (lost,), (kept,) = world.decide(), world.decide("other")
    world.desk.bandits._damaged[1] = "row 7 is damaged"
    world.desk.bandits.discard(1)
    given = b.Rewards([b.RewardOf(id=each.id, reward=1.0) for each in (lost, kept)])
    outcomes = world.do(lambda session: session.rewards(given)).outcomes
    assert [each.outcome for each in outcomes] == ["unavailable", "credited"]
    assert "row 7 is damaged" in str(outcomes[0].detail)


def test_a_history_asks_the_store_for_each_label_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asked for every arm in memory at every point."""
    world = World()
    world.create()
    for _ in range(60):
        world.decide()
    asked: list[int] = []
    label = Session.label

    def counted(session: Session, bandit: int, arm: int) -> str:
        asked.append(arm)
        return label(session, bandit, arm)

    monkeypatch.setattr(Session, "label", counted)
    points = world.do(lambda session: session.history("front")).points
    assert len(points) > 10
    assert sorted(set(asked)) == sorted(asked)
