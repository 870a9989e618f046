"""The service: started, asked for a decision, told its reward, stopped; its store is sound.

Given the address of a store, it serves that one, else a file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

PROGRAM = str(Path(sys.executable).with_name("handful"))


@contextmanager
def served(store: str) -> Iterator[str]:
    """Serve a store on a free port; yield the address. The server must stop without an error."""
    command = [PROGRAM, "serve", "--store", store, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = server.stderr.readline()
            assert "http://" in said, said + server.stderr.read()
            yield "http://" + said.split("http://")[1].strip().strip('"}')
        finally:
            server.terminate()
            rest = server.stderr.read()
    assert server.returncode == 0, rest


def asked(address: str, body: dict[str, Any], method: str = "POST") -> Any:
    """Return the answer to a request."""
    headers = {"Content-Type": "application/json"}
    request = Request(address, json.dumps(body).encode(), headers, method=method)
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)


def use(store: str) -> None:
    """Use a store by two servers, one after the other, and examine it."""
    import handful

    with served(store) as address:
        bandits = f"{address}/v1/bandits"
        asked(bandits, {"name": "front", "memory": 2, "arms": ["a", "b", "c"]})
        (decision,) = asked(f"{bandits}/front/decisions", {})["decisions"]
    with served(store) as address:
        reward = f"{address}/v1/decisions/{decision['id']}/reward"
        assert asked(reward, {"reward": 1.0}, "PUT")["outcome"] == "credited"
        with urlopen(f"{address}/openapi.json", timeout=30) as answer:
            assert json.load(answer)["info"]["version"] == handful.__version__
        with urlopen(address, timeout=30) as answer:
            assert b"<html" in answer.read()
    doctor = [PROGRAM, "doctor", "--store", store]
    ran = subprocess.run(doctor, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 decisions, 1 rewards" in ran.stdout, ran.stdout


def main() -> None:
    """Check this environment."""
    with tempfile.TemporaryDirectory() as folder:
        use(sys.argv[1] if sys.argv[1:] else str(Path(folder, "store.db")))
    print("decided, rewarded after a restart, examined")


if __name__ == "__main__":
    main()
