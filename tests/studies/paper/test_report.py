"""`handful paper` at a small size: the command, the page in a real browser, the files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import handful
from handful.cli.app import app
from handful.simulation import Cell, run_cell
from handful.studies.paper import experiments, figures
from handful.studies.paper.experiments import EXPERIMENTS, Table
from handful.studies.paper.verdict import CONFIRMED, MOSTLY, OPEN, PARTLY, REFUTED
from handful.sweeps import running
from tests.browser import missing_pictures, opened, sticking_out

pytestmark = pytest.mark.xdist_group("report")

KEYS = [
    "row", "memory", "instance", "published_mean", "published_sem", "mean", "sem", "runs", "z",
]  # fmt: skip


def paper(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["paper", *arguments])


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """All experiments with few pulls, by the python engine: nothing to compile."""

    def in_python(cell: Cell, **given: Any) -> handful.Result:
        return run_cell(cell, engine="python")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "HORIZON", 300)
        patch.setattr(experiments, "HORIZONS", (10, 100, 300))
        patch.setattr(experiments, "RECORDED", 300)
        patch.setattr(running, "run_cell", in_python)
        yield


@pytest.fixture(scope="module")
def folder(small: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of two runs a cell.

    The page has all panels, each as a picture; figures 2 to 5 have one panel of them.
    """
    made = tmp_path_factory.mktemp("report")
    together = figures.together

    def drawn(title: str, parts: list[figures.Group]) -> Any:
        few = replace(parts[0], panels=parts[0].panels[:1])
        return together(title, parts if title.startswith("Figure 1") else [few])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "together", drawn)
        result = paper("--runs", "2", "--out", str(made))
    assert result.exit_code == 0, result.output
    for name in ("index.html", "report.md", "report.tex"):
        assert str(made / name) in result.stdout
    return made


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "index.html").read_text()


def printed(*names: str, folder: Path) -> Any:
    result = paper(*names, "--runs", "2", "--json", "--out", str(folder))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def check_figures(folder: Path) -> None:
    for name, experiment in EXPERIMENTS.items():
        if not isinstance(experiment, Table):
            assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            assert (folder / f"{name}.svg").stat().st_size > 5000


def test_every_figure_is_drawn(folder: Path) -> None:
    check_figures(folder)


def test_every_figure_is_drawn_with_all_of_its_panels(small: None, tmp_path: Path) -> None:
    names = [name for name, one in EXPERIMENTS.items() if not isinstance(one, Table)]
    assert paper(*names, "--runs", "2", "--out", str(tmp_path)).exit_code == 0
    check_figures(tmp_path)


def test_finished_cells_are_not_run_again(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}
    again = paper("table1", "--runs", "2", "--out", str(folder))
    assert again.exit_code == 0
    assert "0 cells to run" in again.stderr
    assert before == {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}


@pytest.mark.parametrize("name", ["table1", "table2"])
def test_a_table_as_json_has_every_cell(name: str, folder: Path) -> None:
    cells = printed(name, folder=folder)
    assert len(cells) == 4 * 14
    assert all(list(cell) == KEYS for cell in cells)
    assert {cell["runs"] for cell in cells} == {2}
    assert sum(cell["row"].startswith("Q") for cell in cells) == 32
    for cell in cells:
        error = (cell["sem"] ** 2 + cell["published_sem"] ** 2) ** 0.5
        assert cell["z"] == pytest.approx((cell["mean"] - cell["published_mean"]) / error)


def test_several_names_as_json_have_an_entry_each(folder: Path) -> None:
    found = printed("table1", "claims", "fig1", folder=folder)
    assert list(found) == ["table1", "claims", "fig1"]
    verdicts = {claim["verdict"] for claim in found["claims"]}
    assert verdicts <= {CONFIRMED, MOSTLY, PARTLY, OPEN, REFUTED}
    assert len(found["claims"]) >= 12
    assert {cell["memory"] for cell in found["fig1"]} == {2, 4}


