"""The service under load, beside a bare app and beside itself without fsync, in one run.

    make bench-serve         or, from the source tree: python -m benchmarks.serve

Three servers take turns on free loopback ports: the bare starlette app of `benchmarks.bare`, which
decides nothing; `handful serve` as users run it, where every answer is on disk; and the same
without waiting for the disk. `benchmarks.load` loads each for the same time, with one bandit and
with a thousand. Each turn has a new store. The median of the rounds counts. Times vary with the
machine, so the ratio to the bare app is what to look at. Generator and server share the cores. On
Linux the processor time that the server took for a request is shown, too: it hardly depends on what
else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.load import Load, create_bandits

ROOT = Path(__file__).parents[1]
BARE, DURABLE, NO_FSYNC = "bare starlette app", "handful serve", "handful serve, no fsync"
CONTESTANTS = (BARE, DURABLE, NO_FSYNC)
READY_WITHIN = 30.0
LEGEND = """generator: the share of a core that the load generator took
server us: processor time of the server for a request
bytes: by which the store grows for a decision and its reward"""


@dataclass(frozen=True)
class Row:
    """The median figures of a contestant.

    server_us    processor time of the server for a request, in microseconds
    store_bytes  by which its files grow for a decision and its reward
    """

    contestant: str
    bandits: int
    rate: float
    ratio: float
    p50: float
    p99: float
    errors: int
    generator_cpu: float
    server_us: float | None
    store_bytes: float | None


def command(contestant: str, port: int, folder: Path) -> list[str]:
    """Return the command that starts a contestant."""
    if contestant == BARE:
        return [sys.executable, "-m", "benchmarks.bare", "--port", str(port)]
    program = [sys.executable, "-c", "from handful.cli import main; main()", "serve"]
    program += ["--store", str(folder / "store.db"), "--host", "127.0.0.1", "--port", str(port)]
    return program + (["--no-fsync"] if contestant == NO_FSYNC else [])


def environment() -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": paths}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def served(contestant: str, folder: Path) -> Iterator[tuple[str, int]]:
    """Start a contestant, wait until it is ready, and stop it in the end: its address and pid."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command(contestant, port, folder), env=environment(), stdout=log, stderr=log
        )
        try:
            _wait_for(url, process, folder / "log")
            yield url, process.pid
        finally:
            process.terminate()
            try:
                process.wait(READY_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=1.0):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise SystemExit(f"the server did not get ready: {log.read_text()[-2000:]}")


def processor_seconds(pid: int) -> float | None:
    """Return the processor time that a process has taken so far; None where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def store_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("store.db*"))


def turn(
    contestant: str, bandits: int, clients: int, seconds: float, warm_up: float = 1.0
) -> dict[str, Any]:
    """Load a contestant that has a new store, and return the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(contestant, folder) as (url, _):
            create_bandits(Load(url, bandits=bandits))
        size = store_size(folder)  # of a store that is closed, without a write-ahead log
        with served(contestant, folder) as (url, pid):
            before = processor_seconds(pid)
            words = ["--url", url, "--bandits", str(bandits), "--clients", str(clients)]
            words += ["--seconds", str(seconds), "--warm-up", str(warm_up)]
            words += ["--existing", "--json"]
            ran = subprocess.run(
                [sys.executable, "-m", "benchmarks.load", *words],
                env=environment(),
                capture_output=True,
                text=True,
                check=False,
            )
            after = processor_seconds(pid)
        if not ran.stdout:
            raise SystemExit(f"the load generator failed: {ran.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(ran.stdout)
        found["server_us"] = found["store_bytes"] = None
        if before is not None and after is not None:
            found["server_us"] = 1e6 * (after - before) / found["sent"]
        if size:
            found["store_bytes"] = 2 * (store_size(folder) - size) / found["sent"]
        return found


def row(contestant: str, bandits: int, turns: list[dict[str, Any]], bare: float) -> Row:
    """Return the medians of a contestant's turns."""

    def median(name: str) -> float:
        return float(statistics.median(turn[name] for turn in turns))

    def median_or_none(name: str) -> float | None:
        return None if any(turn[name] is None for turn in turns) else median(name)

    return Row(
        contestant,
        bandits,
        median("rate"),
        median("rate") / bare,
        median("p50"),
        median("p99"),
        sum(sum(turn["errors"].values()) for turn in turns),
        median("generator_cpu"),
        median_or_none("server_us"),
        median_or_none("store_bytes"),
    )


def table(rows: list[Row]) -> str:
    """Return the figures as text."""
    head = f"{'':<24}{'bandits':>8}{'requests/s':>12}{'of bare':>9}{'p50 ms':>8}{'p99 ms':>8}"
    lines = [f"{head}{'errors':>8}{'generator':>11}{'server us':>11}{'bytes':>8}"]
    for each in rows:
        used, stored = (
            "-" if value is None else f"{value:.0f}" for value in (each.server_us, each.store_bytes)
        )
        lines.append(
            f"{each.contestant:<24}{each.bandits:>8,}{each.rate:>12,.0f}{each.ratio:>9.2f}"
            f"{each.p50:>8.1f}{each.p99:>8.1f}{each.errors:>8}{each.generator_cpu:>11.0%}"
            f"{used:>11}{stored:>8}"
        )
    return "\n".join([*lines, LEGEND])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each turn (10)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each (3)")
    parser.add_argument("--clients", type=int, default=32, help="connections (32)")
    parser.add_argument("--bandits", type=int, nargs="+", default=[1, 1000])
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = []
    for bandits in options.bandits:
        turns: dict[str, list[dict[str, Any]]] = {name: [] for name in CONTESTANTS}
        for _ in range(options.rounds):
            for name in CONTESTANTS:
                turns[name].append(turn(name, bandits, options.clients, options.seconds))
        bare = statistics.median(each["rate"] for each in turns[BARE])
        rows += [row(name, bandits, turns[name], bare) for name in CONTESTANTS]
    print(json.dumps([asdict(each) for each in rows]) if options.json else table(rows))


if __name__ == "__main__":
    main()
