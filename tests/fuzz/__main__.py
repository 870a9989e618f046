"""Search for forged states that break a policy: `python -m tests.fuzz [seconds]`.

With atheris (`pip install -e '.[fuzz]'`) the search is guided by coverage; without it, Hypothesis
makes the examples. What either has learned is stored in `.hypothesis/fuzz`. The search starts with
`tests/fuzz/corpus`, and what fails is written there, so that the normal suite replays it from then
on. Without a number of seconds it runs for a minute.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
DATABASE = Path(".hypothesis/fuzz")


def by_coverage(seconds: int) -> None:
    """Let atheris look for new branches, and store the inputs that reach them."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["handful"]):
        from tests.fuzz.forge import one_input
    found = DATABASE / "inputs"
    found.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", "-max_len=64", "-timeout=60"]
    folders = [f"-artifact_prefix={CORPUS}/failed-", str(found), str(CORPUS)]
    atheris.Setup([sys.argv[0], *limits, *folders], one_input)
    atheris.Fuzz()


def by_hypothesis(seconds: int) -> None:
    """Let Hypothesis make examples until the time is over, from where it ended last time."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st
    from hypothesis.database import DirectoryBasedExampleDatabase

    from tests.fuzz.forge import one_input

    for path in sorted(CORPUS.iterdir()):
        one_input(path.read_bytes())
    last = b""

    @settings(
        database=DirectoryBasedExampleDatabase(DATABASE),
        derandomize=False,
        deadline=None,
        max_examples=2_000,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.reuse, Phase.generate, Phase.target, Phase.shrink),
    )
    @given(st.binary(max_size=64))
    def search(data: bytes) -> None:
        nonlocal last
        last = data
        one_input(data)

    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end:
        try:
            search()
        except Exception:
            path = CORPUS / f"failed-{blake2b(last, digest_size=6).hexdigest()}"
            path.write_bytes(last)
            print(f"the shortest input that fails is in {path}")
            raise
        rounds += 1
    print(f"{rounds * 2_000:,} examples, none fails")


def main() -> None:
    """Search by the better of the two ways that is installed."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    guided = importlib.util.find_spec("atheris") is not None
    (by_coverage if guided else by_hypothesis)(seconds)


if __name__ == "__main__":
    main()