def test_a_single_run_has_no_standard_error(small: None, tmp_path: Path) -> None:
    result = paper("table1", "--runs", "1", "--json", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert {(cell["sem"], cell["z"]) for cell in json.loads(result.stdout)} == {(None, None)}
    shown = paper("table1", "--runs", "1", "--out", str(tmp_path)).stdout
    assert "one run has no standard error" in shown
    assert "nan" not in shown


def test_the_page_has_each_number_that_was_measured(page: str, folder: Path) -> None:
    for name in ("table1", "table2"):
        for cell in printed(name, folder=folder):
            assert f"{cell['mean']:.3f} ± {cell['sem']:.3f}" in page
            assert f"{cell['published_mean']:.2f} ± {cell['published_sem']}" in page


def test_the_page_says_each_claim_its_verdict_and_the_runs(page: str, folder: Path) -> None:
    for claim in printed("claims", folder=folder):
        assert claim["verdict"].capitalize() in page
    assert page.count('class="claim ') == len(printed("claims", folder=folder))
    assert "2 runs a cell" in page
    assert page.count("2 runs</small>") == 2 * 14


def test_the_page_holds_all_that_it_shows(page: str) -> None:
    shown = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(address.startswith(("data:", "#")) for address in shown)
    pictures = [address for address in shown if address.startswith("data:image/svg+xml;base64,")]
    panels = {"fig1": 6, "fig2": 7, "fig3": 9, "fig4": 7, "fig5": 7}
    assert len(pictures) == sum(panels.values()) + 3
    anchors = {address[1:] for address in shown if address.startswith("#")}
    assert anchors <= set(re.findall(r'id="([^"]*)"', page))


@pytest.mark.usefixtures("one_browser")
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_in_a_browser(folder: Path, width: int) -> None:
    with opened(width) as (tab, seen):
        tab.goto((folder / "index.html").as_uri())
        assert missing_pictures(tab) == 0
        assert tab.evaluate("document.images.length") == 39
        assert sticking_out(tab) == []
        tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert sticking_out(tab) == []
        assert seen.errors == []
        assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []
        assert tab.pdf().startswith(b"%PDF")


@pytest.mark.usefixtures("one_browser")
def test_the_browser_sees_what_is_wrong_with_a_page() -> None:
    with opened(390) as (tab, seen):
        tab.set_content(
            "<img src='data:image/png;base64,AAAA'><p style='width:500px'>wide</p>"
            "<div style='overflow-x: auto'><p style='width:600px'>in a box</p></div>"
            "<div style='overflow-x: auto; width:700px'>the box</div>"
            "<script>console.error('oh')</script><script>nothing()</script>"
        )
        assert missing_pictures(tab) == 1
        assert sticking_out(tab) == ["P wide", "DIV the box", "the page"]
        assert any("oh" in error for error in seen.errors)
        assert any("nothing" in error for error in seen.errors)


def test_the_markdown_has_whole_tables(folder: Path) -> None:
    text = (folder / "report.md").read_text()
    tables = [part.splitlines() for part in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
    assert [len(rows) for rows in tables[1:]] == [2 + 14, 2 + 14, 2 + 17]
    for rows in tables:
        assert len({row.count("|") for row in rows}) == 1
        assert set(rows[1]) <= set("|-:")
    for name in re.findall(r"\]\(([\w-]+\.png)\)", text):
        assert (folder / name).exists()


def test_the_latex_is_balanced_and_plain(folder: Path) -> None:
    text = (folder / "report.tex").read_text()
    assert text.count(r"\begin{") == text.count(r"\end{") > 6
    assert text.count("{") == text.count("}")
    assert text.count("$") % 2 == 0
    assert not set(text) - set(map(chr, range(128))), "letters that plain LaTeX does not know"
    rows = re.findall(r"^Q.*pm.*$", text, re.MULTILINE)
    assert len(rows) == 2 * 8
    assert {row.count("&") for row in rows} == {9}


def test_a_figure_of_the_page_is_the_same_bytes_again(folder: Path) -> None:
    from handful.studies.pages import embedded

    def line(ax: Any) -> None:
        ax.plot([1, 2])

    def panel() -> str:
        return embedded(figures.Panel("t", "w", line).alone())

    assert panel() == panel()


def test_the_command_refuses_nonsense_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert paper("fig9").exit_code == 2
    assert paper("fig1", "--runs", "0").exit_code == 2
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("os.access", lambda path, mode: not str(path).endswith("cells"))
    locked = paper("fig1", "--out", str(tmp_path))
    assert locked.exit_code == 2
    assert "cannot be written to" in locked.output
    refused = paper("fig1", "--out", str(tmp_path / "file" / "report"))
    assert refused.exit_code == 2
    assert "Traceback" not in refused.output
