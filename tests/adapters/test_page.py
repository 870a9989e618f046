"""docs/adapters.md stays true: its Python runs with the real packages, and prints what it shows."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from handful.adapters.openfeature import HandfulProvider
from tests.client.serving import served
from tests.pages import ROOT, blocks, install_lines, printed_by

PAGE = (ROOT / "docs" / "adapters.md").read_text()
SHOWN = "http://127.0.0.1:8000"
TESTED = {
    "river": "river", "Optuna": "optuna", "Gymnasium": "gymnasium",
    "the OpenFeature SDK": "openfeature-sdk", "scikit-learn": "scikit-learn", "Bytewax": "bytewax",
}  # fmt: skip


def test_the_page_does_what_it_shows(tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(PAGE, "python")
    assert len(found) == 6
    with served(tmp_path) as url:
        for block in blocks(PAGE.replace(SHOWN, url), "python"):
            printed = printed_by(block, names, f"docs/adapters.md:{block.line}")
            assert block.shows(printed), f"docs/adapters.md:{block.line} prints:\n{printed}"


def test_the_page_installs_what_there_is() -> None:
    lines = re.findall(r"`(pip install [^`]*)`", PAGE)
    assert len(lines) == 4
    assert set(lines) <= install_lines()


def test_the_page_names_the_versions_that_it_is_tested_with() -> None:
    pinned = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    for name, package in TESTED.items():
        major, minor, *_ = pinned[package].split(".")
        assert f"{name} {major}.{minor}" in PAGE


def test_the_page_gives_the_defaults_that_there_are() -> None:
    (total,) = re.findall(r"within `total` seconds \((\d+) unless given\)", PAGE)
    assert signature(HandfulProvider).parameters["total"].default == float(total)


@pytest.mark.parametrize("path", sorted((ROOT / "src/handful/adapters").glob("[!_]*.py")), ids=str)
def test_every_adapter_is_on_the_page(path: Path) -> None:
    assert (
        f"handful.adapters.{path.stem} import" in PAGE or f"handful.adapters.{path.stem} " in PAGE
    )
