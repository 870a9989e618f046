"""Small cells for tests of sweeps, in the python engine, and what makes two results equal."""

from __future__ import annotations

from typing import Any

from handful.simulation import Result, run_cell
from handful.simulation.plan import cell
from handful.sweeps.part import Part

TIMES = {"seconds", "compile_seconds", "pulls_per_second", "peak_rss_bytes"}
"""Settings that differ from one run to the next."""


def part(policy: str = "ucb-m", horizon: int = 60, runs: int | range = 12, **more: Any) -> Part:
    """A cell of a few pulls."""
    world = more.pop("world", "linear:7")
    memory = more.pop("memory", 2)
    return Part.whole(cell(policy, world, memory, horizon, runs, **more), "python")


def ran(one: Part) -> Result:
    """What `simulate` gives."""
    return run_cell(one.cell, engine=one.engine)


def bits(result: Result) -> dict[str, Any]:
    """All that must be equal of two results, as bytes and plain data."""
    stays = [
        {name: array.tolist() for name, array in vars(stay).items()} for stay in result.stays or []
    ]
    return {
        "t": result.curve.t.tobytes(),
        "regret": result.curve.per_run.tobytes(),
        "pulls": None if result.pulls is None else result.pulls.tobytes(),
        "mean_pulls": None if result.mean_pulls is None else result.mean_pulls.tobytes(),
        "stays": stays,
        "settings": {k: v for k, v in result.settings.items() if k not in TIMES | {"sources"}},
    }
