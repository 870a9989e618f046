"""The tables of docs/real.md and README.md, made of docs/real.json.

A page has a table between two comments, `<!-- real NAME: begin -->` and `<!-- real NAME: end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from benchmarks.peers import ROOT
from benchmarks.real.cells import DELAYS, HORIZONS
from benchmarks.real.contestants import ALL_ARMS, CONTESTANTS, GROUPS, OTHERS, Contestant
from benchmarks.real.results import Results, Row
from benchmarks.real.sources import SOURCES, Source

PAGE = ROOT / "docs" / "real.md"
README = ROOT / "README.md"
USUAL_RUNS = 200
SHORT_HORIZON = 10**5
"""Of the table in README.md."""


def write_pages(results: Results) -> None:
    """Write the tables into both pages."""
    for path, tables in ((PAGE, FULL), (README, SHORT)):
        text = path.read_text()
        for name, table in tables.items():
            text = with_table(text, name, table(results))
        path.write_text(text)


def with_table(text: str, name: str, table: str) -> str:
    """Return a page's text with a table in its place."""
    place = re.compile(f"(<!-- real {name}: begin -->\n).*?(<!-- real {name}: end -->)", re.S)
    found, count = place.subn(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", text)
    if count != 1:
        raise ValueError(f"the page has {count} places for the table {name!r}, not one")
    return found


def written(results: Results) -> str:
    """Return all tables, for a quick look."""
    return "\n\n".join(table(results) for table in {**FULL, **SHORT}.values()) + "\n"


def sets(results: Results) -> str:
    """Return the table of the data sets."""
    head = ("", "arms", "rows", "best mean", "mean of a random arm", "left out")
    lines = [_line(head), "|---|--:|--:|--:|--:|--:|"]
    for source in _present(results):
        fact = results.fact(source.name)
        lines.append(
            _line(
                (
                    source.title, f"{fact.arms:,}", f"{fact.rows:,}", f"{fact.best:.4f}",
                    f"{fact.average:.4f}", f"{fact.few_arms:,} arms, {fact.few_rows:,} rows",
                )
            )
        )  # fmt: skip
    return "\n".join(lines)


def origins(results: Results) -> str:
    """Return the table of what arms and rewards are, and under which licences."""
    head = ("", "an arm is", "its reward is 1 if", "data", "package", "licence")
    lines = [_line(head), "|---|---|---|---|---|---|"]
    for source in _present(results):
        package = f"{source.package.name} {source.package.version}"
        said = (source.arm, source.reward, source.origin, package, source.licence)
        lines.append(_line((source.title, *said)))
    return "\n".join(lines)


def regrets(results: Results) -> str:
    """Return a table for each data set: all contestants, horizons and delays."""
    horizons = [T for T in HORIZONS if any(row.horizon == T for row in results.rows)]
    columns = [(horizon, delay) for horizon in horizons for delay in DELAYS]
    head = ["", *(f"{_power(horizon)}, {_late(delay)}" for horizon, delay in columns)]
    parts = []
    for source in _present(results):
        best = {at: _lowest(results, source.name, CONTESTANTS, *at) for at in columns}
        lines = [f"### {source.title}", "", _line(head), f"|---|{'--:|' * len(columns)}"]
        for group in GROUPS:
            lines.append(_line([f"*{group}*", *([""] * len(columns))]))
            for contestant in (one for one in CONTESTANTS if one.group == group):
                cells = [
                    _shown(results.row(source.name, contestant.key, *at), best[at])
                    for at in columns
                ]
                lines.append(_line([contestant.title, *cells]))
        fact = results.fact(source.name)
        at_random = [f"{horizon * (fact.best - fact.average):,.0f}" for horizon, _ in columns]
        lines.append(_line(["*an arm at random, exactly*", *at_random]))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def short(results: Results) -> str:
    """Return the table of README.md."""
    by_key = {one.key: one for one in CONTESTANTS}
    alone = [by_key[key] for key in ("race-8", "ucb-m-8", "subsampled-greedy")]
    others = [
        ("best other policy of handful with all arms", [
            one for one in CONTESTANTS if one.group == ALL_ARMS and one not in alone
        ]),
        ("best of other packages", [one for one in CONTESTANTS if one.group == OTHERS]),
    ]  # fmt: skip
    head = ["", "delay", *(one.title for one in alone), *(title for title, _ in others)]
    lines = [_line(head), f"|---|{'--:|' * (len(head) - 1)}"]
    for source in _present(results):
        fact = results.fact(source.name)
        for delay in DELAYS:
            at = (SHORT_HORIZON, delay)
            chosen = [results.row(source.name, one.key, *at) for one in alone]
            named = [_lowest(results, source.name, group, *at) for _, group in others]
            best = _lowest_of([*chosen, *named])
            first = f"{source.title}, {fact.arms:,} arms" if delay == DELAYS[0] else ""
            cells = [_shown(row, best) for row in chosen]
            cells += [_shown(row, best, by_key[row.contestant]) if row else "" for row in named]
            lines.append(_line([first, f"{delay}", *cells]))
    return "\n".join(lines)


FULL: dict[str, Callable[[Results], str]] = {
    "sets": sets,
    "origins": origins,
    "regrets": regrets,
}
SHORT: dict[str, Callable[[Results], str]] = {"short": short}


def _present(results: Results) -> list[Source]:
    return [source for source in SOURCES if any(f.data == source.name for f in results.facts)]


def _lowest(
    results: Results, data: str, contestants: Sequence[Contestant], horizon: int, delay: int
) -> Row | None:
    return _lowest_of([results.row(data, one.key, horizon, delay) for one in contestants])


def _lowest_of(rows: Sequence[Row | None]) -> Row | None:
    run = [row for row in rows if row is not None and row.regret is not None]
    return min(run, key=lambda row: row.regret or 0.0, default=None)


def _shown(row: Row | None, best: Row | None, named: Contestant | None = None) -> str:
    """Return a cell: the regret with its interval, the runs, and perhaps whose it is."""
    if row is None:
        return ""
    if row.regret is None:
        return "-" if row.minutes is None else f"({_time(row.minutes)})"
    half = f" ± {row.half:,.0f}" if row.half is not None else ""
    text = f"{row.regret:,.0f}{half}"
    if row is best:
        text = f"**{text}**"
    if row.runs != USUAL_RUNS:
        text += f" [{row.runs}]"
    return f"{text} ({named.title})" if named else text


def _time(minutes: float) -> str:
    return f"{minutes / 60.0:,.0f} h" if minutes >= 90.0 else f"{max(1.0, minutes):,.0f} min"


def _power(horizon: int) -> str:
    return f"T = 10{'⁰¹²³⁴⁵⁶⁷⁸⁹'[len(str(horizon)) - 1]}"


def _late(delay: int) -> str:
    return f"{delay} late" if delay else "at once"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")
