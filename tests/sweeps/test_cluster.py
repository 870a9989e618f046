"""Sweeps on real Dask clusters whose parts are killed: nothing is lost, and no bit changes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import handful
from handful.errors import ClusterError
from handful.simulation import Result, simulate
from handful.sweeps.cluster import joined
from tests.sweeps.processes import (
    PATIENCE,
    ROOT,
    Cluster,
    cluster,
    environment,
    kill,
    wait_for,
)
from tests.sweeps.small import bits

SPEC = """
runs = 320
horizon = 2000
engine = "python"
[[grid]]
policy = ["ucb-m", "race"]
memory = [2, 3]
instance = "linear:10"
[[grid]]
policy = "race"
memory = 3
instance = "linear:10"
delay = "geometric:20"
lost = 0.1
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


@pytest.fixture(scope="module")
def expected() -> list[Result]:
    """What a single process gives."""
    plain = [
        simulate(policy, "linear:10", memory=m, horizon=2000, runs=320, engine="python")
        for policy in ("ucb-m", "race")
        for m in (2, 3)
    ]
    busy = simulate(
        "race", "linear:10", memory=3, horizon=2000, runs=320, engine="python",
        delay="geometric:20", lost=0.1,
    )  # fmt: skip
    return [*plain, busy]


def started(spec: Path, address: str) -> subprocess.Popen[bytes]:
    """A client in a process of its own."""
    code = "from handful.cli import main; main()"
    with (spec.parent / "client.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", code, "sweep", str(spec), "--out", str(spec.parent / "out"),
             "--cluster", address],
            env=environment(), stdout=log, stderr=log,
        )  # fmt: skip


def log(spec: Path) -> str:
    return (spec.parent / "client.log").read_text()


def files(spec: Path) -> dict[str, int]:
    """The partitions, and when each was written."""
    found = (spec.parent / "out" / "cells").glob("*.parquet")
    return {file.name: file.stat().st_mtime_ns for file in found}


def wait_for_more(spec: Path, client: subprocess.Popen[bytes], count: int) -> dict[str, int]:
    """Wait until so many more partitions are there, while the client is still running."""
    goal = len(files(spec)) + count
    wait_for(lambda: len(files(spec)) >= goal or client.poll() is not None)
    assert client.poll() is None, log(spec)
    return files(spec)


def test_a_worker_the_scheduler_and_the_client_are_killed_one_after_the_other(
    spec: Path, expected: list[Result]
) -> None:
    with cluster(spec.parent, 4) as first:
        client = started(spec, first.address)
        wait_for_more(spec, client, 4)
        kill(first.started[1])  # a worker: its tasks run elsewhere
        wait_for_more(spec, client, 4)
        kill(first.scheduler)
        assert client.wait(PATIENCE) == 1
        assert "was lost, and with it the parts that were not finished" in log(spec)
        assert "the same command resumes the run" in log(spec)
        assert "Traceback" not in log(spec)
    before = files(spec)
    with cluster(spec.parent, 4) as second:
        client = started(spec, second.address)
        during = wait_for_more(spec, client, 4)
        kill(client)
        assert before.items() <= during.items(), "what was finished was not written again"
        client = started(spec, second.address)
        assert client.wait(PATIENCE) == 0, log(spec)
    after = files(spec)
    assert during.items() <= after.items()
    found = handful.read_sweep(spec.parent / "out").results
    assert [bits(result) for result in found] == [bits(result) for result in expected]
    ranges = [[int(run) for run in name.split(".")[-2].split("-")] for name in after]
    assert len(after) > 25, "there were many parts"
    assert sum(last + 1 - first for first, last in ranges) == 5 * 320, "each run is there once"


