"""Write the golden store in PostgreSQL: `python -m tests.storage.golden.write_postgres`.

`postgres-N.sql.gz` is a dump of a store after some hundred requests of all kinds. `postgres-N.json`
has what every later version must make of it, as for SQLite (`write.py`).
"""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from handful.service.bodies import NewDecisions
from handful.service.shared import SharedDesk
from handful.service.shared_bandits import loader
from handful.storage.postgres import PostgresStorage, schema
from tests.postgres import shared
from tests.service.workload import FakeClock, Workload
from tests.storage.golden.write import BATCHES, NEXT

FOLDER = Path(__file__).parent


def what_follows(address: str) -> dict[str, Any]:
    """Return the state of each bandit in a store, and the decisions that follow."""
    found: dict[str, Any] = {}
    with PostgresStorage(address, create=False) as storage:
        with storage.moment() as tx:
            load = loader(tx)
            for row in tx.bandits():
                found[row.name] = {"state": sha256(load(row.id).to_bytes()).hexdigest()}
            at = tx.last()[1]
        desk = SharedDesk(storage, FakeClock(at))
        for name, known in found.items():
            with desk.batch() as session:
                made = session.decide(name, NewDecisions(n=NEXT))
            known["next"] = [each.arm for each in made.decisions]
    return found


def main() -> None:
    """Write both files, unless they are there."""
    path = FOLDER / f"postgres-{schema.VERSION}.sql.gz"
    if path.exists():
        print(f"{path.name} is there already")
        return
    address = shared().address("handful")
    with PostgresStorage(address) as storage:
        work = Workload(storage, seed=schema.VERSION)
        for number in range(BATCHES):
            work.batch()
            work.desk.sweep()
            if number == BATCHES // 2:
                with work.desk.batch() as session:
                    work.desk.bandits.save_all(session.look_up)
    dumped = shared().program("pg_dump", "--schema=handful", "--no-owner")
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(dumped.encode())
    follows = json.dumps(what_follows(address), indent=1) + "\n"
    path.with_name(f"postgres-{schema.VERSION}.json").write_text(follows)


if __name__ == "__main__":
    main()
