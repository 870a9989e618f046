"""The picture of the README's first screen, from a smaller simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from handful.cli import figures
from handful.simulation import Cell, Result, run_cell
from handful.studies import headline
from handful.studies.leaderboard.arenas import Arena
from handful.sweeps import running


def test_the_cells_are_those_of_the_caption() -> None:
    race, thompson = headline.cells(0)
    assert (race.policy.name, race.memory, thompson.policy.name) == ("race", 8, "ts")
    for cell in (race, thompson):
        assert cell.instance.n_arms == 10_000
        assert cell.instance.best_mean == 0.05
        assert cell.horizon == 100_000


def test_a_random_headline_loses_the_mean_gap_a_view() -> None:
    # Means fall evenly from 0.05 to 0.0000505..., so that the mean gap is half of the span.
    world = headline.cells(0)[0].instance
    expected = 0.5 * (world.mean(0) - world.mean(9_999))
    assert headline.lost_at_random(1000) == pytest.approx(1000 * expected)


def test_the_picture_labels_each_line_with_what_was_lost() -> None:
    race, thompson = (
        run_cell(replace(cell, horizon=60, runs=3), engine="python") for cell in headline.cells(0)
    )
    made = headline.draw(race, thompson)
    texts = [text.get_text() for text in made.axes[0].texts]
    assert f"remembers 8:\n{race.regret.mean:,.0f} clicks lost" in texts[2]
    assert f"remembers all 10,000:\n{thompson.regret.mean:,.0f} clicks lost" in texts[1]
    assert "3 runs of Race" in made.axes[0].get_xlabel()


def test_pictures_are_drawn_from_cells_that_are_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_python(cell: Cell, **given: Any) -> Result:
        return run_cell(cell, engine="python")

    monkeypatch.setattr(running, "run_cell", in_python)
    monkeypatch.setattr(figures, "RACE_SHOWN", ("race", "linear:5:0.05", 2, 300))
    monkeypatch.setattr(figures, "LEADERBOARD_SHOWN", (Arena("ten", "linear:10", "ten arms", 60),))
    out = tmp_path / "images"
    words = ["memory", "leaderboard", "--out", str(out), "--cells", str(tmp_path / "cells")]
    ran = CliRunner().invoke(figures.main, words)
    assert ran.exit_code == 0, ran.output
    drawn = ["memory.png", "leaderboard.png"]
    assert ran.stdout.split() == [str(out / name) for name in drawn]
    assert sorted(path.name for path in out.iterdir()) == sorted(drawn)
    again = CliRunner().invoke(figures.main, words)
    assert again.stderr.count("0 cells to run") == 2
