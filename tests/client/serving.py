"""`handful serve` in a process of its own, for tests."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY_WITHIN = 60.0
"""Seconds; far more than is needed, for machines that are busy."""
PROGRAM = [sys.executable, "-c", "from handful.cli import main; main()"]


@contextmanager
def served(
    folder: Path, *options: str, program: list[str] = PROGRAM, env: dict[str, str] | None = None
) -> Iterator[str]:
    """The address of a service whose store is in a folder; the service is stopped in the end."""
    log = folder / "serve.log"
    command = [*program, "serve", "--store", str(folder / "handful.db"), "--port", "0", *options]
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder, env=env)
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        try:
            process.wait(READY_WITHIN)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 0, log.read_text()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r" at (http://\S+)\n", log.read_text())
        if found:
            return found[1]
        time.sleep(0.02)
    raise AssertionError(f"the service did not start: {log.read_text()}")
