"""Write the golden stores of the current versions: `python -m tests.storage.golden.write`.

A golden store is what some hundred requests of all kinds leave. `schema-N.db` is a file as a server
leaves it that was killed, and `postgres-N.sql.gz` a dump of a store in PostgreSQL. The JSON beside
each has what every later version must make of it: a digest of the state of each bandit, and the
decisions that follow. All are written once for each released version of the tables, and never
again.
"""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from handful.service.bodies import NewDecisions
from handful.service.shared import desk_of
from handful.service.shared_bandits import loader
from handful.storage import SQLiteStorage, Storage
from handful.storage.contract import SCHEMA
from handful.storage.postgres import PostgresStorage
from handful.storage.postgres.schema import VERSION
from handful.storage.sqlite import copy_live
from tests.postgres import shared
from tests.service.workload import FakeClock, Workload

FOLDER = Path(__file__).parent
BATCHES = 120
NEXT = 10


def what_follows(storage: Storage) -> dict[str, Any]:
    """Return the state of each bandit in a store, and the decisions that follow."""
    found: dict[str, Any] = {}
    tx = storage.moment()
    load = loader(tx)
    for row in tx.bandits():
        found[row.name] = {"state": sha256(load(row.id).to_bytes()).hexdigest()}
    at = tx.last()[1]
    tx.rollback()
    desk = desk_of(storage, FakeClock(at))
    for name, known in found.items():
        with desk.batch() as session:
            made = session.decide(name, NewDecisions(n=NEXT))
        known["next"] = [each.arm for each in made.decisions]
    return found


def use(storage: Storage, seed: int, sweeps: bool) -> None:
    """Use a store in every way; half of it has snapshots."""
    work = Workload(storage, seed)
    for number in range(BATCHES):
        work.batch()
        if sweeps:
            work.desk.sweep()
        if number == BATCHES // 2:
            with work.desk.batch() as session:
                work.desk.bandits.save_all(session.look_up)


def write_file(path: Path) -> dict[str, Any]:
    """Write the golden file; return what follows."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store.db")
        with SQLiteStorage(store, durable=False) as storage:
            use(storage, SCHEMA, sweeps=False)
        copy_live(store, path)
        shutil.copy(path, store.with_name("copy.db"))
        with SQLiteStorage(store.with_name("copy.db"), durable=False) as storage:
            return what_follows(storage)


def write_dump(path: Path) -> dict[str, Any]:
    """Write the golden dump of PostgreSQL; return what follows."""
    with PostgresStorage(shared().address("handful")) as storage:
        use(storage, VERSION, sweeps=True)
        dumped = shared().program("pg_dump", "--schema=handful", "--no-owner")
        with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            packed.write(dumped.encode())
        return what_follows(storage)


def main() -> None:
    """Write all files, but for those that are there."""
    stores = (
        (f"schema-{SCHEMA}", ".db", write_file),
        (f"postgres-{VERSION}", ".sql.gz", write_dump),
    )
    for name, ending, write in stores:
        path = FOLDER / f"{name}{ending}"
        if path.exists():
            print(f"{path.name} is there already")
            continue
        follows = write(path)
        (FOLDER / f"{name}.json").write_text(json.dumps(follows, indent=1) + "\n")


if __name__ == "__main__":
    main()
