"""The leaderboard: who takes part, what follows from the scores, and the page."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import beta

from handful.cli import leaderboard
from handful.cli.app import app
from handful.core.shuffle import Shuffle
from handful.policies import POLICIES
from handful.policies.given import seed_word
from handful.simulation import Cell, Result, run_cell
from handful.simulation.seeds import policy_seed
from handful.studies import pages
from handful.studies.leaderboard import arenas, figures, page, scores
from handful.studies.leaderboard.arenas import ARENAS, BEST_LAST, Arena, Entry, entries, planned
from handful.studies.leaderboard.conditions import DRIFT, SHEETS, TRAFFIC, Sheet, winners
from handful.studies.leaderboard.scores import Board, Score, place_of_best
from handful.studies.results import Results
from handful.sweeps import running
from tests.browser import missing_pictures, opened, sticking_out

pytestmark = pytest.mark.xdist_group("report")  # they share a small board


def test_every_policy_takes_part_or_is_said_not_to() -> None:
    somewhere = {entry.policy.partition(":")[0] for arena in ARENAS for entry in entries(arena)}
    assert somewhere | set(arenas.LEFT_OUT) == set(POLICIES)
    assert not somewhere & set(arenas.LEFT_OUT)


def test_every_cell_can_be_planned_and_is_there_once() -> None:
    cells = list(arenas.cells(1000, 0))
    assert len({(cell.id, cell.horizon) for cell in cells}) == len(cells)
    for arena in ARENAS:
        race = [entry.memory for entry in entries(arena) if entry.policy == "race"]
        assert race == [2, 4, 8, 10, 16]
    assert {cell.runs for cell in cells if cell.policy.name == "race"} == {1000, 100}


def test_runs_are_fewer_where_a_cell_is_slow() -> None:
    def runs(arena: Arena, policy: str, memory: int | None = 2) -> int:
        found = [e for e in entries(arena) if (e.policy, e.memory) == (policy, memory)]
        return planned(arena, found[0], 1000).runs

    harder, other, longer = arenas.HARDER[0], arenas.OTHER_REWARDS[0], arenas.LARGE[2]
    assert longer.horizon > 10**6
    for arena in (arenas.FINITE[0], harder, longer):
        assert runs(arena, "race") == (100 if arena is longer else 1000)
    policies = [("ts-m", 2), ("mpse", None), ("klucb-m", 2), ("imed", None)]
    assert [runs(arenas.FINITE[0], *p) for p in policies] == [1000, 1000, 1000, 1000]
    for arena in (harder, arenas.HELD_OUT[0]):
        assert [runs(arena, *p) for p in policies] == [100, 100, 50, 50]
    assert [runs(other, *p) for p in policies] == [100, 100, 25, 50]
    assert [runs(longer, *p) for p in policies] == [50, 50, 25, 50]
    rule = next(e for e in entries(harder) if e.policy == "klucb-m")
    assert [planned(harder, rule, asked).runs for asked in (1, 3, 40, 400)] == [1, 3, 5, 20]


def test_arms_of_endless_arenas_are_as_rare_as_two_target_is_given() -> None:
    for arena in (arena for arena in ARENAS if arena.endless):
        world = planned(arena, next(entries(arena))).instance
        near = 0.02 * world.best_mean
        # P(mean > best - near), from the Beta distribution of the means.
        probability = beta.sf(1.0 - near / world.top, world.a, world.b)
        assert arena.a * near**arena.b == pytest.approx(probability, rel=0.05)


def some_scores(arena: Arena, factor: float = 1.0) -> list[Score]:
    made = []
    for place, entry in enumerate(entries(arena)):
        mean = {"race": 50.0 * factor, "imed": 40.0}.get(entry.policy, 100.0 + place)
        spread = np.linspace(0.5, 1.5, 50)
        made.append(Score(mean * spread, arena, entry))
    return made


def test_a_loss_is_found_where_there_is_one() -> None:
    first, second = ARENAS[:2]
    board = Board([*some_scores(first), *some_scores(second, 2.5)])
    lost = [duel for duel in board.duels() if duel.lost]
    assert {duel.race.arena for duel in lost} == {second}
    assert {duel.best.entry.family for duel in lost} == {arenas.PAPER}
    assert all(duel.best.entry.memory == duel.race.entry.memory for duel in lost)
    assert lost[0].ratio == pytest.approx(125.0 / lost[0].best.mean)
    assert board.to_reference(board.of(first, "race", 2)) == pytest.approx(1.25)


def test_memory_that_hurts_and_tails_are_found() -> None:
    arena = ARENAS[0]
    scores = some_scores(arena)
    board = Board(scores)
    assert board.hurt_by_memory() == []
    assert board.blow_ups() == []
    worse = []
    for score in scores:
        regrets = score.per_run
        if score.entry == Entry("race", 8, arenas.RACE):
            regrets = regrets * 2.0
        if score.entry == Entry("race", 4, arenas.RACE):
            regrets = np.concatenate([np.ones(95), np.full(5, 200.0)])
        worse.append(Score(regrets, arena, score.entry))
    board = Board(worse)
    assert [more.entry.memory for _, more in board.hurt_by_memory()] == [8]
    assert [score.entry.memory for score in board.blow_ups()] == [4]


def test_the_best_arm_is_last_where_its_order_says_so() -> None:
    cell = planned(BEST_LAST, Entry("race", 2, arenas.RACE), 1, 3)
    seed = seed_word(policy_seed(3, cell.id, 5))
    order = [Shuffle.of(100, seed).arm_at(place) for place in range(100)]
    assert place_of_best(cell, 3, 5) == order.index(0) / 100


def test_the_command_runs_caches_and_prints(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    finite = Arena("ten", "linear:10", "ten arms", 200)
    endless = Arena("I2", "I2", "endless", 200)
    monkeypatch.setattr(arenas, "ARENAS", (finite, endless))
    for name, some in (("FINITE", (finite,)), ("ENDLESS", (endless,))):
        monkeypatch.setattr(page, name, some)
    last = Arena("best arm last", "linear:10", "the unlucky", 200)
    monkeypatch.setattr(arenas, "BEST_LAST", last)
    sheets = (small_sheet(TRAFFIC), small_sheet(DRIFT))
    for module in (page, leaderboard):
        monkeypatch.setattr(module, "SHEETS", sheets)
    ran = []

    def in_python(cell: Cell, **given: Any) -> Result:
        ran.append(cell.id)
        return run_cell(cell, engine="python")

    monkeypatch.setattr(running, "run_cell", in_python)
    words = ["leaderboard", "--runs", "40", "--out", str(tmp_path)]
    ran_once = CliRunner().invoke(app, words)
    assert ran_once.exit_code == 0, ran_once.output
    in_sheets = [cell for sheet in sheets for cell in sheet.cells(1, 0)]
    assert len(ran) == len(set(ran)) == len(list(arenas.cells(1, 0))) + len(in_sheets)
    text = (tmp_path / "leaderboard.html").read_text(encoding="utf-8")
    assert "too few runs to say" in text
    again = CliRunner().invoke(app, [*words, "--json"])
    assert len(ran) == len(set(ran))  # cached
    data = json.loads(again.stdout)
    saved = json.loads((tmp_path / "leaderboard.json").read_text(encoding="utf-8"))
    assert data[: len(saved)] == saved
    assert len(data) == len(saved) + len(in_sheets)
    assert {d["drift"] for d in data[len(saved) :]} == {None, "falls"}
    for sheet in sheets:
        assert (tmp_path / sheet.file).exists()
    race = {d["arena"]: d for d in data if d["policy"] == "race" and d["memory"] == "2"}
    assert race["ten"]["runs"] == 40
    assert race["ten"]["mean"] < race["ten"]["p99"]
    # Of 40 runs some have the best arm in the last tenth of the order, which is one place of ten.
    if "best arm last" in race:
        assert 2 <= race["best arm last"]["runs"] < 20
    for line in ran_once.stdout.splitlines():
        assert not line.startswith("ten\t2") or f"{race['ten']['mean']:,.0f}" in line
    refused = CliRunner().invoke(app, ["leaderboard", "--runs", "0", "--out", str(tmp_path)])
    assert refused.exit_code == 2
    assert "runs=0" in refused.output


@pytest.fixture(scope="module")
def small_board() -> Board:
    """Two arenas with few runs to a short horizon: what the page is made of."""
    scores = []
    for arena in (ARENAS[5], arenas.ENDLESS[1]):
        for entry in entries(arena):
            cell = replace(planned(arena, entry), horizon=100, runs=20)
            scores.append(Score(run_cell(cell, engine="python").regret.per_run, arena, entry))
    return Board(scores)


def small_sheet(sheet: Sheet) -> Sheet:
    """The first two arenas of a sheet with a short horizon, and few of its policies."""
    few = tuple(replace(arena, horizon=300) for arena in sheet.arenas[:2])
    return replace(sheet, arenas=few, entries=tuple(dict.fromkeys(sheet.shown)))


def results_of(sheet: Sheet) -> Results:
    return Results((cell, run_cell(cell, engine="python")) for cell in sheet.cells(50, 0))


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_every_cell_of_a_sheet_can_be_planned_and_is_there_once(sheet: Sheet) -> None:
    cells = list(sheet.cells(1000, 0))
    assert len({cell.id for cell in cells}) == len(cells)
    assert {cell.runs for cell in cells if cell.policy.name == "race"} == {200}
    assert len({arena.name for arena in sheet.arenas}) == len(sheet.arenas)
    assert set(sheet.shown) <= set(sheet.entries)
    for arena in sheet.arenas:
        (traffic,) = {cell.traffic for cell in cells if cell.world == planned_world(arena)}
        assert (traffic is None) is (arena.delay is None and arena.drift is None)


def planned_world(arena: Arena) -> str:
    return planned(arena, Entry("race", 2, arenas.RACE)).world


def test_who_wins_is_found() -> None:
    sheet = small_sheet(TRAFFIC)
    first = sheet.arenas[0]
    means = {"race": 50.0, "ts-m": 40.0, "thompson": 30.0}
    scores = [
        Score(np.full(5, means.get(entry.policy, 100.0)) + (entry.memory or 0), first, entry)
        for entry in sheet.taking_part(first)
    ]
    (winner,) = winners(Board(scores))
    assert winner.best.entry.policy == "thompson"
    assert winner.bounded.entry.policy == "ts-m"
    assert (winner.race.entry.policy, winner.race.entry.memory) == ("race", 2)
    assert winner.ratio == pytest.approx(52.0 / 30.0)
    assert not winner.is_race
    (winner,) = winners(Board([s for s in scores if s.entry.family == arenas.RACE]))
    assert winner.is_race
    assert winner.ratio == 1.0


@pytest.mark.usefixtures("one_browser")
@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_the_page_of_a_sheet(sheet: Sheet, tmp_path: Path) -> None:
    small = small_sheet(sheet)
    results = results_of(small)
    written = page.write_sheet(small, results, tmp_path, 0)
    assert [path.name for path in written] == [sheet.file, sheet.file.replace("html", "png")]
    text = written[0].read_text(encoding="utf-8")
    for score in small.board(results):
        assert f"{score.mean:,.0f}" in text
    for winner in winners(small.board(results)):
        assert f"{escape(winner.best.entry.label)}: {winner.best.mean:,.0f}" in text
        assert f"{winner.ratio:,.2f}</td>" in text
    assert "http" not in text.replace("http://www.w3.org", "")
    for width in (390, 1280):
        with opened(width) as (tab, seen):
            tab.goto(written[0].as_uri())
            assert missing_pictures(tab) == 0
            assert tab.evaluate("document.images.length") == 1
            assert sticking_out(tab) == []
            assert seen.errors == []


def test_the_page_says_what_the_scores_say(
    small_board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "ENOUGH", 20)
    index = tmp_path / pages.REPORT
    index.write_text(f"<nav>{pages.PLACE_OF_LINK}</nav>", encoding="utf-8")
    written = page.write(small_board, tmp_path, 0)
    text = written[0].read_text(encoding="utf-8")
    for score in small_board:
        assert f"{score.mean:,.0f}" in text
        assert score.enough
        assert f"{score.p99:,.0f}</small>" in text
        assert math.isfinite(score.half)
    monkeypatch.setattr(scores, "ENOUGH", 21)
    fewer = page.write(small_board, tmp_path, 0)[0].read_text(encoding="utf-8")
    assert "</small>" not in fewer
    for duel in small_board.duels():
        assert f"{duel.ratio:,.2f}" in text
    assert "held out" not in text
    finite = tuple(a for a in arenas.FINITE if a in small_board.arenas())
    monkeypatch.setattr(arenas, "HELD_OUT", finite)
    starred = page.write(small_board, tmp_path, 0)[0].read_text(encoding="utf-8")
    for duel in small_board.duels():
        if duel.race.arena in finite:
            assert f"{duel.ratio:,.2f} times the regret" in starred
    # Both memories in the comparison; the heads of its columns, as the paper's and as held out.
    assert starred.count("*</th>") == 2 + 2
    assert "no setting of Race was tried on the instance." in starred
    assert "no setting of Race" not in text
    # Every policy is explained once, with the memories that it has and what it is given.
    for policy in {score.entry.policy for score in small_board}:
        entry = next(s.entry for s in small_board if s.entry.policy == policy)
        shown = list(
            dict.fromkeys(s.entry.shown_memory for s in small_board if s.entry.policy == policy)
        )
        explained = text.split('id="policies"')[1].split('id="tables"')[0]
        row = explained.split(f'<th scope="row">{escape(entry.title)}</th>')
        assert len(row) == 2, policy
        assert row[1].startswith(f"<td>{', '.join(shown)}</td>")
    lost = any(duel.lost for duel in small_board.duels())
    assert ("Race loses" in text) is lost
    assert 'href="leaderboard.html"' in index.read_text(encoding="utf-8")
    assert "http" not in text.replace("http://www.w3.org", "")
    assert all(path.stat().st_size > 1000 for path in written)


@pytest.mark.usefixtures("one_browser")
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_in_a_browser(small_board: Board, tmp_path: Path, width: int) -> None:
    written = page.write(small_board, tmp_path, 0)
    with opened(width) as (tab, seen):
        tab.goto(written[0].as_uri())
        tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert missing_pictures(tab) == 0
        assert tab.evaluate("document.images.length") == 3
        assert sticking_out(tab) == []
        assert seen.errors == []


def test_what_a_policy_is_given_is_said() -> None:
    given = {entry.policy: entry.given for arena in ARENAS for entry in entries(arena)}
    assert given["race"] == given["ucb-m"] == given["imed"] == ""
    assert given["moss-m"] == "T, used if M ≥ K"
    assert given["moss"] == given["mbse"] == "T"
    assert given["two-target:a={a},b={b}"] == "T, how rare good arms are"
    assert given["ucb-air:beta={b}"] == "how rare good arms are"
    assert given["cbt:top={top}"] == "T, the best mean"


def test_held_out_instances_have_a_star_in_the_figures(
    small_board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows() -> list[str]:
        made = [figures.relative(small_board), figures.endless(small_board)]
        return [text.get_text() for one in made for text in one.axes[0].get_yticklabels()]

    assert rows() == [ARENAS[5].name, "I2"]
    monkeypatch.setattr(arenas, "HELD_OUT", (arenas.ENDLESS[1],))
    assert rows() == [ARENAS[5].name, "I2*"]
