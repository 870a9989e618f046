"""The example of two hosts: real network namespaces, a worker in each, and the same bits."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

import handful
from handful.simulation import simulate
from tests.sweeps.processes import ROOT, environment
from tests.sweeps.small import bits

EXAMPLE = ROOT / "examples" / "two_hosts.py"


def can_make_hosts() -> bool:
    """Whether this process may make network namespaces."""
    if shutil.which("ip") is None or os.name != "posix" or os.geteuid() != 0:
        return False
    name = f"hf{os.getpid():x}try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if made.returncode == 0:
        subprocess.run(["ip", "netns", "del", name], check=True)
    return made.returncode == 0


def namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout


@pytest.mark.skipif(not can_make_hosts(), reason="needs root, Linux and iproute2")
def test_a_sweep_on_two_hosts_that_share_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    before = namespaces()
    runpy.run_path(str(EXAMPLE))["run"](tmp_path)
    printed = capfd.readouterr().out
    assert "workers on 10.213.0.1 10.213.0.2" in printed
    assert "partitions on the client's host, 0 there" in printed
    assert namespaces() == before, "nothing is left"
    found = handful.read_sweep(tmp_path / "one" / "out").results
    assert len(found) == 4
    for result in found:
        s = result.settings
        same = simulate(
            s["policy"], s["instance"], memory=s["memory"], horizon=2000, runs=120, engine="python"
        )
        assert bits(same) == bits(result)
