"""Other packages on UCB1, ten Bernoulli arms, each in its own loop or runner.

They need other versions of our dependencies, so each has an environment of its own, created at its
first use under `build/peers` of the source tree. That environment's Python runs the package's
driver, `benchmarks/drivers/run_NAME.py`, which prints the times; `drivers/job.py` describes them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.contest import Job, Row, contest, ours
from benchmarks.suites import PEERS, Bench

ROOT = Path(__file__).parents[1]
"""The source tree, from which drivers are run and under which environments are created."""
INSTANCE, K = "linear:10", 10
LEAST_REWARD = 0.7
"""Pulling at random has 0.5 on this instance, UCB1 0.85 in 1,000 pulls."""
_HOUR = 3600.0
_ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA")
}


@dataclass(frozen=True)
class Peer:
    """A package to compare with: how it is installed, and how many pulls it makes."""

    name: str
    requirements: tuple[str, ...]
    pulls: int = 0
    alone: tuple[str, ...] = ()
    """Installed without what it asks for: the driver needs little of it."""


ALL = (
    Peer("pymab", ("pymab>=2,<3",), 10**6),
    Peer("river", ("river>=0.21", "gymnasium"), 10**6),
    # Slow enough that a tenth of the pulls is enough for the time of one.
    Peer("MABWiser", ("mabwiser>=2.7",), 10**5),
    Peer("SMPyBandits", ("SMPyBandits>=0.9.7", "numpy<1.24", "scipy<1.11"), 10**5),
)


class PeerError(Exception):
    """A peer that cannot be installed or run; the message says why. Caught in `run`."""


def run(bench: Bench) -> None:
    """Measure every peer, and handful before each of them; handful's best turn counts."""
    job = Job(PEERS, "ucb1", INSTANCE, K, bench.sizes.horizon)
    own: list[Row] = []
    others: list[Row] = []
    for peer in ALL:
        bench.show(bench.done, f"peers: {peer.name} (installed into build/peers when first run)")
        own += contest([ours(job, bench.sizes.runs)], bench.sizes.rounds, bench.sizes.enough)
        try:
            others += _rows(peer, max(1000, int(peer.pulls * bench.sizes.peer_pulls)))
        except PeerError as error:
            bench.left_out.append(f"{peer.name} {error}")
    bench.rows += [min(own, key=lambda row: row.seconds), *others]
    bench.done += 1


def _rows(peer: Peer, pulls: int) -> list[Row]:
    plain = peer.name.lower()
    python = installed(peer, ROOT / "build" / "peers" / plain)
    driver = [str(python), "-m", f"benchmarks.drivers.run_{plain}", str(pulls)]
    printed = output(driver, "did not run", {**os.environ, **_ONE_THREAD})
    shown: dict[str, Any] = json.loads(printed.splitlines()[-1])
    for way in shown["ways"]:
        if (mean := way["mean_reward"]) < LEAST_REWARD:
            raise PeerError(f"did not do the job: its {way['way']} has a mean reward of {mean:.2f}")
    job = Job(PEERS, "ucb1", INSTANCE, K, pulls)
    return [
        Row(
            job, f"{peer.name} {shown['version']}", way["way"], 1, 1, way["seconds"], way["pulls"],
            way["documented"],
        )
        for way in shown["ways"]
    ]  # fmt: skip


def installed(peer: Peer, folder: Path) -> Path:
    """Return the Python of the peer's environment, which is created unless it exists."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    record = folder / "installed.txt"
    wanted = "\n".join((*peer.requirements, *peer.alone))
    if not record.is_file() or record.read_text() != wanted:
        output([sys.executable, "-m", "venv", "--clear", str(folder)], "has no environment")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        output([*pip, *peer.requirements], "could not be installed")
        if peer.alone:
            alone = ["--no-deps", "--ignore-requires-python", *peer.alone]
            output([*pip, *alone], "could not be installed")
        record.write_text(wanted)
    return python


def output(command: list[str], failure: str, environment: dict[str, str] | None = None) -> str:
    """Return what a command printed, or raise a `PeerError` with the line that says why."""
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_HOUR, env=environment,
            cwd=ROOT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PeerError(f"{failure}: no end within an hour") from None
    if ran.returncode:
        lines = ran.stderr.strip().splitlines() or ["it printed nothing"]
        errors = [line for line in lines if line.startswith("ERROR")]
        raise PeerError(f"{failure}: {(errors or lines)[-1]}")
    return ran.stdout
