"""Write the golden store of the current version: `python -m tests.storage.golden.write`.

`schema-N.db` is a store after some hundred requests of all kinds, as a server leaves it that was
killed. `schema-N.json` has what every later version must make of it: a digest of the state of each
bandit, and the decisions that follow. Both are written once for each released version of the
tables, and never again.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from handful.service.bandits import Bandits, StoreLookUp
from handful.service.bodies import NewDecisions
from handful.service.desk import Desk
from handful.storage import SQLiteStorage
from handful.storage.contract import SCHEMA
from handful.storage.sqlite import copy_live
from tests.service.workload import FakeClock, Workload

FOLDER = Path(__file__).parent
BATCHES = 120
NEXT = 10


def what_follows(path: Path) -> dict[str, Any]:
    """Return the state of each bandit in a store, and the decisions that follow."""
    found: dict[str, Any] = {}
    with SQLiteStorage(path, durable=False) as storage:
        tx = storage.begin()
        look_up = StoreLookUp(tx)
        live = Bandits()
        for row in tx.bandits():
            state = live.get(look_up, row.id).to_bytes()
            found[row.name] = {"state": sha256(state).hexdigest()}
        at = tx.last()[1]
        tx.rollback()
        desk = Desk(storage, FakeClock(at))
        for name, known in found.items():
            with desk.batch() as session:
                made = session.decide(name, NewDecisions(n=NEXT))
            known["next"] = [each.arm for each in made.decisions]
    return found


def main() -> None:
    """Write both files, unless they are there."""
    path = FOLDER / f"schema-{SCHEMA}.db"
    if path.exists():
        print(f"{path.name} is there already")
        return
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store.db")
        with SQLiteStorage(store, durable=False) as storage:
            work = Workload(storage, seed=SCHEMA)
            for number in range(BATCHES):
                work.batch()
                if number == BATCHES // 2:
                    with work.desk.batch() as session:
                        work.desk.bandits.save_all(session.look_up)
        copy_live(store, path)
        shutil.copy(path, store.with_name("copy.db"))
        follows = what_follows(store.with_name("copy.db"))
    path.with_suffix(".json").write_text(json.dumps(follows, indent=1) + "\n")


if __name__ == "__main__":
    main()
