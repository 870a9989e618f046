"""The README stays true: its Python runs, its commands run, its targets and files exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> list[str]:
    lines = [line for block in blocks("console") for line in block.splitlines()]
    return [line.partition("#")[0].strip() for line in lines if line.strip()]


def run_python(code: str, tmp_path: Path) -> str:
    script = tmp_path / "example.py"
    script.write_text(code)
    ran = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MPLBACKEND": "agg", "HOME": str(Path.home()), "PATH": ""},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("code", blocks("python"))
def test_its_python_runs(code: str, tmp_path: Path) -> None:
    run_python(code, tmp_path)


def test_the_table_that_it_shows_is_the_one_that_its_code_prints(tmp_path: Path) -> None:
    assert run_python(blocks("python")[0], tmp_path) == blocks("text")[0]


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("handful")])
def test_its_handful_commands_run(line: str, tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "handful"
    ran = subprocess.run(
        [str(program), *shlex.split(line)[1:]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("make")])
def test_its_make_commands_exist(line: str) -> None:
    ran = subprocess.run(
        ["make", "-n", *shlex.split(line)[1:]],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_every_command_is_of_a_kind_that_is_checked() -> None:
    assert len(commands()) >= 6
    assert all(line.split()[0] in ("make", "handful") for line in commands())


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)([^)#]+)\)", README))
def test_its_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()
