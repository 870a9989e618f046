"""The notebooks of the gallery do what they show."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, environment
from website.links import Links
from website.notebooks import cells_of, page, paths, source_of, texts, title_of

RUN = """
import json, sys
from pathlib import Path
from website.notebooks import run, texts

outputs = run(Path(sys.argv[1]))
pictures = [sum("image/png" in each.get("data", {}) for each in cell) for cell in outputs]
sys.__stdout__.write(json.dumps([[texts(cell) for cell in outputs], pictures]))
"""


def pictures_in(path: Path) -> list[int]:
    return [
        sum("image/png" in each.get("data", {}) for each in cell["outputs"])
        for cell in cells_of(path)
        if cell["cell_type"] == "code"
    ]


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        env=environment(), cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    printed, pictures = json.loads(ran.stdout)
    codes = [cell for cell in cells_of(path) if cell["cell_type"] == "code"]
    assert printed == [texts(cell["outputs"]) for cell in codes]
    assert pictures == pictures_in(path)


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_a_notebook_has_a_title_and_outputs(path: Path) -> None:
    title, said = title_of(path)
    assert title
    assert said.endswith(".")
    outputs = [cell["outputs"] for cell in cells_of(path) if cell["cell_type"] == "code"]
    assert any(outputs)
    drawn = [cell for cell in cells_of(path) if "plot" in source_of(cell)]
    assert len([cell for cell in drawn if cell["cell_type"] == "code"]) == sum(pictures_in(path))


def test_a_page_shows_code_outputs_and_pictures(tmp_path: Path) -> None:
    [path] = [path for path in paths() if path.stem == "first-policy"]
    text = page(path, Links(), tmp_path)
    assert text.startswith("# A first policy and its memory\n")
    assert "```python\nimport random\n" in text
    assert '<table class="docutils"><caption>Race(' in text
    assert "](first-policy-1.png)" in text
    assert (tmp_path / "first-policy-1.png").read_bytes().startswith(b"\x89PNG")
    assert "](../design.md)" in text
