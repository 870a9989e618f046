"""What is run, how often, and what is stored; other packages are a made-up driver."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks import peers
from benchmarks.drivers import real_loop
from benchmarks.peers import PeerError
from benchmarks.real import cells
from benchmarks.real.cells import Cell, Outcome, planned, run_all
from benchmarks.real.contestants import CONTESTANTS, LEAST_RUNS, OTHERS
from benchmarks.real.sources import LEAST_ROWS, Arms, arms
from handful.instances import instance
from handful.policies import policy_class
from handful.simulation.plan import cell as cell_of

MEANS = (0.2, 0.9, 0.5)
ARMS = Arms(300, 0, 0, MEANS)
BY_KEY = {one.key: one for one in CONTESTANTS}


def silent(text: str) -> None:
    pass


def test_the_delay_of_the_drivers_is_that_of_the_simulator() -> None:
    """The reward of decision t comes right after decision t + delay was made."""
    events: list[tuple[str, int]] = []

    def make(n_arms: int, seed: int) -> tuple[real_loop.Decide, real_loop.Reward]:
        assert (n_arms, seed) == (3, 5)
        made = iter(range(1, 1000))

        def decide() -> tuple[int, int]:
            t = next(made)
            events.append(("decision", t))
            return t % 3, t

        def reward(t: int, value: float) -> None:
            assert value in (0.0, 1.0)
            events.append(("reward", t))

        return decide, reward

    regret = real_loop.run(make, list(MEANS), 5, 2, 4)
    assert regret == pytest.approx(3 * 0.9 + 2 * 0.9 - sum(MEANS[t % 3] for t in range(1, 6)))
    assert events == [
        ("decision", 1), ("decision", 2), ("decision", 3), ("reward", 1), ("decision", 4),
        ("reward", 2), ("decision", 5), ("reward", 3),
    ]  # fmt: skip
    events.clear()
    real_loop.run(make, list(MEANS), 2, 0, 4)
    assert events == [("decision", 1), ("reward", 1), ("decision", 2), ("reward", 2)]


def test_runs_of_a_driver_have_rewards_with_the_means_and_differ() -> None:
    def make(n_arms: int, seed: int) -> tuple[real_loop.Decide, real_loop.Reward]:
        return lambda: (2, None), lambda ticket, value: values.append(value)

    values: list[float] = []
    real_loop.run(make, list(MEANS), 10_000, 0, 0)
    assert np.mean(values) == pytest.approx(0.5, abs=4.5 * 0.5 / 100)  # once in 147,000 seeds
    first, values = values, []
    real_loop.run(make, list(MEANS), 10_000, 0, 1)
    assert values != first


def test_every_contestant_exists() -> None:
    assert len(BY_KEY) == len(CONTESTANTS)
    for one in CONTESTANTS:
        if one.peer is None:
            cell_of(one.policy, instance(list(MEANS)), one.memory and 2, 1000)
            assert policy_class(one.policy).name == one.policy
        else:
            assert one.group == OTHERS
            driver = peers.ROOT / "benchmarks" / "drivers" / f"real_{one.key}.py"
            assert "report(" in driver.read_text()


def test_as_many_runs_are_planned_as_the_budget_allows() -> None:
    plain = replace(
        BY_KEY["imed"], cost=(1.0, 0.5), cost_late=(3.0, 0.5), runs=200, budget=10.0, limit=100.0
    )
    assert plain.seconds(18, 10**4, 0) == pytest.approx(0.1)
    assert plain.planned(18, 10**4, 0) == 100
    assert plain.planned(18, 10**4, 200) == 83
    assert plain.planned(18, 10**3, 0) == 200
    assert plain.planned(198, 10**5, 0) == LEAST_RUNS  # 10 s each: more than the budget
    assert plain.planned(198, 10**6, 0) == 0  # 100 s each: more than the limit
    found = planned({"some": ARMS}, (10**3, 10**6), most=5, contestants=[plain])
    assert [(one.horizon, one.delay, one.runs) for one in found] == [
        (10**3, 0, 5), (10**3, 200, 5), (10**6, 0, 4), (10**6, 200, 3)
    ]  # fmt: skip


@pytest.mark.usefixtures("auto_is_python")
def test_a_cell_is_run_once_and_the_shortest_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = [
        Cell("some", ARMS, BY_KEY[key], horizon, delay, 3)
        for key, horizon, delay in (("race-2", 400, 0), ("ts", 300, 20), ("ucb-m-8", 200, 0))
    ]
    left_out = replace(ours[0], runs=0)
    shown: list[str] = []
    found = run_all([*ours, left_out], tmp_path, 1, shown.append)
    assert set(found) == set(ours)
    assert [line.split(": ")[1].split(",")[0] for line in shown] == [
        one.key for one in sorted(ours, key=lambda one: one.seconds)
    ]
    for one, outcome in found.items():
        assert len(set(outcome.regrets)) == 3
        assert all(0.0 <= regret <= 0.7 * one.horizon for regret in outcome.regrets)
    monkeypatch.setattr(cells, "run", None)  # nothing is run again
    assert run_all(ours, tmp_path, 1, silent) == found


def test_the_key_of_a_cell_says_all_that_matters() -> None:
    one = Cell("some", ARMS, BY_KEY["race-8"], 1000, 0, 5)
    others = [
        replace(one, data="other"),
        replace(one, arms=replace(ARMS, means=(0.2, 0.9, 0.4))),
        replace(one, contestant=BY_KEY["race-2"]),
        replace(one, horizon=2000),
        replace(one, delay=200),
        replace(one, runs=6),
    ]
    assert len({one.key, *(other.key for other in others)}) == 7


DRIVER = """
from benchmarks.drivers import real_loop

