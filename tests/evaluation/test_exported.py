"""A log of the service: decided with exploration, exported, and evaluated."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from handful import evaluate, read_log, replay
from handful.cli.app import app
from handful.service.bodies import NewBandit, NewDecisions
from handful.service.desk import Desk
from handful.storage.sqlite import SQLiteStorage

MEANS = {"red": 0.3, "blue": 0.5, "green": 0.7}
DECISIONS = 3000
OPEN, DROPPED = 20, 30


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a bandit that explores in 60% of its decisions; some rewards never came."""
    file = tmp_path_factory.mktemp("store") / "store.db"
    desk = Desk(SQLiteStorage(file, durable=False))
    draws = random.Random(1)
    with desk.batch() as session:
        session.create(
            NewBandit(name="ads", memory=2, arms=list(MEANS), seed=1, explore=0.6, window=1e6)
        )
        session.create(NewBandit(name="other", memory=2, arms=["a", "b"], seed=1))
        session.decide("other", NewDecisions())
        for number in range(DECISIONS):
            (made,) = session.decide("ads", NewDecisions()).decisions
            if number < DROPPED:
                session.drop(made.id)
            elif number < DECISIONS - OPEN:
                session.reward(made.id, float(draws.random() < MEANS[made.arm]))
    desk.close()
    return file


@pytest.fixture(params=["log.parquet", "log.jsonl"])
def exported(store: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    file = tmp_path / str(request.param)
    ran = CliRunner().invoke(app, ["export", "--store", str(store), "--out", str(file)])
    assert ran.exit_code == 0, ran.output
    return file


def test_an_exported_log_is_evaluated(exported: Path) -> None:
    log = read_log(exported, bandit="ads")
    assert len(log) == DECISIONS - OPEN - DROPPED
    assert log.labels == sorted(MEANS)
    (said,) = log.warnings
    assert said.startswith(f"{OPEN + DROPPED} of {DECISIONS:,} decisions have no reward")
    assert log.probability is not None
    # The policy's choice has 1 - 0.6 + 0.2, and the other arms have 0.2 each.
    assert sorted(set(log.probability.round(12).tolist())) == [0.2, 0.6]
    # Of a fixed seed; an interval misses in 5% of seeds.
    uniform = evaluate(log, "uniform")
    assert uniform.ips.low <= 0.5 <= uniform.ips.high
    assert uniform.warnings == ()
    worst = evaluate(log, "arm:red")
    assert worst.snips.low <= MEANS["red"] <= worst.snips.high
    assert log.value.value > uniform.ips.value  # Race shows the best arm more often


def test_a_policy_is_replayed_on_it(exported: Path) -> None:
    log = read_log(exported, bandit="ads")
    found = replay(log, "ts", seed=1)
    assert found.matches == pytest.approx(0.2 * len(log), rel=0.15)
    assert found.recommended == "green"
    truth = sum(MEANS[arm] * count for arm, count in found.pulls.items()) / found.matches
    assert found.value.low <= truth <= found.value.high
