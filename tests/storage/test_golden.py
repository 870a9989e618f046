"""Stores of every version are opened, migrated, sound, and go on as they did."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from handful.errors import DamagedStoreError, NewerStoreError
from handful.service.doctor import examine
from handful.storage import SQLiteStorage, Storage, contract, schema, sqlite
from handful.storage.postgres import PostgresStorage
from handful.storage.postgres import schema as postgres_schema
from tests.postgres import shared
from tests.storage.golden.write import FOLDER, what_follows

VERSIONS = range(1, contract.SCHEMA + 1)


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the golden store of a version."""
    path = tmp_path / "store.db"
    shutil.copy(FOLDER / f"schema-{request.param}.db", path)
    return path


def goes_on(storage: Storage, golden: str) -> None:
    """Check that a store is sound, and that what follows is what was written beside it."""
    report = examine(storage)
    assert report.problems == []
    assert report.decisions > 100
    assert what_follows(storage) == json.loads((FOLDER / f"{golden}.json").read_text())


@pytest.mark.parametrize(("version", "store"), [(v, v) for v in VERSIONS], indirect=["store"])
def test_it_is_sound_and_goes_on_as_it_did(version: int, store: Path) -> None:
    with SQLiteStorage(store, durable=False) as storage:
        goes_on(storage, f"schema-{version}")


NEXT = contract.SCHEMA + 1
ADDED = "CREATE TABLE added (number INTEGER PRIMARY KEY) STRICT"


@pytest.mark.parametrize("store", [contract.SCHEMA], indirect=True)
def test_a_migration_is_applied_as_a_whole_or_not_at_all(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version() -> int:
        connection = sqlite3.connect(store)
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        connection.close()
        return int(found)

    monkeypatch.setattr(sqlite, "SCHEMA", NEXT)
    monkeypatch.setattr(schema, "TABLES", f"{schema.TABLES}{ADDED};\n")
    broken = {contract.SCHEMA: (ADDED, "NO SUCH STATEMENT")}
    monkeypatch.setattr(sqlite, "MIGRATIONS", broken)
    with pytest.raises(DamagedStoreError, match="syntax error"):
        SQLiteStorage(store)
    assert version() == contract.SCHEMA
    monkeypatch.setattr(sqlite, "MIGRATIONS", {contract.SCHEMA: (ADDED,)})
    with SQLiteStorage(store) as storage:
        assert examine(storage).problems == []
    assert version() == NEXT


@pytest.mark.parametrize("store", [contract.SCHEMA], indirect=True)
@pytest.mark.parametrize(("version", "error"), [(99, NewerStoreError), (0, DamagedStoreError)])
def test_other_versions_are_refused_by_name(
    store: Path, version: int, error: type[Exception]
) -> None:
    connection = sqlite3.connect(store)
    connection.execute(f"PRAGMA user_version={version}")
    connection.close()
    with pytest.raises(error, match="version"):
        SQLiteStorage(store)


@pytest.mark.parametrize("version", range(1, postgres_schema.VERSION + 1))
def test_a_store_in_postgresql_is_sound_and_goes_on_as_it_did(version: int) -> None:
    database = f"golden_{version}"
    shared().program("psql", "-c", f"CREATE DATABASE {database}")
    dump = gzip.decompress((FOLDER / f"postgres-{version}.sql.gz").read_bytes()).decode()
    shared().program("psql", "-v", "ON_ERROR_STOP=1", database=database, given=dump)
    address = shared().address().replace("/postgres?", f"/{database}?")
    with PostgresStorage(address, create=False) as storage:
        goes_on(storage, f"postgres-{version}")
