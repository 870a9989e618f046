"""A sweep of four cells on two processes of this machine, equal to the sweep without them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import handful
from tests.release.checks.sim import handful_says

SPEC = """
runs = 8
horizon = 300

[[grid]]
policy = ["ucb-m", "race"]
memory = [2, 3]
instance = "linear:9"
"""


def main() -> None:
    """Check this environment."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder, "spec.toml")
        spec.write_text(SPEC)
        there, here = Path(folder, "there"), Path(folder, "here")
        handful_says("sweep", str(spec), "--out", str(there), "--cluster", "local:2")
        handful_says("sweep", str(spec), "--out", str(here))
        regrets = [
            [result.regret.per_run.tolist() for result in handful.read_sweep(out).results]
            for out in (there, here)
        ]
    assert regrets[0] == regrets[1]
    assert len(regrets[0]) == 4
    print(f"{len(regrets[0])} cells on local:2, equal to those without a cluster")


if __name__ == "__main__":
    main()
