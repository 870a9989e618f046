"""Dask's scheduler and workers as processes of their own, to be killed one by one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 240.0
"""Seconds that anything may take on a busy machine."""


class Cluster:
    """A scheduler on loopback and workers of one thread each, without nannies to replace them."""

    def __init__(self, folder: Path, sources: Path = ROOT / "src") -> None:
        self.folder = folder
        self.sources = sources
        self.started: list[subprocess.Popen[bytes]] = []
        self.file = folder / f"scheduler-{time.monotonic_ns()}.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(self.file),
        )  # fmt: skip
        wait_for(lambda: self.file.exists() and self.file.stat().st_size > 0)

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return str(json.loads(self.file.read_text())["address"])

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker."""
        return self._start(
            "worker", "--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--host", "127.0.0.1",
        )  # fmt: skip

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / "dask.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words], stdout=log, stderr=log, cwd=self.folder,
                env=environment(self.sources),
            )  # fmt: skip
        self.started.append(process)
        return process

    def close(self) -> None:
        """End all processes that were started."""
        for process in self.started:
            kill(process)


@contextmanager
def cluster(folder: Path, workers: int, sources: Path = ROOT / "src") -> Iterator[Cluster]:
    """A scheduler with workers, ended afterwards."""
    made = Cluster(folder, sources)
    try:
        for _ in range(workers):
            made.add_worker()
        yield made
    finally:
        made.close()


def environment(sources: Path = ROOT / "src") -> dict[str, str]:
    """The environment of a process that imports handful and these tests from here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(sources), str(ROOT)])}


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process at once, as a power cut would."""
    process.kill()
    process.wait()


def wait_for(happened: Callable[[], object]) -> None:
    """Wait until something has happened."""
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.05)
