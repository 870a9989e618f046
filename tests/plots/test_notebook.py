"""Figures in a notebook, by IPython's shell and the backend that notebooks use."""

from __future__ import annotations

import json
import os
import subprocess
import sys

CELLS = [
    "import handful\n"
    "r = handful.simulate('ucb-m', 'linear:5', memory=2, horizon=100, runs=2, engine='python',"
    " record=True)",
    "r.plot();",
    "r.plot()",
    "ax = r.plot_memory();",
    "r.plot(r.plot());",
    "import matplotlib.pyplot as plt; plt.plot([1, 2]);",
]
SHELL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shown = []
for cell in json.loads(sys.argv[1]):
    with capture_output() as captured:
        ran = shell.run_cell(cell)
    ran.raise_error()
    images = [output.data["image/png"] for output in captured.outputs]
    shown.append([len(image) > 5000 for image in images])
print(json.dumps(shown))
"""


def test_every_cell_of_a_notebook_shows_its_figure_once() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SHELL, json.dumps(CELLS)],
        env={**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [[], *[[True]] * (len(CELLS) - 1)]
