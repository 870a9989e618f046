"""The results as data: rows, goals, what was left out, and the machine."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import handful
from benchmarks import figure, peers, suites
from benchmarks.contest import OURS, Row
from benchmarks.goals import Goal, judged
from benchmarks.suites import Bench, Sizes
from handful.errors import UnknownNameError
from handful.plots.style import save

NAME = "bench"
_SUITES: dict[str, Callable[[Bench], None]] = {
    "textbook": suites.textbook,
    "growth": suites.growth,
    "peers": peers.run,
}


@dataclass(frozen=True)
class Report:
    """A finished run of some suites."""

    names: tuple[str, ...]
    rows: Sequence[Row]
    goals: Sequence[Goal]
    left_out: Sequence[str]
    compiler: dict[str, str] | None
    machine: dict[str, Any]

    def ratio(self, row: Row) -> float | None:
        """Return the time of a pull relative to UCB-M or UCB1 in handful, on the same job."""
        base = row.job.policy if row.job.policy in ("ucb-m", "ucb1") else "ucb-m"
        own = [
            other.ns_per_pull
            for other in self.rows
            if other.by == OURS and other.job.policy == base and _comparable(row, other)
        ]
        return row.ns_per_pull / own[0] if own else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "suites": list(self.names),
            "machine": self.machine,
            "compiler": self.compiler,
            "rows": [{**row.to_dict(), "ratio": self.ratio(row)} for row in self.rows],
            "goals": [goal.to_dict() for goal in self.goals],
            "left_out": list(self.left_out),
        }


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the suites asked for, each once, or raise an error that names the nearest one."""
    for name in names:
        if name not in _SUITES:
            raise UnknownNameError("suite", name, _SUITES)
    return tuple(dict.fromkeys(names)) or suites.DEFAULT


def measure(names: Sequence[str], sizes: Sizes, show: Callable[[float, str], None]) -> Report:
    """Run the suites; `show` is called with the contests done and what comes next."""
    bench = Bench(sizes, show)
    if set(names) - {"peers"}:
        bench.build_c_loop()
    for name in names:
        _SUITES[name](bench)
    if not figure.panels(bench.rows):
        bench.left_out.append("the figure, since there is nothing to compare handful with")
    compiler = None
    if bench.c_loop is not None:
        compiler = {"version": bench.c_loop.compiler, "command": bench.c_loop.command}
    return Report(
        tuple(names), bench.rows, judged(bench.rows), bench.left_out, compiler, _machine()
    )


def write(report: Report, folder: Path) -> list[Path]:
    """Write the JSON, and the figure if there is anything to draw; return what a user opens."""
    data = folder / f"{NAME}.json"
    data.write_text(json.dumps(report.to_dict(), indent=1) + "\n")
    drawn = figure.draw(report)
    if drawn is None:
        return [data]
    pictures = [folder / f"{NAME}.svg", folder / f"{NAME}.png"]
    for path in pictures:
        save(drawn, str(path))
        drawn.set_layout_engine("none")  # laid out once is enough
    return [data, pictures[1]]


def _comparable(row: Row, other: Row) -> bool:
    a, b = row.job, other.job
    same = a.group == b.group and a.instance == b.instance and a.memory == b.memory
    return same and (a.horizon == b.horizon or a.group == suites.PEERS)


def _machine() -> dict[str, Any]:
    return {
        "handful": handful.__version__,
        "python": platform.python_version(),
        "numba": version("numba"),
        "processor": _processor(),
        "system": platform.system(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    """Return the processor's name if the system provides it, or its architecture."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    names = [line.partition(":")[2] for line in text.splitlines() if line.startswith("model name")]
    return (names or [platform.processor() or platform.machine()])[0].strip()