def make(n_arms, seed):
    return lambda: (0, None), lambda ticket, value: None

real_loop.report("numpy", "always the first", make)
"""


def test_a_driver_is_run_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "benchmarks" / "drivers"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "drivers/__init__.py", "drivers/real_loop.py"):
        text = (peers.ROOT / "benchmarks" / name).read_text()
        (tmp_path / "benchmarks" / name).write_text(text)
    (folder / "real_river.py").write_text(DRIVER)
    (folder / "real_gittins.py").write_text("import no_such_package")
    for module in (peers, cells):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(cells, "installed", lambda peer, folder: Path(sys.executable))
    good = Cell("some", ARMS, BY_KEY["river"], 50, 5, 3)
    broken = replace(good, contestant=BY_KEY["gittins"])
    shown: list[str] = []
    found = run_all([good, broken], tmp_path / "cells", 2, shown.append)
    assert set(found) == {good}
    assert found[good].version == np.__version__
    assert found[good].regrets == pytest.approx([35.0] * 3)
    assert any("No module named 'no_such_package'" in line for line in shown)
    stored = json.loads((tmp_path / "cells" / f"{good.key}.json").read_text())
    assert Outcome(**stored) == found[good]
    assert [file.name for file in (tmp_path / "cells").iterdir()] == [f"{good.key}.json"]


def test_a_package_that_cannot_be_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(peer: peers.Peer, folder: Path) -> Path:
        raise PeerError("could not be installed: no network")

    monkeypatch.setattr(cells, "installed", fail)
    shown: list[str] = []
    one = Cell("some", ARMS, BY_KEY["river"], 50, 5, 3)
    assert run_all([one], tmp_path, 1, shown.append) == {}
    assert "river is left out: it could not be installed: no network" in shown


def test_handful_reads_the_arms_of_the_drivers_from_the_file(tmp_path: Path) -> None:
    """Both see the same means, in the same order, without arms that have few rows."""
    rows = {"b": (LEAST_ROWS, 7), "B": (99, 98), "few": (LEAST_ROWS - 1, 1), "ä": (60, 20)}
    file = tmp_path / "some.parquet"
    pl.DataFrame(
        {
            "arm": [arm for arm, (n, _) in rows.items() for _ in range(n)],
            "reward": [int(i < ones) for n, ones in rows.values() for i in range(n)],
        }
    ).write_parquet(file)
    found = arms(file)
    assert instance(found.instance).listed == found.means == (98 / 99, 7 / LEAST_ROWS, 20 / 60)
    assert instance(replace(found, file=None).instance).listed == found.means
