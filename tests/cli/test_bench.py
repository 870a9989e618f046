from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
