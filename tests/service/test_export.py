"""The exported log says what stood in for rewards: the default at the end of a window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handful.service.export import decisions
from tests.service.world import World


@pytest.fixture(params=["memory", "disk"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A world on each kind of store."""
    return World(tmp_path / "store.db" if request.param == "disk" else None)


def _exported(world: World) -> list[tuple[str, float | None]]:
    return [(each.status, each.default) for each in decisions(world.desk.storage)]


def _dropped(world: World, **given: Any) -> None:
    (made,) = world.decide(**given)
    world.do(lambda session: session.drop(made.id))


def test_a_default_that_was_changed_while_decisions_waited(world: World) -> None:
    """The one at the time of the decision was stated, and the bandit had learnt from another."""
    world.create(window=10.0, default=0.25, memory=None, policy="ucb1")
    world.decide(allowed=["a"])
    world.clock.wait(11.0)
    world.desk.sweep()
    world.decide(allowed=["b"])
    world.change(default=0.75)
    world.clock.wait(11.0)
    world.desk.sweep()
    _dropped(world, allowed=["c"])
    world.decide()
    assert _exported(world) == [
        ("expired", 0.25), ("expired", 0.75), ("dropped", 0.75), ("open", None)
    ]  # fmt: skip
    means = {each.arm: each.mean for each in world.shown().arms_in_memory}
    assert (means["a"], means["b"]) == (0.25, 0.75)
    world.change(default=0.5)
    world.clock.wait(11.0)
    world.desk.sweep()
    assert _exported(world)[2:] == [("dropped", 0.5), ("expired", 0.5)]


def test_what_was_dropped_without_a_default_has_none_later_either(world: World) -> None:
    world.create(window=10.0)
    for default in (0.5, None, 0.75):
        _dropped(world)
        world.change(default=default)
    _dropped(world)
    world.clock.wait(11.0)
    world.desk.sweep()
    expected = [("dropped", None), ("dropped", 0.5), ("dropped", None), ("dropped", 0.75)]
    assert _exported(world) == expected
