"""Race beside the best of the paper's policies: which cells, and what is compared."""

from __future__ import annotations

import numpy as np
import pytest

from handful.simulation import Cell, Result, run_cell
from handful.studies.paper import beyond, experiments
from handful.studies.paper.experiments import EXPERIMENTS
from handful.studies.results import Results


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> Results:
    """Made-up regrets: 100 for each policy but 40 for TS-M and QTS-M, and 10 for Race."""
    monkeypatch.setattr(experiments, "HORIZON", 10)
    monkeypatch.setattr(experiments, "HORIZONS", (10,))
    found = Results()
    cells = [cell for experiment in EXPERIMENTS.values() for cell in experiment.cells(2, 0)]
    for cell in [*cells, *beyond.cells(2, 0)]:
        found.add(cell, made_up(cell))
    return found


def made_up(cell: Cell) -> Result:
    result = run_cell(cell, engine="python")
    mean = {"race": 10.0, "ts-m": 40.0, "qts-m": 40.0}.get(cell.policy.name, 100.0)
    result.curve.per_run[:, -1] = np.array([mean - 1.0, mean + 1.0])
    return result


def test_race_has_a_cell_wherever_the_paper_has_policies_with_the_same_memory() -> None:
    cells = list(beyond.cells(100, 0))
    assert {(cell.policy.name, cell.horizon, cell.runs) for cell in cells} == {("race", 10**6, 100)}
    assert [cell.memory for cell in cells] == [2] * 10 + [10] * 7


def test_the_best_of_the_papers_policies_is_compared(results: Results) -> None:
    pairs = beyond.pairs(results)
    assert {pair.best_name for pair in pairs} == {"TS-M", "QTS-M"}
    assert [pair.ratio for pair in pairs] == pytest.approx([0.25] * 17)
    assert beyond.mean_ratio(pairs, 2) == pytest.approx(0.25)


def test_the_figure_has_a_row_for_each_instance(results: Results) -> None:
    made = beyond.draw(beyond.pairs(results))
    rows = [[text.get_text() for text in ax.get_yticklabels()] for ax in made.axes]
    assert [len(names) for names in rows] == [10, 7]
    assert rows[1][-4:] == ["I1", "I2", "I3", "I4"]
