"""The simulator, a figure, `handful doctor`, and the tutorial, block after block."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from matplotlib.figure import Figure

import handful
from tests.pages import ROOT, blocks, run_page

PROGRAM = str(Path(sys.executable).with_name("handful"))


def handful_says(*words: str) -> str:
    """Return what a command prints; it must end well."""
    ran = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"handful {' '.join(words)}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def tutorial() -> int:
    """Run the tutorial, and return how many blocks it has."""
    page = ROOT / "docs" / "tutorial.md"
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            run_page(page, Path(folder))
        finally:
            os.chdir(before)
    return len(blocks(page.read_text("utf-8"), "python", "console"))


def main() -> None:
    """Check this environment."""
    warnings.filterwarnings("error", module=r"handful(\.|$)")
    os.environ["MPLBACKEND"] = "agg"
    result = handful.simulate("race", "linear:10", memory=2, horizon=2000, runs=5)
    with tempfile.TemporaryDirectory() as folder:
        figure = Path(folder, "regret.png")
        drawn = result.plot().figure
        assert isinstance(drawn, Figure)
        drawn.savefig(figure)
        assert figure.read_bytes().startswith(b"\x89PNG")
        result.to_parquet(Path(folder, "result.parquet"))
    assert "all is well" in handful_says("doctor")
    print(f"simulate, a figure, doctor, {tutorial()} blocks of the tutorial")


if __name__ == "__main__":
    main()
