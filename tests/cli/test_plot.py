from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from click.testing import Result as Called

from handful.cli.app import app
from handful.plots.panels import draw
from handful.simulation import Result

pytestmark = pytest.mark.usefixtures("auto_is_python")


def call(*arguments: str) -> Called:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x: two policies, two memories, two instances, recorded; bare: one cell, not recorded."""
    made = tmp_path_factory.mktemp("results")
    few = ["--horizon", "500", "--runs", "3"]
    grid = [
        "-p",
        "ucb-m",
        "-p",
        "ts-m",
        "-m",
        "2",
        "-m",
        "3",
        "-i",
        "linear:9",
        "-i",
        "power:9:0.3",
    ]
    assert call("run", *grid, *few, "--record", "-o", str(made / "x.parquet")).exit_code == 0
    bare = ["-p", "ucb-m", "-m", "2", "-i", "linear:20", "-o", str(made / "bare.parquet")]
    assert call("run", *bare, *few).exit_code == 0
    return made


@pytest.mark.parametrize("kind", ["regret", "bars", "pulls"])
def test_a_picture_beside_the_file_whose_name_is_printed(folder: Path, kind: str) -> None:
    result = call("plot", str(folder / "x.parquet"), "--kind", kind)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{folder / f'x-{kind}.png'}\n"
    assert (folder / f"x-{kind}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_ending_says_the_form(folder: Path, tmp_path: Path, ending: str, start: bytes) -> None:
    out = tmp_path / f"memory.{ending}"
    chosen = ["--policy", "ucb-m", "--instance", "B_L:9", "--memory", "2", "--run", "2"]
    result = call("plot", str(folder / "x.parquet"), "-k", "memory", *chosen, "-o", str(out))
    assert result.exit_code == 0, result.output
    assert out.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [out]


def test_the_options_reach_the_figure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def watched(kind: str, results: list[Result], **options: Any) -> Any:
        seen.update(options, kind=kind, cells=[r.settings["id"] for r in results])
        return draw(kind, results, **options)

    monkeypatch.setattr("handful.cli.plot.draw", watched)
    files = [str(folder / "x.parquet"), str(folder / "bare.parquet")]
    scales = ["--x", "linear", "--y", "linear", "--title", "Mine"]
    chosen = ["-p", "UCB-M", "-m", "2", "-i", "linear:9", "-i", "linear:20"]
    assert call("plot", *files, *scales, *chosen, "-o", str(folder / "o.svg")).exit_code == 0
    assert seen == {
        "kind": "regret", "run": 0, "x": "linear", "y": "linear", "title": "Mine",
        "cells": ["ucb-m eta=1.0 M=2 linear:9", "ucb-m eta=1.0 M=2 linear:20"],
    }  # fmt: skip
    assert "Mine" in (folder / "o.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.parquet"], "there is no file none.parquet"),
        (["text.parquet"], "text.parquet cannot be read as Parquet"),
        (["other.parquet"], "holds no results of handful"),
        (["x.parquet", "--kind", "bar"], "bar"),
        (["x.parquet", "--kind", "memory"], "8 timelines are more than can be drawn"),
        (["x.parquet", "-k", "memory", "-m", "2", "-p", "ts-m", "--run", "3"], "give 0 to 2"),
        (["bare.parquet", "--kind", "memory"], "handful run --record"),
        (["x.parquet", "--out", "x.jpeg"], "ends in .png or .svg or .pdf"),
        (["x.parquet", "--out", "no/such/x.png"], "no folder"),
        (["x.parquet", "--policy", "moss-m"], "--policy moss-m: the files have ucb-m, ts-m"),
        (["x.parquet", "--memory", "7"], "--memory 7: the files have 2, 3"),
        (["x.parquet", "--instance", "I1"], "the files have linear:9, power:9:0.3"),
        (["x.parquet", "--kind", "bars", "--y", "log"], "as x"),
        ([], "FILE.parquet"),
        (["."], "directory"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(folder)
    Path("text.parquet").write_text("not a table")
    pl.DataFrame({"a": [1]}).write_parquet("other.parquet")
    before = set(folder.iterdir())
    result = call("plot", *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert set(folder.iterdir()) == before


def test_no_window_is_ever_opened(folder: Path) -> None:
    """pyplot is what would open one; it is not even imported."""
    code = (
        "import sys; from handful.cli.app import app\n"
        f"app(['plot', {str(folder / 'bare.parquet')!r}], standalone_mode=False)\n"
        "assert not {'matplotlib.pyplot', 'numba'} & set(sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
