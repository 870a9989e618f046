"""The report: tables, figures and claims on one page, and as Markdown and LaTeX.

`index.html` contains its figures and opens without a network; `report.md` is for a README,
`report.tex` for a paper. The text is in `templates/`, the numbers come from results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handful import __version__
from handful.plots.style import save
from handful.simulation import Result
from handful.studies.pages import PLACE_OF_LINK, REPORT, embedded, link_leaderboard
from handful.studies.paper import beyond, claims, experiments, figures, tables, verdict
from handful.studies.paper.experiments import EXPERIMENTS, TABULATED, Table
from handful.studies.paper.published import INSTANCES
from handful.studies.results import Results
from handful.studies.typeset import environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INSTANCE_WORDS = {
    "I1": "Beta(0.5, 2), μ* = 1",
    "I2": "Beta(1, 1), μ* = 1",
    "I3": "Beta(0.5, 2), μ* = 0.6",
    "I4": "Beta(1, 1), μ* = 0.6",
}


@dataclass(frozen=True)
class Picture:
    """A panel as a picture of the page."""

    title: str
    words: str
    source: str


def write(results: Results, recorded: Sequence[Result], folder: Path, seed: int) -> list[Path]:
    """Write the report in all forms; returns the files, the page first.

    `recorded` are the runs of UCB-M and of Race whose memory is shown.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pairs = beyond.pairs(results)
    drawn = {
        "memory": figures.timeline(recorded[0]),
        "memory-race": figures.timeline(recorded[1]),
        "race": beyond.draw(pairs),
    }
    shown = _contents(results, pairs, seed)
    shown["pictures"] = {name: embedded(made) for name, made in drawn.items()}
    written = []
    for template, name in (
        ("report.html", REPORT),
        ("report.md", "report.md"),
        ("report.tex", "report.tex"),
    ):
        path = folder / name
        text = environment(template).get_template(template).render(shown)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    for name, made in drawn.items():
        save(made, str(folder / f"{name}.png"))
    link_leaderboard(folder)
    return written


def _contents(results: Results, pairs: list[beyond.Pair], seed: int) -> dict[str, Any]:
    measured = {
        name: tables.measured(experiment, results)
        for name, experiment in EXPERIMENTS.items()
        if isinstance(experiment, Table)
    }
    every_cell = [cell for cells in measured.values() for cell in cells]
    ours, within, farthest = tables.agreement(every_cell)
    judged = claims.judged(results)
    return {
        "version": __version__,
        "place_of_link": PLACE_OF_LINK,
        "seed": seed,
        "horizon": experiments.HORIZON,
        "instances": INSTANCES,
        "instance_words": INSTANCE_WORDS,
        "tables": [
            {
                "name": name,
                "number": name.removeprefix("table"),
                "alpha": table.alpha,
                "rows": tables.by_row(measured[name]),
                "runs": _span(cell.runs for cell in measured[name]),
            }
            for name, table in EXPERIMENTS.items()
            if isinstance(table, Table)
        ],
        "ours": ours,
        "within": within,
        "farthest": farthest,
        "has_few_runs": tables.has_few_runs(every_cell),
        "claims": judged,
        "tally": _tally([claim for claim in judged if claim.papers]),
        "berry": _berry(measured["table1"]),
        "figures": [
            {
                "name": name,
                "caption": figures.caption(experiment, results),
                "groups": [
                    (group.heading, [_picture(panel) for panel in group.panels])
                    for group in figures.groups(experiment, results)
                ],
            }
            for name, experiment in EXPERIMENTS.items()
            if not isinstance(experiment, Table)
        ],
        "pairs": pairs,
        "mean_ratios": {m: beyond.mean_ratio(pairs, m) for m in beyond.SAME_MEMORY},
        "results": results.all(),
        "pulls": sum(r.settings["runs"] * r.settings["horizon"] for r in results.all()),
        "runs": _span(r.settings["runs"] for r in results.all()),
    }


def _tally(judged: Sequence[verdict.Claim]) -> list[tuple[str, int]]:
    order = (verdict.CONFIRMED, verdict.MOSTLY, verdict.PARTLY, verdict.OPEN, verdict.REFUTED)
    found = [claim.verdict for claim in judged]
    return [(words, found.count(words)) for words in order if words in found]


def _berry(cells: Sequence[tables.TableCell]) -> list[tuple[list[tables.TableCell], ...]]:
    """Return the rows of each rule that we have in two readings: as defined, as tabulated."""
    rows = {row[0].row: row for row in tables.by_row(cells)}
    return [
        (rows[name.removesuffix(TABULATED)], rows[name])
        for name in rows
        if name.endswith(TABULATED)
    ]


def _span(numbers: Iterable[int]) -> str:
    """Return the number of runs in words: 20, or from 20 to 100."""
    all_of_them = list(numbers)
    least, most = min(all_of_them), max(all_of_them)
    return str(least) if least == most else f"{least} to {most}"


def _picture(panel: figures.Panel) -> Picture:
    return Picture(panel.title, panel.words, embedded(panel.alone()))


def drawn_figure(name: str, results: Results) -> Figure:
    """Draw one of the paper's figures, with all of its panels."""
    experiment = EXPERIMENTS[name]
    assert not isinstance(experiment, Table)
    title = f"Figure {name.removeprefix('fig')}: {figures.caption(experiment, results)}"
    return figures.together(title, figures.groups(experiment, results))


def draw_all(results: Results, names: Sequence[str], folder: Path) -> list[Path]:
    """Write figures as PNG and SVG; returns the PNG files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in names:
        drawn = drawn_figure(name, results)
        for ending in ("svg", "png"):
            path = folder / f"{name}.{ending}"
            save(drawn, str(path))
            drawn.set_layout_engine("none")  # laid out once is enough
        written.append(path)
    return written
