"""Write the golden logs: `python -m tests.evaluation.golden.write`.

`log-1.parquet` and `log-1.jsonl` are what `handful export` makes of the golden store
`tests/storage/golden/schema-1.db`: decisions with and without probability, allowed arms, keys,
rewards, defaults. `logs.json` has what evaluation finds in them. They are written once for each
version of the table and never again.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from handful import read_log
from handful.cli.app import app
from tests.storage.golden.write import FOLDER as STORES

FOLDER = Path(__file__).parent
LOGS = (FOLDER / "log-1.parquet", FOLDER / "log-1.jsonl")
FOUND = FOLDER / "logs.json"
BANDITS = ("race", "ucb", "explore", "default", "lost")


def exported(name: str, folder: Path) -> Path:
    """Export the golden store to a file of a name in a folder."""
    store, out = folder / "store.db", folder / name
    shutil.copy(STORES / "schema-1.db", store)
    ran = CliRunner().invoke(app, ["export", "--store", str(store), "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    return out


def found_in(path: Path) -> dict[str, Any]:
    """Return what evaluation finds in a log."""
    found: dict[str, Any] = {}
    for bandit in BANDITS:
        log = read_log(path, bandit=bandit)
        found[bandit] = {
            "labels": list(log.labels),
            "arms": log.arm.tolist(),
            "rewards": log.reward.tolist(),
            "probabilities": None if log.probability is None else log.probability.tolist(),
            "warnings": list(log.warnings),
        }
    return found


def main() -> None:
    """Write the logs that are not there."""
    for path in LOGS:
        if path.exists():
            print(f"{path.name} is there already")
            continue
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(exported(path.name, Path(folder)), path)
    FOUND.write_text(json.dumps(found_in(LOGS[0])) + "\n")


if __name__ == "__main__":
    main()
