"""Any range of a cell's runs, run alone, gives the same bits as in the whole."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from handful.errors import SettingError
from handful.simulation import Result, cell, compiled, run_cell, simulate
from handful.simulation import outcome as outcomes
from handful.simulation.outcome import Outcome, joined
from handful.simulation.plan import run_range

CUTS = (0, 1, 5, 12)


def bits(results: list[Result]) -> tuple[bytes, bytes, list[Any]]:
    pulls = [result.pulls for result in results if result.pulls is not None]
    stays = [vars(stay) for result in results for stay in result.stays or []]
    return (
        np.concatenate([result.curve.per_run for result in results]).tobytes(),
        np.concatenate(pulls).tobytes() if pulls else b"",
        [[(name, array.tolist()) for name, array in stay.items()] for stay in stays],
    )


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize("tape", [False, True])
@pytest.mark.parametrize(("policy", "world"), [("ucb-m", "linear:9"), ("qucb-m", "I1")])
def test_ranges_together_are_the_whole(engine: str, tape: bool, policy: str, world: str) -> None:
    def part(runs: int | range) -> Result:
        return simulate(
            policy, world, memory=2, horizon=400, runs=runs, seed=3, engine=engine, tape=tape,
            record=True,
        )  # fmt: skip

    whole = part(12)
    parts = [part(range(a, b)) for a, b in pairwise(CUTS)]
    assert bits(parts) == bits([whole])
    assert len(set(whole.regret.per_run.tolist())) > 6
    numbers = np.concatenate([result.to_polars()["run"].unique().sort() for result in parts])
    assert numbers.tolist() == list(range(12))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_range_of_a_planned_cell_is_run_alone(n_jobs: int) -> None:
    planned = cell("ts-m", "linear:9", 2, 300, runs=10, seed=5)
    whole = run_cell(planned, engine="python")
    part = run_cell(planned, runs=range(4, 9), engine="python", n_jobs=n_jobs)
    assert part.regret.per_run.tolist() == whole.regret.per_run[4:9].tolist()
    assert (part.settings["first_run"], part.settings["runs"]) == (4, 5)
    with pytest.raises(SettingError, match="has the runs 0 to 9"):
        run_cell(planned, runs=range(4, 11))


def test_batches_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = cell("ucb-m", "linear:9", 2, 50, runs=20)
    whole = compiled.simulate_runs(planned, [50]).regret
    monkeypatch.setattr(compiled, "_BATCH", 7)
    part = compiled.simulate_runs(replace(planned, first_run=3, runs=15), [50]).regret
    assert part.tobytes() == whole[3:18].tobytes()


@pytest.mark.parametrize(
    "runs", [range(0), range(5, 5), range(-1, 3), range(0, 10, 2), range(0, 10**9 + 1)]
)
def test_a_range_that_cannot_be_is_refused(runs: range) -> None:
    with pytest.raises(SettingError, match="give a range of step 1"):
        run_range(runs)


def test_pulls_that_are_too_many_are_summed_over_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    few = simulate("ucb-m", "linear:9", memory=2, horizon=200, runs=12, engine="python")
    assert few.pulls is not None
    assert few.mean_pulls is not None
    monkeypatch.setattr(outcomes, "MOST_PULLS", 9 * 11)
    for engine in ("python", "compiled"):
        many = simulate("ucb-m", "linear:9", memory=2, horizon=200, runs=12, engine=engine)
        assert many.pulls is None
        assert many.mean_pulls is not None
        assert many.mean_pulls.tolist() == few.mean_pulls.tolist()
        assert many.to_dict()["pulls_per_arm_mean"] == few.to_dict()["pulls_per_arm_mean"]
        assert many.curve.per_run.tolist() == few.curve.per_run.tolist()


def test_batches_of_pulls_are_never_held_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is asked for only after the earlier ones were summed."""
    monkeypatch.setattr(outcomes, "MOST_PULLS", 10)
    alive: list[Any] = []

    def batches() -> Any:
        import weakref

        for _ in range(50):
            pulls = np.full((2, 4), 2**61)
            alive.append(weakref.ref(pulls))
            assert sum(ref() is not None for ref in alive) <= 3
            yield Outcome(np.zeros((2, 1)), pulls)

    found = joined(batches())
    assert found.pulls is None
    assert found.total_pulls is not None
    assert found.total_pulls.tolist() == [100 * 2**61] * 4
    assert found.regret.shape == (100, 1)
