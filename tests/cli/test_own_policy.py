"""A policy of one's own on the command line: module:Class from the current directory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import handful
from handful.errors import SettingError
from handful.simulation import simulate
from handful.simulation.plan import parse_policy

PROGRAM = str(Path(sys.executable).parent / "handful")
MODULE = '''
import handful


class Greedy(handful.UCBM):
    """UCB-M under another name."""

    name, title = "greedy-m", "Greedy-M"
    summary = "greedy with a bonus"


class Nameless(handful.Policy):
    """A policy without a name."""


def function(): ...


number = 3
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "needy.py").write_text("import no_such_package\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


def test_it_is_run_like_one_of_handfuls(folder: Path) -> None:
    words = ["-m", "2", "-i", "linear:9", "-T", "200", "-r", "3", "--json", "--engine", "python"]
    ran = program("run", "-p", "mine:Greedy", "-p", "mine:Greedy:eta=0.2", "-j", "2", *words)
    assert ran.returncode == 0, ran.stderr
    cells: list[dict[str, Any]] = json.loads(ran.stdout)
    assert [(c["policy"], c["settings"]["eta"]) for c in cells] == [
        ("greedy-m", 1.0), ("greedy-m", 0.2)
    ]  # fmt: skip
    assert cells[0]["regret_per_run"] != cells[1]["regret_per_run"]


def test_it_is_described(folder: Path) -> None:
    ran = program("policies", "mine:Greedy")
    assert ran.stdout.startswith("greedy-m: Greedy-M\n  greedy with a bonus\n"), ran.stderr


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("none:Greedy", "no module 'none' can be imported"),
        ("none:Greedy", "the current directory is searched, too"),
        ("rase:Greedy", "did you mean race"),
        ("mine:Gready", "module mine has no Gready"),
        ("mine:number", "is not a subclass of handful.Policy"),
        ("mine:function", "is not a subclass of handful.Policy"),
        ("mine:Nameless", "Nameless has no name"),
        ("mine:Greedy:eta", "setting=number"),
        ("mine:Greedy:beta=1", "no greedy-m setting 'beta'"),
        ("broken:X", "importing broken failed: ZeroDivisionError"),
        ("needy:X", "No module named 'no_such_package'"),
        ("mine", "there is no policy 'mine'"),
        ("mine:eta=2", "there is no policy 'mine'"),
    ],
)
def test_what_cannot_be_imported_is_one_clear_line(folder: Path, policy: str, said: str) -> None:
    ran = program("run", "-p", policy, "-m", "2", "-i", "linear:9", "-T", "20")
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_class_of_an_installed_module_can_be_named_in_python_too() -> None:
    cls, settings = parse_policy("handful.policies.race:Race")
    assert (cls, settings) == (handful.Race, {})
    found = simulate("handful:UCBM:eta=0.5", "linear:5", memory=2, horizon=20, runs=1,
                     engine="python")  # fmt: skip
    assert found.settings["settings"] == {"eta": 0.5}
    with pytest.raises(SettingError, match=r"no module 'handful\.nothing'"):
        parse_policy("handful.nothing:Race")


def test_an_error_while_a_module_is_imported_is_not_taken_for_a_missing_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sqroot.py").write_text("import math\n\nx = math.sqroot(2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingError, match=r"no attribute 'sqroot'.*sqroot\.py, line 3"):
        parse_policy("sqroot:A")


def test_a_module_may_have_the_name_of_a_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "race.py").write_text(
        "import handful\n\n\nclass Mine(handful.Race):\n    name = 'mine'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert parse_policy("race:Mine")[0].name == "mine"
    with pytest.raises(SettingError, match="module race has no Yours"):
        parse_policy("race:Yours")
    with pytest.raises(SettingError, match="'Mine' is not a setting of imed"):
        parse_policy("imed:Mine")
