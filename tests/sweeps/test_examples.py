"""The example of two hosts: real network namespaces, a worker in each, and the same bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import handful
from handful.simulation import simulate
from tests.sweeps.processes import ROOT, environment
from tests.sweeps.small import bits

EXAMPLE = ROOT / "examples" / "two_hosts.py"


def namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout


def test_a_sweep_on_two_hosts_that_share_no_disk(tmp_path: Path) -> None:
    """As root, or where the system lets every user make namespaces."""
    before = namespaces()
    words = [sys.executable, str(EXAMPLE), str(tmp_path)]
    ran = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 0, f"this test needs network namespaces: {ran.stderr}"
    assert "workers on 10.213.0.1 10.213.0.2" in ran.stdout
    assert "partitions on the client's host, 0 there" in ran.stdout
    assert namespaces() == before, "nothing is left"
    found = handful.read_sweep(tmp_path / "one" / "out").results
    assert len(found) == 4
    for result in found:
        s = result.settings
        same = simulate(
            s["policy"], s["instance"], memory=s["memory"], horizon=2000, runs=120, engine="python"
        )
        assert bits(same) == bits(result)
