"""Servers that are started, loaded and watched: what the benchmarks of the service share."""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
READY_WITHIN = 30.0

Turns = dict[str, list[dict[str, Any]]]
"""The figures of the turns of each contestant."""


def serve(store: str, port: int) -> list[str]:
    """Return the command that serves a store."""
    program = [sys.executable, "-c", "from handful.cli import main; main()", "serve"]
    return [*program, "--store", store, "--host", "127.0.0.1", "--port", str(port)]


@contextmanager
def running(command: Callable[[int], list[str]], folder: Path) -> Iterator[tuple[str, int]]:
    """Start a server on a free port, wait until it is ready, and stop it in the end.

    `command` makes its command from the port. Yields its address and its process id.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    url, log = f"http://127.0.0.1:{port}", folder / f"log-{port}"
    with log.open("wb") as file:
        process = subprocess.Popen(command(port), env=_environment(), stdout=file, stderr=file)
        try:
            _wait_for(url, process, log)
            yield url, process.pid
        finally:
            process.terminate()
            try:
                process.wait(READY_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=1.0):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise SystemExit(f"the server did not get ready: {log.read_text()[-2000:]}")


def loaded(
    urls: list[str], bandits: int, clients: int, seconds: float, warm_up: float = 1.0
) -> list[dict[str, Any]]:
    """Load servers at the same time, each by its share of the clients; return their figures."""
    started = []
    for url in urls:
        words = ["--url", url, "--bandits", str(bandits), "--clients", str(clients // len(urls))]
        words += ["--seconds", str(seconds), "--warm-up", str(warm_up), "--existing", "--json"]
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.load", *words],
                env=_environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    said = [each.communicate() for each in started]
    for printed, errors in said:
        if not printed:
            raise SystemExit(f"the load generator failed: {errors[-2000:]}")
    return [json.loads(printed) for printed, _ in said]


def processor_seconds(pid: int) -> float | None:
    """Return the processor time that a process has taken so far; None where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def options(description: str | None) -> argparse.Namespace:
    """Return the options of a benchmark whose contestants take turns."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each turn (10)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each (3)")
    parser.add_argument("--clients", type=int, default=32, help="connections in all (32)")
    parser.add_argument("--bandits", type=int, nargs="+", default=[1, 1000])
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def in_turns(
    contestants: tuple[str, ...], rounds: int, turn: Callable[[str], dict[str, Any]]
) -> tuple[Turns, float]:
    """Let contestants take turns; return their figures, and the median rate of the first."""
    turns: Turns = {name: [] for name in contestants}
    for _ in range(rounds):
        for name in contestants:
            turns[name].append(turn(name))
    return turns, float(statistics.median(each["rate"] for each in turns[contestants[0]]))
