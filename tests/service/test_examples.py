"""The three examples against the service of a wheel in an empty environment, as a new user's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.serving import served
from tests.pages import ROOT

pytestmark = pytest.mark.xdist_group("examples")

EXAMPLES = sorted(
    path.stem
    for path in (ROOT / "examples").glob("*.py")
    if "handful.client" in path.read_text()  # the others need no service
)


def run(*command: str | Path, folder: Path) -> str:
    # Nothing of the source tree, and no variable of whoever runs the tests.
    kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    kept |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    ran = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=folder, env=kept, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that has the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir")
    run(*build, folder, ROOT, folder=folder)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False)
    programs = folder / "env" / "bin"
    pip = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet")
    constraints = ("--constraint", ROOT / "constraints.txt", "--no-compile")
    run(*pip, *constraints, f"{wheel}[serve,client]", folder=folder)
    return programs


@pytest.fixture(scope="module")
def url(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = [str(programs / "handful")]
    env = {"PATH": os.defpath}
    with served(tmp_path_factory.mktemp("store"), program=program, env=env) as url:
        yield url


def test_there_are_three_examples() -> None:
    assert EXAMPLES == ["headlines", "prompts", "workers"]


def test_the_simulator_is_not_installed(programs: Path, tmp_path: Path) -> None:
    code = "import importlib.util as u; print(u.find_spec('numpy'), u.find_spec('numba'))"
    assert run(programs / "python", "-c", code, folder=tmp_path) == "None None\n"


def test_the_commands_for_a_store_need_no_simulator(programs: Path, tmp_path: Path) -> None:
    def handful(*words: str) -> str:
        return run(programs / "handful", *words, folder=tmp_path)

    handful("keys", "add", "--store", "a.db", "--name", "me", "--scope", "admin")
    assert "me" in handful("keys", "list", "--store", "a.db")
    handful("backup", "--store", "a.db", "--out", "b.db")
    assert handful("doctor", "--store", "b.db")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_beats_choosing_at_random(
    name: str, programs: Path, url: str, tmp_path: Path
) -> None:
    script = ROOT / "examples" / f"{name}.py"
    printed = run(programs / "python", script, "--url", url, folder=tmp_path)
    first, rates, best = printed.splitlines()
    assert first.startswith(f"{name}-")
    *reached, at_random = (float(share) for share in re.findall(r"([\d.]+)%", rates))
    # Visitors of the headlines come by the clock, so how much is learnt depends on the machine.
    margin = 0.0 if name == "headlines" else 10.0
    assert reached[-1] > at_random + margin
    (true_rate,) = re.findall(r"([\d.]+)%", best)
    assert float(true_rate) > at_random + margin
