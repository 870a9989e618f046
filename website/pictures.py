"""The pictures on the pages of policies: regret over time on one instance, by the present code.

They are kept in build/site-pictures until the code that they depend on changes.
"""

from __future__ import annotations

import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from hashlib import blake2b
from pathlib import Path

import handful
from handful.plots import style
from handful.simulation import Result, simulate
from website import ROOT
from website.policy_pages import BESIDE, HORIZON, MEMORY, RUNS, instance_for, memory_given

KEPT = ROOT / "build" / "site-pictures"
LOOKS = {"race": style.style(1), "random": ("#777777", style.DASHES[2])}
PACKAGES = ("core", "rules", "policies", "instances", "simulation", "plots")


def digest() -> str:
    """Return a digest of the code that pictures depend on."""
    files = [path for name in PACKAGES for path in (ROOT / "src/handful" / name).rglob("*.py")]
    found = blake2b(digest_size=12)
    for path in [Path(__file__), *sorted(files)]:
        found.update(path.read_bytes())
    return found.hexdigest()


@cache
def result_of(name: str, instance: str, arms: int | None) -> Result:
    """Simulate a policy; compile kernels only for those that look at every arm in each pull."""
    cls = handful.POLICIES[name]
    memory = memory_given(cls, min(MEMORY, arms or MEMORY))
    engine = "auto" if cls.unbounded else "python"
    return simulate(
        name, instance, memory=memory, horizon=HORIZON, runs=RUNS, seed=1, engine=engine, n_jobs=1
    )


def draw(name: str, path: Path) -> None:
    """Draw the picture of a policy."""
    cls = handful.POLICIES[name]
    names = [name, *(other for other in BESIDE if other != name)]
    results = [result_of(each, instance_for(cls), cls.own_arms) for each in names]
    looks = [style.style(0), *(LOOKS[other] for other in names[1:])]
    figure, ax = style.figure(1, 1, 6.4, 3.4)
    style.plot_regret(results, ax, names=names, styles=looks)
    style.save(figure, str(path))


def folder() -> Path:
    """Return the folder with the pictures of the present code; missing ones are drawn."""
    there = KEPT / digest()
    there.mkdir(parents=True, exist_ok=True)
    for old in KEPT.iterdir():
        if old != there:
            shutil.rmtree(old)
    missing = [name for name in handful.POLICIES if not (there / f"{name}.svg").exists()]
    if missing:
        print(f"drawing the pictures of {len(missing)} policies ...", file=sys.stderr)
        with ProcessPoolExecutor(2) as pool:
            list(pool.map(draw, missing, [there / f"{name}.svg" for name in missing]))
    return there
