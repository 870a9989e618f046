"""A live bandit: its log folded into a twin gives the same bytes, and it goes on from its bytes.

Every policy that can be served is tried, with windows, defaults, uniform exploration, open ends,
subsets, arms that come and go, and rewards in other units.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from handful.errors import DamagedStoreError, HandfulError, SettingError, StateError
from handful.policies import POLICIES
from handful.service import bodies as b
from handful.service.bandit import Bandit
from handful.service.bandits import StoreLookUp
from handful.service.config import Config
from handful.service.desk import Session
from handful.service.problems import Problem
from handful.storage.rows import Kind
from tests.service.world import World

ARMS = [f"arm {number}" for number in range(12)]


def _kinds() -> list[tuple[str, bool]]:
    """Return the policies that can be served, and whether their arms have an open end."""
    found = []
    for name, policy in POLICIES.items():
        if policy.clairvoyant:
            continue
        for is_open in (False, True):
            try:
                World().create(**_made_from(name, is_open))
            except Problem:
                continue
            found.append((name, is_open))
    return found


def _made_from(name: str, is_open: bool) -> dict[str, Any]:
    given: dict[str, Any] = {"policy": name, "open": is_open, "arms": ARMS}
    if name == "cover":
        given["arms"] = ARMS[:2]
    if not POLICIES[name].takes_memory():
        given["memory"] = None
    if "horizon" in POLICIES[name].settings:
        given["settings"] = {"horizon": 1000.0}
    return given


KINDS = _kinds()


def _traffic(world: World, seed: int, is_open: bool, steps: int = 60) -> None:
    """Send requests of all kinds, most of which are granted."""
    draw = random.Random(seed)
    waiting: list[str] = []
    labels = 0

    def tried(work: Any) -> Any:
        answer = world.tried(work)
        return None if isinstance(answer, Problem) else answer

    for _ in range(steps):
        world.clock.wait(draw.choice((0.0, 0.1, 1.0)))
        kind = draw.choice("ddddrrrrrrpasx+-~")
        known = tried(lambda session: session.arms("front", 0, 1000)).arms
        if kind in "da":
            some = None if kind == "d" else draw.sample(known, min(2, len(known)))
            body = b.NewDecisions(n=draw.randint(1, 3), allowed=some)
            made = tried(lambda session, body=body: session.decide("front", body))
            waiting += [each.id for each in made.decisions] if made else []
        elif kind in "rp" and waiting:
            id = waiting.pop(draw.randrange(len(waiting)))
            if kind == "r":
                value = draw.choice((-2.0, 0.0, 1.5, 4.0))
                tried(lambda session, id=id, value=value: session.reward(id, value))
            else:
                tried(lambda session, id=id: session.drop(id))
        elif kind == "s":
            world.desk.sweep()
        elif kind == "+":
            labels += 1
            tried(lambda session, n=labels: session.add_arms("front", [f"new {n}"]))
        elif kind == "-":
            gone = [draw.choice(known)]
            tried(lambda session, gone=gone: session.remove_arms("front", gone))
        elif kind == "~":
            change = b.BanditChange(explore=0.0 if is_open else draw.choice((0.0, 0.4)))
            tried(lambda session, change=change: session.change("front", change))
        elif kind == "x":
            world.shown()


def _folded(session: Session, number: int) -> Bandit:
    """Return the bandit that follows from its rows alone."""
    look_up = StoreLookUp(session.tx)
    rows = [row for row in session.tx.rows() if row.bandit == number]
    bandit = Bandit.created(rows[0])
    for row in rows[1:]:
        bandit.fold(row, look_up)
    return bandit


@pytest.mark.parametrize("default", [None, 0.5], ids=["lost", "default"])
@pytest.mark.parametrize(("name", "is_open"), KINDS)
def test_the_fold_of_the_log_is_the_live_bandit(
    name: str, is_open: bool, default: float | None
) -> None:
    world = World()
    given = _made_from(name, is_open)
    explore = 0.0 if is_open else 0.3
    world.create(**given, rescale=(-2.0, 4.0), window=3.0, default=default, explore=explore)
    _traffic(world, 5, is_open)
    live = world.bytes()[1]
    assert world.shown().decisions > 10
    assert world.do(lambda session: _folded(session, 1).to_bytes()) == live

    def restored(session: Session) -> Bandit:
        return Bandit.from_bytes(live, lambda numbers: session.tx.labels(1))

    twin = world.do(restored)
    assert twin.to_bytes() == live
    bandit = world.do(lambda session: session.loaded(1))
    for _ in range(30):
        try:
            choice = bandit.decide(None)
        except HandfulError:
            with pytest.raises(HandfulError):
                twin.decide(None)
            break
        assert twin.decide(None) == choice
        assert twin.reward(choice.ticket, 1.0, 3) == bandit.reward(choice.ticket, 1.0, 3)
    assert twin.to_bytes() == bandit.to_bytes()


def test_enough_policies_are_tried() -> None:
    assert len({name for name, _ in KINDS}) > 40
    assert sum(is_open for _, is_open in KINDS) > 10


def test_a_row_that_says_another_arm_is_noticed() -> None:
    world = World()
    world.create()
    world.decide(n=3)

    def work(session: Session) -> None:
        rows = [row for row in session.tx.rows() if row.bandit == 1]
        bandit = Bandit.created(rows[0])
        assert rows[1].kind == Kind.DECIDED
        assert rows[1].ref is not None
        bandit.fold(rows[1]._replace(ref=rows[1].ref + 1), StoreLookUp(session.tx))

    with pytest.raises(DamagedStoreError, match="chose arm"):
        world.do(work)


def test_looking_at_a_bandit_does_not_change_it() -> None:
    """To look at one with an open end counted arms as drawn that were not."""
    for name, is_open in KINDS:
        world = World()
        world.create(**_made_from(name, is_open))
        before = world.bytes()
        world.shown()
        world.do(lambda session: session.history("front"))
        world.do(lambda session: session.listed("", 10))
        assert world.bytes() == before


# True propensities.


def _cells(bandit: Bandit, allowed: frozenset[str] | None, draws: int) -> dict[str, list[float]]:
    """Return for each arm how often it was drawn, and the probabilities that were logged.

    The state is the same before each decision: only the generator of exploration moves on.
    """
    found: dict[str, list[float]] = {}
    before = bandit.policy
    for _ in range(draws):
        bandit.policy = before.clone()
        choice = bandit.decide(allowed)
        assert choice.probability is not None
        found.setdefault(choice.label, []).append(choice.probability)
    return found


def _chi_square(cells: dict[str, list[float]], draws: int) -> float:
    return sum((len(p) - draws * p[0]) ** 2 / (draws * p[0]) for p in cells.values())


CRITICAL = {1: 15.14, 3: 21.11, 11: 36.56}
"""By degrees of freedom: exceeded by chance once in 10,000 times."""


@pytest.mark.parametrize(
    ("explore", "some"), [(0.1, None), (0.6, None), (1.0, None), (0.6, 4), (0.3, 2)]
)
def test_arms_are_drawn_with_the_logged_probability(explore: float, some: int | None) -> None:
    """False alarms: at most 5 in 10,000 over all cases, of a fixed seed."""
    config = Config(name="x", policy="race", memory=3, seed=11, explore=explore)
    bandit = Bandit(config, ARMS)
    for reward in (0.0, 1.0, 1.0, 0.0, 1.0):
        bandit.reward(bandit.decide(None).ticket, reward, 0)
    allowed = None if some is None else frozenset(ARMS[3 : 3 + some])
    draws = 3000
    cells = _cells(bandit, allowed, draws)
    among = ARMS if allowed is None else sorted(allowed)
    assert set(cells) == set(among)
    assert all(len(set(each)) == 1 for each in cells.values())
    assert sum(each[0] for each in cells.values()) == pytest.approx(1.0)
    assert _chi_square(cells, draws) < CRITICAL[len(among) - 1]


def test_a_wrong_probability_would_be_seen() -> None:
    """Logged as if the policy's own arm were not among the uniform draws: off by explore / n."""
    config = Config(name="x", policy="race", memory=3, seed=11, explore=0.6)
    draws = 3000
    cells = _cells(Bandit(config, ARMS), None, draws)
    wrong = {
        label: [0.4 if each[0] > 0.1 else 0.6 / 11] * len(each) for label, each in cells.items()
    }
    assert _chi_square(cells, draws) < CRITICAL[11] < _chi_square(wrong, draws)


