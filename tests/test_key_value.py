"""docs/key-value.md against a real PostgreSQL and a real Redis, also if writers are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

import handful
from tests import postgres
from tests.pages import ROOT, blocks, run_page
from tests.redis_server import redis_server

PAGE = ROOT / "docs" / "key-value.md"
KILLS = 12
WRITER = """
import os, sys
from rows import decide, reward
from writing import KINDS

store = KINDS[sys.argv[1]](os.environ[sys.argv[1]])
print("ready", flush=True)
while True:
    decision = decide(store, "one")
    print("decided", flush=True)
    reward(store, "one", decision.ticket, 1.0)
    print("rewarded", flush=True)
"""

pytestmark = pytest.mark.xdist_group("servers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("key-value")


@pytest.fixture(scope="module")
def servers(folder: Path) -> Iterator[dict[str, str]]:
    url = postgres.shared().address().partition("&schema=")[0]
    with redis_server(folder) as redis:
        yield {"POSTGRES": url, "REDIS": redis}


@pytest.fixture(autouse=True)
def place(folder: Path, servers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for name, url in servers.items():
        monkeypatch.setenv(name, url)


def test_the_page_does_what_it_shows(folder: Path) -> None:
    run_page(PAGE, folder)


@pytest.mark.parametrize("kind", ["POSTGRES", "REDIS"])
def test_a_writer_that_is_killed_loses_nothing(kind: str, folder: Path) -> None:
    for block in blocks(PAGE.read_text(), "python"):
        if block.file:
            (folder / block.file).write_text(block.text)
    (folder / "writer.py").write_text(WRITER)
    moments = random.Random(5)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(folder)])}
    decided = rewarded = 0
    for _ in range(KILLS // 2):
        writers = [
            subprocess.Popen(
                [sys.executable, "writer.py", kind], stdout=subprocess.PIPE, env=environment
            )
            for _ in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(moments.randrange(2, 60))]
            writer.send_signal(signal.SIGKILL)
            decided += lines.count(b"decided\n")
            rewarded += lines.count(b"rewarded\n")
        for writer in writers:
            # What is left in the pipe was acknowledged, too.
            rest, _ = writer.communicate()
            decided += rest.count(b"decided")
            rewarded += rest.count(b"rewarded")
    kinds, arms = import_module("writing").KINDS, import_module("rows").OFFERS
    with closing(kinds[kind](os.environ[kind])) as store:
        stats = handful.from_bytes(store.get("one"), arms).stats()
    assert decided <= stats.decisions <= decided + KILLS
    assert rewarded <= stats.rewards + stats.forgotten <= rewarded + KILLS
