from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from handful.cli.app import app
from handful.paper import experiments, store
from handful.paper.experiments import FIGURES, Comparison, Sweep
from handful.paper.store import Store
from handful.simulation import Cell, Result, run_cell
from handful.simulation.plan import cell


def quiet(done: int, what: str) -> None: ...


def small() -> list[Cell]:
    return [cell(policy, "linear:9", 2, 500, runs=2) for policy in ("ucb-m", "ts-m", "moss-m")]


def test_the_figures_have_the_papers_cells() -> None:
    cells = {name: list(figure.cells(100, 0)) for name, figure in FIGURES.items()}
    assert {c.runs for group in cells.values() for c in group} == {100}
    assert [len(group) for group in cells.values()] == [9, 26, 9, 26, 26]
    assert {c.memory for c in cells["fig1"]} == {2}
    assert {c.memory for c in cells["fig2"]} == {2, 5, 10, 20, 50, 100}
    assert {c.settings.get("eta") for c in cells["fig2"]} == {None, 0.2}


def test_moss_with_all_arms_is_run_to_each_horizon() -> None:
    assert Sweep("linear:100").horizons_to_run("moss-m", 100) == (10**4, 10**5, 10**6)
    assert Sweep("linear:100").horizons_to_run("moss-m", 50) == (10**6,)
    assert Sweep("linear:100").horizons_to_run("ucb-m", 100) == (10**6,)


def test_finished_cells_are_never_run_again_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def counted(planned: Cell, **options: object) -> Result:
        ran.append(planned.id)
        return run_cell(planned)

    monkeypatch.setattr(store, "run_cell", counted)
    kept = Store(tmp_path)
    first = kept.run(small(), quiet)
    assert len(ran) == 3
    second = kept.run(small(), quiet)
    assert len(ran) == 3
    assert [r.regret.per_run.tolist() for r in second.values()] == [
        r.regret.per_run.tolist() for r in first.values()
    ]
    kept.run(small(), quiet, fresh=True)
    assert len(ran) == 6


def test_a_stopped_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def stopped(planned: Cell, **options: object) -> Result:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(planned.id)
        return run_cell(planned)

    monkeypatch.setattr(store, "run_cell", stopped)
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).run(small(), quiet)
    monkeypatch.setattr(store, "run_cell", run_cell)
    done: list[int] = []
    results = Store(tmp_path).run(small(), lambda pulls, what: done.append(pulls))
    assert len(results) == 3
    assert done == sorted(done)
    assert done[-1] == 3 * 2 * 500


def test_a_damaged_file_is_run_again(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    planned = small()[0]
    before = kept.run([planned], quiet)
    kept.path(planned).write_bytes(b"half a file")
    after = kept.run([planned], quiet)
    assert [r.regret.mean for r in after.values()] == [r.regret.mean for r in before.values()]


def test_another_seed_horizon_or_number_of_runs_is_another_file(tmp_path: Path) -> None:
    cells = [
        cell("ucb-m", "linear:9", 2, 500),
        cell("ucb-m", "linear:9", 2, 501),
        cell("ucb-m", "linear:9", 2, 500, runs=99),
        cell("ucb-m", "linear:9", 2, 500, seed=1),
        cell("ucb-m:eta=0.2", "linear:9", 2, 500),
    ]
    assert len({Store(tmp_path).path(planned) for planned in cells}) == 5


def test_the_command_draws_every_figure_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiments, "HORIZON", 10**4)
    monkeypatch.setattr(experiments, "HORIZONS", (10**2, 10**3, 10**4))
    monkeypatch.setattr("handful.paper.figures.HORIZONS", (10**2, 10**3, 10**4))
    arguments = ["paper", "--runs", "2", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    for name in FIGURES:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{name}.svg").stat().st_size > 5000
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert kept == {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}


def test_the_command_refuses_nonsense() -> None:
    assert CliRunner().invoke(app, ["paper", "fig9"]).exit_code == 2
    assert CliRunner().invoke(app, ["paper", "fig1", "--runs", "0"]).exit_code == 2


def test_a_comparison_covers_all_policies() -> None:
    names = {c.policy.name for c in Comparison(("linear:9",)).cells(1, 0)}
    assert names == {"ucb-m", "ts-m", "moss-m"}
