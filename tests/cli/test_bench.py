from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import handful
from benchmarks import loops
from tests.cli.test_cli import call
from tests.pages import ROOT

PAGE = (ROOT / "benchmarks" / "README.md").read_text()


def test_it_writes_data_and_a_figure_with_the_documented_keys(tmp_path: Path) -> None:
    result = call("bench", "--quick", "--json", "--out", str(tmp_path / "new"))
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    assert data == json.loads((tmp_path / "new" / "bench.json").read_text())
    assert (tmp_path / "new" / "bench.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "new" / "bench.svg").read_text()
    for key in [*data, *data["rows"][0]]:
        assert f"`{key}`" in PAGE, key
    assert {row["group"] for row in data["rows"]} == {
        "textbook", "growth by T", "growth by M", "growth by K"
    }  # fmt: skip
    assert data["goals"] == []  # small sizes say nothing of them
    assert max(row["n_arms"] for row in data["rows"]) == 10**9
    ucb_m = [row for row in data["rows"] if (row["by"], row["policy"]) == ("handful", "ucb-m")]
    assert {row["ratio"] for row in ucb_m} == {1.0}


def test_without_a_compiler_it_says_so_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "find_compiler", list)
    result = call("bench", "textbook", "--quick", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "left out: C loop: there is no C compiler" in result.stdout
    assert "\tNumba loop\t" in result.stdout
    assert "\tC loop\t" not in result.stdout
    assert json.loads((tmp_path / "bench.json").read_text())["compiler"] is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["textbok"], "there is no suite 'textbok': did you mean textbook?"),
        (["x"], "known: growth, peers, textbook"),
        (["--patience", "0"], "give seconds, more than 0"),
        (["--horizon", "0"], "horizon=0"),
        (["--out", "/dev/null/x"], "--out /dev/null/x"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    given: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("bench", "--quick", *given)
    assert result.exit_code == 2
    assert said in result.output
    assert not list(tmp_path.iterdir())


def test_it_runs_from_any_folder_with_the_benchmarks_of_the_source_tree(tmp_path: Path) -> None:
    # Another package of that name, in the folder or on the path, is not taken.
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").write_text("raise SystemExit('another package')")
    ran = subprocess.run(
        [sys.executable, "-c", "from handful.cli import main; main()", "bench", "textbok"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert ran.returncode == 2
    assert "there is no suite 'textbok'" in ran.stderr


def test_without_the_source_tree_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lib" / "site-packages" / "handful"
    monkeypatch.setattr(handful, "__file__", str(package / "__init__.py"))
    result = call("bench", "--quick", "--out", str(tmp_path / "new"))
    assert result.exit_code == 2
    assert str(package.parent) in result.output
    assert "clone the repository and run `make bench`" in result.output
    assert not (tmp_path / "new").exists()
