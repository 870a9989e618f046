"""The commands that README.md and docs/service.md show run against a real `handful serve`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests import postgres
from tests.pages import ROOT, blocks, environment, install_lines, run_command

ADDRESS = "localhost:8000"
SHOWN_ID = "2fbc8"
SHOWN_STORE = "postgresql://db.example/handful"


@contextmanager
def served(line: str, folder: Path) -> Iterator[str]:
    """Run `handful serve ...` on a free port; yield its address."""
    command = ["sh", "-c", f"exec {line} --port 0"]
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            yield said.split("http://")[1].strip()
        finally:
            server.terminate()
            _, said = server.communicate()
    assert server.returncode == 0, said


def curl(line: str, address: str, last_id: str) -> Any:
    """Do what a curl command of a page does; return the JSON of the answer."""
    words = iter(shlex.split(line)[1:])
    method, body, headers, url = "GET", None, {}, ""
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(words).encode()
            method = "POST" if method == "GET" else method
        elif word != "-s":
            url = word
    assert url.startswith(ADDRESS), f"{line} is for another address"
    url = url.replace(ADDRESS, address).replace(SHOWN_ID, last_id)
    with urlopen(Request(f"http://{url}", body, headers, method=method)) as response:
        return json.load(response)


@pytest.mark.parametrize("page", ["README.md", "docs/service.md"])
def test_its_commands_run_one_after_the_other(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text()
    lines = [line for block in blocks(text, "console") for line in block.commands]
    first = next(i for i, line in enumerate(lines) if line.startswith("handful serve"))
    requests = [line for line in lines[first + 1 :] if line.startswith("curl")]
    with_key = [line for line in requests if "Bearer KEY" in line]
    requests = [line for line in requests if line not in with_key]
    assert len(requests) >= 3
    last_id = ""
    with served(lines[first], tmp_path) as address:
        for line in requests:
            answer = curl(line, address, last_id)
            if "decisions" in answer and isinstance(answer["decisions"], list):
                last_id = answer["decisions"][0]["id"]
    assert (answer["decisions"], answer["rewards"]) == (1, 1)
    store = re.search(r"--store (\S+)", lines[first])
    assert store
    key = ""
    in_postgres = postgres.shared().new_store() if page != "README.md" else ""
    for line in lines[first + 1 :]:
        line = line.replace(SHOWN_STORE, shlex.quote(in_postgres))
        if line.startswith("handful") and (store[1] in line or "handful copy" in line):
            said = run_command(line, tmp_path)
            assert said
            key = said.strip() if line.startswith("handful keys add") else key
    with served(lines[first], tmp_path) as address:
        for line in with_key:
            assert curl(line.replace("KEY", key), address, last_id)


def test_the_guide_gives_only_commands_that_are_checked() -> None:
    text = (ROOT / "docs/service.md").read_text()
    lines = [line for block in blocks(text, "console") for line in block.commands]
    kinds = ("handful ", "curl ")
    assert all(line.startswith(kinds) or _installs(line) for line in lines)


def _installs(line: str) -> bool:
    """Whether a line installs handful with extras that there are."""
    extras = re.fullmatch(r"pip install '\.\[([a-z,]+)\]'", line)
    each = extras[1].split(",") if extras else []
    return bool(each) and all(f"pip install '.[{extra}]'" in install_lines() for extra in each)


def test_it_shows_the_answer_that_it_gives() -> None:
    (block,) = blocks((ROOT / "docs/service.md").read_text(), "json")
    assert json.loads(block.text)["decisions"][0]["id"] == SHOWN_ID
