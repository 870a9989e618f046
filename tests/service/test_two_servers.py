"""The example of two servers behind nginx: one is killed, and the clients notice nothing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from handful.client import Client
from handful.errors import ClientError
from handful.service.doctor import examine
from handful.storage.postgres import PostgresStorage
from tests.pages import ROOT
from tests.postgres import free_port, shared

PATIENCE = 60.0


@pytest.mark.long
def test_one_of_two_servers_is_killed(tmp_path: Path) -> None:
    where = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin"])
    assert shutil.which("nginx", path=where), "nginx is missing: make nginx"
    address = shared().new_store()
    ports = {name: str(free_port()) for name in ("PORT_NGINX", "PORT_ONE", "PORT_TWO")}
    script = subprocess.Popen(
        [str(ROOT / "examples/two-servers/serve.sh"), address],
        env={**os.environ, **ports, "PATH": where, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert script.stdout is not None
        found = re.search(r"processes (\d+) and (\d+)", script.stdout.readline())
        assert found is not None
        client = Client(f"http://127.0.0.1:{ports['PORT_NGINX']}")
        _until_ready(client)
        client.create_bandit("front", policy="race", memory=2, arms=["a", "b", "c"], seed=1)
        for turn in range(200):
            if turn == 50:
                os.kill(int(found[1]), signal.SIGKILL)
            decision = client.decide("front")
            client.reward(decision, 1.0)
        client.close()
    finally:
        script.send_signal(signal.SIGTERM)
        script.wait(PATIENCE)
        script.communicate()
    with PostgresStorage(address) as storage:
        report = examine(storage)
    assert report.problems == []
    assert (report.decisions, report.rewards) == (200, 200)


def _until_ready(client: Client) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            list(client.bandits())
            return
        except ClientError:
            assert time.monotonic() < until
            time.sleep(0.1)
