"""What happens when means change, though every policy assumes stationary rewards.

Policies run pull by pull on ten arms whose means change half way; regret is relative to the arm
that is the best at the time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from handful.core.rng import stream, uniform, words
from handful.plots.style import DASHES, PALETTE, figure, label_ends, line_with_band
from handful.policies import policy_class
from handful.simulation.sources import source_digest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PULLS = 100_000
CHANGE = PULLS // 2
EVERY = 1000
RUNS = 20
CONTESTANTS = (("race", 2), ("race", 4), ("ts-m", 2), ("imed", None))
LOOKS = ((PALETTE[1], "-"), (PALETTE[1], DASHES[1]), (PALETTE[0], "-"), ("#707070", "-"))
"""Of the contestants' lines."""


@dataclass(frozen=True)
class Scenario:
    """Means before the change and after it."""

    name: str
    title: str
    before: tuple[float, ...]
    after: tuple[float, ...]


_LOW = (0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15)
SCENARIOS = (
    Scenario("falls", "the best arm falls from 0.8 to 0.2", (0.8, 0.6, *_LOW), (0.2, 0.6, *_LOW)),
    Scenario("rises", "another rises from 0.6 to 0.95", (0.8, 0.6, *_LOW), (0.8, 0.95, *_LOW)),
)


@dataclass(frozen=True)
class Drifts:
    """Regret over time by scenario and contestant: [run, time]."""

    regret: dict[str, dict[str, NDArray[np.float64]]]
    runs: int

    def after(self, scenario: str, contestant: str) -> float:
        """The mean regret per pull since the change."""
        curve = self.regret[scenario][contestant].mean(axis=0)
        return float((curve[-1] - curve[CHANGE // EVERY - 1]) / (PULLS - CHANGE))


def label(policy: str, memory: int | None) -> str:
    """Return the name of a contestant."""
    title = policy_class(policy).title
    return title if memory is None else f"{title}, M = {memory}"


def one_run(
    policy: str, memory: int | None, scenario: Scenario, seed: int, run: int
) -> list[float]:
    """Return the regret after every `EVERY` pulls."""
    word = words("drift", policy, seed, run, count=1)[0]
    learner = policy_class(policy)(arms=len(scenario.before), memory=memory, seed=word)
    luck = stream("drift", scenario.name, seed, run)
    regret = 0.0
    curve = []
    for t in range(PULLS):
        means = scenario.before if t < CHANGE else scenario.after
        arm = learner.select()
        learner.update(arm, 1.0 if uniform(luck) < means[arm] else 0.0)
        regret += max(means) - means[arm]
        if (t + 1) % EVERY == 0:
            curve.append(regret)
    return curve


def simulate(
    folder: Path, seed: int, runs: int, report: Callable[[str], None], fresh: bool = False
) -> Drifts:
    """Run all contestants, each cached in the folder; `report` is called before one is run."""
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    for scenario in SCENARIOS:
        found[scenario.name] = {}
        for policy, memory in CONTESTANTS:
            sources = source_digest(policy_class(policy).__module__)
            text = f"{scenario} {policy} {memory} {seed} {runs} {PULLS} {sources}"
            digest = blake2b(text.encode(), digest_size=6).hexdigest()
            path = folder / f"drift-{policy}-{digest}.json"
            curves = None if fresh else _load(path)
            if curves is None:
                report(f"drift: {label(policy, memory)}, {scenario.title}")
                curves = [one_run(policy, memory, scenario, seed, run) for run in range(runs)]
                part = path.with_suffix(".part")
                part.write_text(json.dumps(curves), encoding="utf-8")
                part.replace(path)
            found[scenario.name][label(policy, memory)] = np.array(curves)
    return Drifts(found, runs)


def _load(path: Path) -> list[list[float]] | None:
    """Return the cached curves, or None if there is no file or it cannot be read."""
    try:
        curves: list[list[float]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return curves


def draw(drifts: Drifts) -> Figure:
    """Draw regret over time in both scenarios."""
    made, axes = figure(1, len(SCENARIOS), 9.0, 3.6)
    times = np.arange(EVERY, PULLS + 1, EVERY)
    for ax, scenario in zip(axes, SCENARIOS, strict=True):
        shown = zip(drifts.regret[scenario.name].items(), LOOKS, strict=True)
        for (name, curves), look in shown:
            line_with_band(ax, times, curves, name, look)
        ax.axvline(CHANGE, color="#333333", linewidth=0.8)
        ax.set_title(scenario.title, fontsize=10)
        ax.set_xlabel("pulls")
        ax.set_ylabel("regret")
        label_ends(ax)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.set_xticks([0, CHANGE, PULLS])
    return made
