"""The digest that cached cells and kernels belong to follows what decides their numbers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import handful
from handful.compiling.sources import ENTRY_POINTS, ROOT, files_behind

SOURCE = Path(handful.__file__).parent


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    shutil.copytree(SOURCE, folder / "handful", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def digest(folder: Path) -> str:
    code = "from handful.compiling.sources import source_digest; print(source_digest())"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    return ran.stdout.strip()


@pytest.mark.parametrize(
    ("file", "before", "after", "matters"),
    [
        ("simulation/plan.py", "per_decade: int = 10", "per_decade: int = 20", True),
        ("simulation/execution.py", "grid(planned.horizon)", "grid(planned.horizon, 9)", True),
        ("simulation/seeds.py", '"tape", seed, run', '"tape", run, seed', True),
        ("simulation/outcome.py", "np.concatenate(regret)", "np.concatenate(regret) + 0.0", True),
        ("plots/style.py", "#0072B2", "#0072B3", False),
        ("simulation/result.py", "million pulls/s", "million pulls a second", False),
    ],
)  # fmt: skip
def test_a_change_of_what_decides_numbers_changes_the_digest(
    copy: Path, file: str, before: str, after: str, matters: bool
) -> None:
    path = copy / "handful" / file
    text = path.read_text()
    assert before in text
    unchanged = digest(copy)
    path.write_text(text.replace(before, after))
    try:
        assert (digest(copy) != unchanged) is matters
    finally:
        path.write_text(text)


def test_the_grid_the_seeds_and_both_engines_are_behind_the_entry_points() -> None:
    found = {str(file.relative_to(ROOT)) for file in files_behind(ENTRY_POINTS)}
    simulation = ("plan", "seeds", "outcome", "execution", "compiled", "reference", "engines")
    assert {f"simulation/{name}.py" for name in simulation} <= found
