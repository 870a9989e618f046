"""A store with ten million decisions: its size, the time of a restart, and calls of the page.

    python -m benchmarks.large_store             # some minutes, and a gigabyte on the disk

`handful serve` is asked for the decisions in large requests, and given the rewards of every other
one. Then it is stopped and started, killed under load and started again, each time until it says
that it is ready; after each start, the calls that the page makes are timed, the first of each kind
by itself.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.load import Load, create_bandits
from benchmarks.servers import running, serve

IN_REQUEST = 5000
CALLS = ("", "v1/bandits", "v1/bandits/load-0", "v1/bandits/load-0/history", "metrics")
REPEATED = 20


class Connection:
    """Sends one request after the other."""

    def __init__(self, url: str) -> None:
        self._line = http.client.HTTPConnection(str(urlsplit(url).netloc), timeout=60.0)

    def __call__(self, method: str, path: str, body: Any = None) -> bytes:
        """Return the body of the answer."""
        headers = {"Content-Type": "application/json"}
        self._line.request(method, f"/{path}", None if body is None else json.dumps(body), headers)
        answer = self._line.getresponse()
        said = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} /{path} was answered {answer.status}: {said[:300]!r}")
        return said


@contextmanager
def started(folder: Path, what: str) -> Iterator[tuple[str, int]]:
    """Start the service, say after which time it was ready, and stop it in the end."""
    began = time.perf_counter()
    with running(lambda port: serve(str(folder / "store.db"), port), folder) as (url, pid):
        print(f"ready {time.perf_counter() - began:.2f} s after {what}", flush=True)
        yield url, pid


def fill(url: str, decisions: int, bandits: int) -> None:
    """Make decisions, and report the rewards of every other one."""
    call = Connection(url)
    for i in range(0, decisions, IN_REQUEST):
        n = min(IN_REQUEST, decisions - i)
        name = f"load-{i // IN_REQUEST % bandits}"
        made = json.loads(call("POST", f"v1/bandits/{name}/decisions", {"n": n}))["decisions"]
        rewards = [{"id": each["id"], "reward": k % 4 // 2} for k, each in enumerate(made)][::2]
        call("POST", "v1/rewards", {"rewards": rewards})


def size(folder: Path) -> int:
    """Return how many bytes the store has on disk."""
    return sum(path.stat().st_size for path in folder.glob("store.db*"))


def time_calls(url: str) -> None:
    """Print how long the calls of the page take."""
    call = Connection(url)
    for path in CALLS:
        took = []
        for _ in range(1 + REPEATED):
            began = time.perf_counter()
            call("GET", path)
            took.append(1000.0 * (time.perf_counter() - began))
        print(f"  /{path:<28} first {took[0]:5.1f} ms, then {statistics.median(took[1:]):5.1f} ms")


def kill_under_load(url: str, pid: int, bandits: int) -> None:
    """Kill the service while it is asked for decisions."""
    words = ["--url", url, "--bandits", str(bandits), "--existing", "--seconds", "30"]
    load = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(5.0)
    os.kill(pid, signal.SIGKILL)
    load.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--decisions", type=int, default=10_000_000)
    parser.add_argument("--bandits", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where the store is made (a temporary one)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        with started(folder, "the start without a store") as (url, _):
            create_bandits(Load(url, bandits=given.bandits))
            began = time.perf_counter()
            fill(url, given.decisions, given.bandits)
            print(f"{given.decisions:,} decisions took {time.perf_counter() - began:.0f} s")
        print(f"{size(folder) / given.decisions:.1f} bytes a decision, half of them with a reward")
        with started(folder, "a clean stop") as (url, pid):
            time_calls(url)
            kill_under_load(url, pid, given.bandits)
        with started(folder, "kill -9 under load") as (url, _):
            time_calls(url)


if __name__ == "__main__":
    main()