def test_a_random_policy_logs_the_probability_of_its_arm() -> None:
    world = World()
    world.create(policy="random", memory=None, arms=ARMS)
    made = world.decide(n=6000)
    counts = {label: [each.probability for each in made if each.arm == label] for label in ARMS}
    assert all(set(each) == {1 / 12} for each in counts.values())
    expected = len(made) / len(ARMS)
    chi = sum((len(each) - expected) ** 2 / expected for each in counts.values())
    assert chi < CRITICAL[11]


def test_a_random_policy_with_an_open_end_logs_none() -> None:
    """It logged one over the number of arms that are still to be born."""
    world = World()
    world.create(policy="random", memory=None, open=True)
    assert {each.probability for each in world.decide(n=5)} == {None}


@pytest.mark.parametrize("explore", [math.nan, -0.1, 1.1])
def test_an_explore_that_is_no_probability(explore: float) -> None:
    with pytest.raises(SettingError, match="explore"):
        Bandit(Config(name="x", policy="race", memory=2, seed=1, explore=explore), ARMS)


def test_a_snapshot_that_cannot_be_read() -> None:
    world = World()
    world.create()
    body = world.bytes()[1]
    for wrong in (b"", body[:-1], b"\x00" + body, body[:1] + b"\x63" + body[2:]):
        with pytest.raises(StateError):
            Bandit.from_bytes(wrong, lambda numbers: {})
