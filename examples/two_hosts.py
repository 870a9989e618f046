"""A sweep on two hosts that share no disk: a scheduler and a client here, a worker there.

    python examples/two_hosts.py

The hosts are two network namespaces of this machine, joined by a virtual cable: each has its own
interfaces and addresses, and nothing of what they say leaves the cable. On real hosts, leave
`ip netns exec NAME` out and start the same three programs where they belong. Needs Linux, `ip`
(Debian's package iproute2) and handful with its extra [cluster]. Whoever is not root is root in a
user namespace of his own, where the system lets him have one; otherwise run it by sudo.

Both hosts and all processes are removed at the end, also after an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SPEC = """
runs = 120
horizon = 2000
engine = "python"

[[grid]]
policy = ["ucb-m", "race"]
memory = [2, 4]
instance = "linear:20"
"""
PORT = 8786
PATIENCE = 120.0
"""Seconds that the scheduler has to come up."""
AGAIN = "HANDFUL_TWO_HOSTS_AGAIN"
"""The variable that says that this program has started itself again."""


class Host:
    """A network namespace with one interface and an address."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self.processes: list[subprocess.Popen[bytes]] = []

    def command(self, *words: str) -> list[str]:
        """A command as it is run on this host."""
        return ["ip", "netns", "exec", self.name, *words]

    def start(self, *words: str, folder: Path, log: Path) -> None:
        """Start a program that runs until the end."""
        with log.open("ab") as output:
            self.processes.append(
                subprocess.Popen(self.command(*words), cwd=folder, stdout=output, stderr=output)
            )


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Two hosts on one cable; everything is taken down afterwards."""
    mark = f"{os.getpid():x}"
    one, two = Host(f"hf{mark}a", "10.213.0.1"), Host(f"hf{mark}b", "10.213.0.2")
    try:
        for host in (one, two):
            ip("netns", "add", host.name)
        ip("link", "add", one.name, "type", "veth", "peer", "name", two.name)
        for host in (one, two):
            ip("link", "set", host.name, "netns", host.name)
            ip("-n", host.name, "addr", "add", f"{host.address}/30", "dev", host.name)
            ip("-n", host.name, "link", "set", host.name, "up")
            ip("-n", host.name, "link", "set", "lo", "up")
        yield one, two
    finally:
        for host in (one, two):
            for process in host.processes:
                process.kill()
                process.wait()
        for host in (one, two):
            # The cable goes with its ends.
            subprocess.run(
                ["ip", "netns", "del", host.name], check=False, stderr=subprocess.DEVNULL
            )


def run(folder: Path) -> None:
    """Run the sweep, and print what came of it."""
    here, there = folder / "one", folder / "two"
    for each in (here, there):
        each.mkdir()
    (here / "spec.toml").write_text(SPEC)
    python = sys.executable
    with two_hosts() as (one, two):
        scheduler = f"tcp://{one.address}:{PORT}"
        one.start(
            python, "-m", "dask", "scheduler", "--host", one.address, "--port", str(PORT),
            "--no-dashboard", folder=here, log=folder / "scheduler.log",
        )  # fmt: skip
        for host, where in ((one, here), (two, there)):
            host.start(
                python, "-m", "dask", "worker", scheduler, "--host", host.address,
                "--nthreads", "1", "--no-nanny", "--no-dashboard",
                "--death-timeout", str(PATIENCE), folder=where, log=folder / "workers.log",
            )  # fmt: skip
        _wait_for_workers(one, scheduler)
        client = "from handful.cli import main; main()"
        subprocess.run(
            one.command(
                python, "-c", client, "sweep", "spec.toml", "--out", "out", "--cluster", scheduler
            ),
            cwd=here,
            check=True,
        )
    files = len(list((here / "out" / "cells").glob("*.parquet")))
    print(f"{files} partitions on the client's host, {len(list(there.rglob('*.parquet')))} there")


def _wait_for_workers(host: Host, scheduler: str) -> None:
    """Wait until both workers have found the scheduler."""
    code = (
        "import sys\nfrom distributed import Client\n"
        f"client = Client({scheduler!r}, timeout=5)\n"
        f"client.wait_for_workers(2, timeout={PATIENCE})\n"
        "print('workers on', *sorted({w.split('//')[1].split(':')[0] for w in client.nthreads()}))"
    )
    until = time.monotonic() + PATIENCE
    while (
        subprocess.run(
            host.command(sys.executable, "-c", code), stderr=subprocess.DEVNULL
        ).returncode
        != 0
    ):
        if time.monotonic() > until:
            raise SystemExit("the scheduler does not answer")


def become_root() -> None:
    """Run this program again as the root of a user namespace."""
    if os.environ.get(AGAIN):
        raise SystemExit("a user namespace was made, and does not make this user its root")
    os.environ[AGAIN] = "1"
    # `ip` keeps the names of network namespaces under /run, where only the real root may write.
    inside = 'mount -t tmpfs none /run && exec "$@"'
    words = ("--user", "--map-root-user", "--net", "--mount", "sh", "-c", inside, "sh")
    try:
        os.execvp("unshare", ("unshare", *words, sys.executable, *sys.argv))
    except OSError as error:
        raise SystemExit(f"unshare, of util-linux, cannot be run: {error.strerror}") from None


def main() -> None:
    """Run the sweep in the folder that is given, or in one that is deleted afterwards."""
    if not sys.platform.startswith("linux"):
        raise SystemExit("network namespaces need Linux")
    if os.geteuid() != 0:
        become_root()
    if len(sys.argv) > 1:
        run(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))


if __name__ == "__main__":
    main()