def test_an_interrupt_says_how_to_resume(spec: Path, expected: list[Result]) -> None:
    with cluster(spec.parent, 2) as made:
        client = started(spec, made.address)
        wait_for_more(spec, client, 3)
        client.send_signal(signal.SIGINT)
        assert client.wait(PATIENCE) == 130
        assert "the same command resumes the run" in log(spec)
        assert "Traceback" not in log(spec)
        # The cluster goes on: another client finds it free.
        with joined(made.address) as there:
            found = handful.sweep(
                spec, out=spec.parent / "out", executor=there.executor, n_jobs=there.workers
            )
    assert [bits(result) for result in found.results] == [bits(result) for result in expected]


def test_a_cluster_of_local_processes_runs_kernels(tmp_path: Path) -> None:
    text = """
    runs = 40
    [[grid]]
    policy = ["ucb-m", "race", "ts-m"]
    memory = 2
    instance = "linear:10"
    horizon = 1e4
    """
    spec = tmp_path / "spec.toml"
    spec.write_text(text)
    client = started(spec, "local:2")
    assert client.wait(PATIENCE) == 0, log(spec)
    assert "2 workers" in log(spec)
    for result in handful.read_sweep(tmp_path / "out").results:
        s = result.settings
        same = simulate(s["policy"], s["instance"], memory=2, horizon=10**4, runs=40)
        assert bits(same) == bits(result)


def test_a_worker_that_cannot_run_a_cell_fails_that_cell_alone(tmp_path: Path) -> None:
    """A policy of one's own that the workers cannot import."""
    (tmp_path / "only_here.py").write_text(
        "from handful import UCBM\n\nclass Here(UCBM):\n    name = 'here'\n"
    )
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'runs = 2\nhorizon = 50\nengine = "python"\nmemory = 2\ninstance = "linear:7"\n'
        '[[grid]]\npolicy = ["ucb-m", "only_here:Here"]\n'
    )
    workers_folder = tmp_path / "elsewhere"
    workers_folder.mkdir()
    with cluster(workers_folder, 1) as made:
        client = subprocess.Popen(
            [sys.executable, "-c", "from handful.cli import main; main()", "sweep", "spec.toml",
             "--out", "out", "--cluster", made.address, "--json"],
            env=environment(), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = client.communicate(timeout=PATIENCE)
    data = json.loads(out)
    assert client.returncode == 1, err.decode()
    assert [one["policy"] for one in data["cells"]] == ["ucb-m"]
    assert "only_here" in data["failed"][0]["error"]


def test_workers_with_other_sources_are_refused(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "handful", tmp_path / "other" / "handful")
    rule = tmp_path / "other" / "handful" / "rules" / "ucb1.py"
    rule.write_text(rule.read_text() + "\n# another version\n")
    with (
        cluster(tmp_path, 1, tmp_path / "other") as made,
        pytest.raises(ClusterError, match=r"install the same on all hosts \(2 of 2 differ\)"),
        joined(made.address),
    ):
        pass


def test_a_scheduler_that_is_not_there_or_has_no_workers_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from handful.sweeps import cluster as clusters

    made = Cluster(tmp_path)
    monkeypatch.setattr(clusters, "_FIRST_WORKER", 1.0)
    with (
        closing(made),
        pytest.raises(ClusterError, match="has no workers: start some with"),
        joined(made.address),
    ):
        pass
    monkeypatch.setattr(clusters, "_CONNECT", 1.0)
    with pytest.raises(ClusterError, match="no scheduler answers at tcp://"), joined(made.address):
        pass


def test_dask_is_silent_also_if_nobody_has_imported_it_before() -> None:
    """Older versions of Dask log a traceback of a lost scheduler, and so does the event loop."""
    code = (
        "import logging\nfrom handful.sweeps.cluster import _quiet\n"
        "names = 'distributed.client', 'tornado.application', 'asyncio'\n"
        "def silent(name):\n"
        "    return logging.getLogger(name).getEffectiveLevel() > logging.CRITICAL\n"
        "with _quiet():\n    import distributed\n    print(*map(silent, names))\n"
        "print(*map(silent, names))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["True True True", "False False False"]
