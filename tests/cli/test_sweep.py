"""`handful sweep`: what it prints, what it says when something is wrong, and how it goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from handful import simulate
from handful.cli.app import app
from handful.simulation import Cell, run_cell
from handful.sweeps import calibration, running

SPEC = """
engine = "python"
runs = 4
[[grid]]
policy = ["ucb-m", "race"]
memory = 2
instance = "linear:7"
horizon = [50, 60]
"""
FAILING = """
[[grid]]
policy = "tests.sweeps.own_policies:Failing"
memory = 2
instance = "linear:7"
horizon = 50
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def sweep(spec: Path, *options: object) -> Result:
    out = str(spec.parent / "out")
    return CliRunner().invoke(app, ["sweep", str(spec), "--out", out, *map(str, options)])


def test_it_prints_a_row_for_each_cell_and_runs_nothing_twice(spec: Path) -> None:
    first = sweep(spec)
    assert first.exit_code == 0, first.output
    assert "4 cells to run, 0 million pulls; results are saved in" in first.stderr
    heads, *rows = [line.split("\t") for line in first.stdout.splitlines()]
    assert heads[:5] == ["policy", "world", "M", "horizon", "runs"]
    assert [row[:5] for row in rows] == [
        [policy, "linear:7", "2", horizon, "4"]
        for policy in ("UCB-M", "Race")
        for horizon in ("50", "60")
    ]
    again = sweep(spec)
    assert again.stdout == first.stdout
    assert "0 cells to run, 0 million pulls; 4 are cached" in again.stderr


def test_json_has_the_numbers_of_simulate(spec: Path) -> None:
    data = json.loads(sweep(spec, "--json").stdout)
    assert data["failed"] == []
    assert data["out"] == str(spec.parent / "out")
    for one in data["cells"]:
        same = simulate(
            one["policy"], one["instance"], memory=2, horizon=one["horizon"], runs=4,
            engine="python",
        )  # fmt: skip
        assert one["regret_per_run"] == same.regret.per_run.tolist()
    assert len(data["cells"]) == 4


def test_a_dry_run_prints_the_cells_and_a_time_and_writes_nothing(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sweep(spec, "--dry-run", "-j", 2)
    assert made.exit_code == 0, made.output
    *rows, last = made.stdout.splitlines()
    assert [row.split("\t")[5:7] for row in rows[1:]] == [["4", "1"]] * 4
    assert last.startswith("about 1 s with 2 workers, from a short run of each of 2 kinds of cells")
    assert not (spec.parent / "out").exists()
    sweep(spec)
    monkeypatch.setattr(calibration, "run_cell", None)
    assert "nothing is missing" in sweep(spec, "--dry-run").stdout
    data = json.loads(sweep(spec, "--dry-run", "--json").stdout)
    assert [one["missing_runs"] for one in data["cells"]] == [0] * 4
    assert data["seconds"] == 0


def test_every_mistake_of_a_spec_is_printed_before_anything_starts(spec: Path) -> None:
    spec.write_text(SPEC.replace("linear:7", "linear").replace("memory", "memry"))
    said = sweep(spec)
    assert said.exit_code == 2
    assert "spec.toml: 2 mistakes" in said.stderr
    assert "grid 1, memry: there is no such key: did you mean memory?" in said.stderr
    assert not (spec.parent / "out").exists()


def test_an_interrupt_leaves_a_folder_that_is_resumed(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = interrupted(monkeypatch, spec, after=3)
    assert said.exit_code == 130
    assert "1 cells are missing or incomplete; the same command resumes the run" in said.stderr
    resumed = sweep(spec)
    assert "1 cells to run, 0 million pulls; 3 are cached" in resumed.stderr
    assert len(resumed.stdout.splitlines()) == 5


def interrupted(monkeypatch: pytest.MonkeyPatch, spec: Path, after: int) -> Result:
    """Run a sweep that is interrupted after some parts."""
    ran: list[str] = []

    def stopped(planned: Cell, **options: Any) -> Any:
        if len(ran) == after:
            raise KeyboardInterrupt
        ran.append(planned.id)
        return run_cell(planned, **options)

    with monkeypatch.context() as patched:
        patched.setattr(running, "run_cell", stopped)
        return sweep(spec)


def test_an_interrupt_keeps_what_took_the_place_of_damaged_files(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(spec)
    folder = spec.parent / "out" / "cells"
    files = sorted(folder.glob("*.parquet"))
    for file in files:
        file.write_bytes(b"damaged")
    said = interrupted(monkeypatch, spec, after=3)
    assert said.stderr.count("is not used, and its runs are run again") == len(files) == 4
    assert "1 cells are missing or incomplete" in said.stderr
    assert len(list(folder.glob("*.parquet"))) == 3
    resumed = sweep(spec)
    assert "1 cells to run, 0 million pulls; 3 are cached" in resumed.stderr


def test_a_failing_cell_is_named_at_the_end_and_the_others_are_printed(spec: Path) -> None:
    spec.write_text(SPEC + FAILING)
    said = sweep(spec)
    assert said.exit_code == 1
    assert len(said.stdout.splitlines()) == 5
    assert "1 of 5 cells failed, and the others are saved" in said.stderr
    assert "UnpicklableError: no 1 and no 2" in said.stderr
    data = json.loads(sweep(spec, "--json").stdout)
    assert [one["error"] for one in data["failed"]] == ["UnpicklableError: no 1 and no 2"]


def test_it_says_what_is_not_used(spec: Path) -> None:
    sweep(spec)
    folder = spec.parent / "out"
    victim = next((folder / "cells").glob("race*.parquet"))
    victim.write_bytes(b"half")
    said = sweep(spec).stderr
    assert f"{victim.name} is not used, and its runs are run again" in said
    assert "1 cells to run, 0 million pulls; 3 are cached" in said
    spec.write_text(SPEC.replace("[50, 60]", "[60, 70]"))
    said = sweep(spec).stderr
    assert "the spec has changed since" in said
    assert "2 cells are new, 2 are no longer in it" in said
    assert "2 files in" in said
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "sources": "old"}))
    spec.write_text(SPEC)
    assert "was last written by other sources of handful" in sweep(spec).stderr


@pytest.mark.parametrize("address", ["tcp://nowhere", "local:0", "local", "http://x:1", ""])
def test_an_address_that_is_none_is_refused(spec: Path, address: str) -> None:
    said = sweep(spec, "--cluster", address)
    assert said.exit_code == 2
    assert "give tcp://HOST:PORT of a Dask scheduler, or local:N" in " ".join(said.stderr.split())


def test_without_dask_a_cluster_names_the_extra(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = sweep(spec, "--cluster", "local:2")
    assert "pip install 'handful[cluster]'" in " ".join(said.stderr.split())
