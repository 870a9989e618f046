"""What it means that two engines, or two ways to run one, agree: to the last bit."""

from __future__ import annotations

from dataclasses import replace

from handful.instances import instance
from handful.simulation import compiled, engines, plan
from handful.simulation.kernels.lanes import WIDTH
from handful.simulation.kernels.world import Distribution
from handful.simulation.kinds import kind_of
from handful.simulation.outcome import Outcome, joined
from handful.simulation.plan import Cell
from handful.simulation.reference import simulate_run

TRIALS = Distribution.of(instance("linear:2"))
"""Of Bernoulli rewards, as kernels take it."""


def assert_same(one: Outcome, other: Outcome) -> None:
    """Equal to the last bit, and the same left out."""
    assert one.regret.tobytes() == other.regret.tobytes()
    assert (one.pulls is None) is (other.pulls is None)
    if one.pulls is not None and other.pulls is not None:
        assert one.pulls.tolist() == other.pulls.tolist()
    assert (one.stays is None) is (other.stays is None)
    for mine, theirs in zip(one.stays or [], other.stays or [], strict=True):
        assert mine.start.tolist() == theirs.start.tolist()
        assert mine.arms.tolist() == theirs.arms.tolist()
        assert mine.pulls.tolist() == theirs.pulls.tolist()
        assert mine.recommended.tolist() == theirs.recommended.tolist()


def assert_engines_agree(cell: Cell) -> Outcome:
    """Both engines run the cell, alone and in a block of lanes, to the same bits: return them."""
    assert engines.supports(cell)
    grid = plan.log_grid(cell.horizon)
    slow = joined([simulate_run(cell, run, grid) for run in range(cell.runs)])
    assert_same(compiled.simulate_runs(cell, grid, n_jobs=1), slow)
    run_as = engines.as_run(cell)
    if kind_of(run_as.policy).most_lanes(run_as, skipping=False) > 1:
        block = compiled.simulate_runs(replace(cell, runs=WIDTH + 1), grid, n_jobs=1)
        assert_same(first(block, cell.runs), slow)
    return slow


def first(outcome: Outcome, runs: int) -> Outcome:
    """The first runs of an outcome."""
    return Outcome(
        outcome.regret[:runs],
        None if outcome.pulls is None else outcome.pulls[:runs],
        None if outcome.stays is None else outcome.stays[:runs],
    )
