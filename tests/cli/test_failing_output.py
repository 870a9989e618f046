"""Output that cannot be written: full disks, full devices, folders that refuse files."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from handful.cli.app import app

PROGRAM = str(Path(sys.executable).parent / "handful")
RUN = ["run", "-p", "ucb-m", "-m", "2", "-i", "linear:9", "-T", "99", "-r", "2", "--engine",
       "python"]  # fmt: skip


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", ["x.parquet", "x.csv"])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_full_disk_loses_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, as_json: bool
) -> None:
    monkeypatch.setattr(Path, "replace", full)
    words = [*RUN, "--out", str(tmp_path / name), *["--json"] * as_json]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "the results were printed" in result.stderr
    assert "Traceback" not in result.output
    if as_json:
        assert json.loads(result.stdout)[0]["runs"] == 2
    else:
        assert "UCB-M" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_limit_on_files_loses_no_results(tmp_path: Path) -> None:
    """The system itself refuses to write on, in the middle of the file."""
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "from handful.cli import main\n"
        "main()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *RUN, "--out", str(tmp_path / "x.parquet")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "x.parquet cannot be written: File too large" in ran.stderr
    assert "UCB-M" in ran.stdout
    assert "Traceback" not in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [["policies"], ["policies", "--json"], ["--help"], ["run", "--help"], ["--version"], RUN],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_full_device_is_one_clear_line(words: list[str]) -> None:
    with Path("/dev/full").open("w") as device:
        ran = subprocess.run(
            [PROGRAM, *words], stdout=device, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ran.returncode == 1
    assert ran.stderr == "handful: the output cannot be written: No space left on device\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    ran = subprocess.run(
        f"{PROGRAM} policies --json | head -c 1", shell=True, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("[", "")


@pytest.mark.parametrize("words", [RUN, ["plot", "x.parquet"]])
def test_a_folder_that_refuses_files_is_found_before_any_work(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    name = "/proc/x.parquet" if words is RUN else "/proc/x.png"
    monkeypatch.setattr("handful.cli.run.run_cell", full)
    monkeypatch.setattr("handful.cli.plot.read_parquet", full)
    result = CliRunner().invoke(app, [*words, "--out", name])
    assert result.exit_code == 2
    assert f"--out {name}: " in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("files", [[""], ["x.parquet", ""], ["."], ["/"]])
def test_plot_refuses_an_empty_name(files: list[str]) -> None:
    result = CliRunner().invoke(app, ["plot", *files])
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert "empty" in result.stderr or "directory" in result.stderr


def test_a_paper_on_a_full_disk_prints_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from handful.simulation import Cell, Result, run_cell
    from handful.sweeps import running

    def quick(planned: Cell, **_: Any) -> Result:
        from dataclasses import replace

        short = run_cell(replace(planned, horizon=20), engine="python")
        return replace(short, settings={**short.settings, "horizon": planned.horizon})

    monkeypatch.setattr(running, "run_cell", quick)
    monkeypatch.setattr(Path, "replace", full)
    result = CliRunner().invoke(app, ["paper", "table1", "--runs", "2", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "finished cells were not all saved" in result.stderr
    assert "No space left on device" in result.stderr
    assert "Table 1, alpha = 0.347: " in result.stdout
    assert list((tmp_path / "cells").iterdir()) == []


def test_a_paper_whose_figures_cannot_be_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from handful.cli import paper

    monkeypatch.setattr(paper, "run_cells", lambda *_: None)
    monkeypatch.setattr(paper, "loaded", lambda *_: None)
    monkeypatch.setattr("handful.cli.paper.report.draw_all", full)
    monkeypatch.setattr(paper, "_data", lambda *_: [1])
    result = CliRunner().invoke(app, ["paper", "fig3", "--json", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert json.loads(result.stdout) == [1]
    assert f"{tmp_path} cannot be written: No space left on device" in result.stderr
