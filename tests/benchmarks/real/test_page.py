"""The tables and the figure: of made-up results, and those in the repository."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.real import page, results
from benchmarks.real.cells import DELAYS, HORIZONS, Cell, Outcome, planned
from benchmarks.real.contestants import ALL_ARMS, BOUNDED, CONTESTANTS
from benchmarks.real.figure import save_figure
from benchmarks.real.results import Results, load, of_cells, save
from benchmarks.real.sources import SOURCES, Arms
from tests.pages import ROOT, blocks, run_command

ARMS = Arms(1234, 5, 67, tuple(i / 300 for i in range(300)))


def made_up() -> Results:
    """Two data sets; the regret of the i-th contestant is 100 i, give or take 10 a run."""
    data = {"clicks": ARMS, "planes": ARMS}
    cells = planned(data, HORIZONS[:2])
    places = {one.key: i for i, one in enumerate(CONTESTANTS, 1)}
    found = {}
    for cell in cells:
        middle = 100.0 * places[cell.contestant.key]
        if cell.runs:
            regrets = [middle + (10.0 if i % 2 else -10.0) for i in range(cell.runs)]
            found[cell] = Outcome("1.0", regrets, 1.0)
    return of_cells(data, cells, found)


def test_intervals_are_those_of_student() -> None:
    cell = Cell("clicks", ARMS, CONTESTANTS[0], 10**4, 0, 3)
    (row,) = of_cells({"clicks": ARMS}, [cell], {cell: Outcome("1.0", [1.0, 2.0, 3.0], 1.0)}).rows
    assert (row.runs, row.regret, row.version) == (3, 2.0, "1.0")
    assert row.half == pytest.approx(4.302653 / 3**0.5, rel=1e-5)


def test_a_cell_that_is_left_out_says_how_long_it_would_take() -> None:
    cell = Cell("clicks", ARMS, CONTESTANTS[-1], 10**6, 200, 0)
    (row,) = of_cells({"clicks": ARMS}, [cell], {}).rows
    assert row.minutes == pytest.approx(3 * CONTESTANTS[-1].seconds(300, 10**6, 200) / 60, rel=1e-5)
    assert (row.runs, row.regret) == (0, None)
    (failed,) = of_cells({"clicks": ARMS}, [replace(cell, runs=6)], {}).rows
    assert failed == replace(row, minutes=None)


def test_results_are_read_back_as_they_were(tmp_path: Path) -> None:
    made = made_up()
    save(made, tmp_path / "real.json")
    assert load(tmp_path / "real.json") == made


def test_the_tables_show_regret_runs_the_lowest_and_what_is_missing() -> None:
    made = made_up()
    text = page.regrets(made)
    assert text.count("### ") == 2
    assert (
        "| | T = 10⁴, at once | T = 10⁴, 200 late | T = 10⁵, at once | T = 10⁵, 200 late |" in text
    )
    rows = [line for line in text.splitlines() if line.startswith("| Race, M = 2 ")]
    assert rows == ["| Race, M = 2 | **100 ± 1** | **100 ± 1** | **100 ± 1** | **100 ± 1** |"] * 2
    assert text.count("**") == 2 * 2 * 4
    (mabwiser, _) = (line for line in text.splitlines() if line.startswith("| MABWiser"))
    assert "[3]" in mabwiser
    assert "min)" in mabwiser
    # 300 means from 0 to 299/300: the best is 0.5 above the average, less 1/600.
    assert "| *an arm at random, exactly* | 4,983 | 4,983 | 49,833 | 49,833 |" in text
    assert {len(line.split("|")) for line in text.splitlines() if line.startswith("|")} == {7}
    assert "| Fashion items | 300 | 1,234 | 0.9967 | 0.4983 | 5 arms, 67 rows |" in page.sets(made)


def test_the_short_table_names_the_best_of_the_others() -> None:
    lines = page.short(made_up()).splitlines()
    assert len(lines) == 2 + 2 * 2
    first = lines[2].split(" | ")
    assert first[:2] == ["| Fashion items, 300 arms", "0"]
    assert first[2] == "**200 ± 1**"
    assert first[5].startswith("600 ± ")
    assert first[5].endswith("(IMED)")
    assert "(gittins, its own engine)" in first[6]
    assert lines[3].startswith("| | 200 | ")


def test_a_table_is_put_in_its_place_and_nowhere_else() -> None:
    text = "a\n<!-- real one: begin -->\nold\n<!-- real one: end -->\nb\n"
    new = page.with_table(text, "one", "| new |")
    assert new == "a\n<!-- real one: begin -->\n\n| new |\n\n<!-- real one: end -->\nb\n"
    assert page.with_table(new, "one", "| new |") == new
    with pytest.raises(ValueError, match="0 places"):
        page.with_table(text, "two", "")


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    save_figure(made_up(), tmp_path / "real.png")
    assert (tmp_path / "real.png").read_bytes().startswith(b"\x89PNG")


# What is in the repository.


@pytest.mark.parametrize("name", page.FULL)
def test_the_page_shows_the_results_in_the_repository(name: str) -> None:
    text = page.PAGE.read_text()
    assert page.with_table(text, name, page.FULL[name](load())) == text


def test_the_readme_shows_the_results_in_the_repository() -> None:
    text = page.README.read_text()
    assert page.with_table(text, "short", page.short(load())) == text


def test_the_results_in_the_repository_are_of_all_contestants() -> None:
    stored = load()
    assert [fact.data for fact in stored.facts] == [source.name for source in SOURCES]
    for fact in stored.facts:
        for one in CONTESTANTS:
            for horizon in HORIZONS:
                for delay in DELAYS:
                    row = stored.row(fact.data, one.key, horizon, delay)
                    assert row is not None
                    assert row.runs in (0, one.planned(fact.arms, horizon, delay))
                    if one.group == BOUNDED and horizon == page.SHORT_HORIZON:
                        assert row.runs == page.USUAL_RUNS
                    if row.regret is not None and row.half is not None:
                        whole = horizon * (fact.best - fact.average)
                        assert row.half > 0.0
                        assert 0.0 < row.regret < 1.2 * whole
    assert results.FILE.parent == page.PAGE.parent
    assert {one.group for one in CONTESTANTS} > {BOUNDED, ALL_ARMS}


def test_the_commands_of_the_page_exist() -> None:
    given = [line for block in blocks(page.PAGE.read_text(), "console") for line in block.commands]
    assert [line.split("#")[0].split() for line in given] == [
        ["make", "real"],
        ["make", "real", "RUNS=5"],
    ]
    run_command("make -n real RUNS=5", ROOT)
