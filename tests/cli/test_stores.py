"""`handful doctor --store`, `backup`, `copy`, `export` and `keys`, on a store with a history."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from handful.cli.app import app
from handful.service.auth import digest_of
from handful.storage import SQLiteStorage
from tests.postgres import shared
from tests.service.workload import Workload


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store after some requests."""
    path = tmp_path / "store.db"
    with SQLiteStorage(path, durable=False) as storage:
        work = Workload(storage, seed=3)
        for _ in range(40):
            work.batch()
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_sound_store_is_said_to_be_well(store: Path) -> None:
    said = run("doctor", "--store", store)
    assert said.exit_code == 0
    assert "8 bandits" in said.stdout
    assert "all is well" in said.stdout
    report = json.loads(run("doctor", "--store", store, "--json").stdout)
    assert report["problems"] == []
    assert report["decisions"] > 20


def test_what_is_wrong_is_named(store: Path) -> None:
    body = bytearray(store.read_bytes())
    with SQLiteStorage(store, durable=False) as storage, storage.begin() as tx:
        label = tx.labels(1)[3].encode()
    place = body.rindex(label)
    body[place] ^= 1
    store.write_bytes(body)
    said = run("doctor", "--store", store)
    assert said.exit_code == 1
    assert "problem" in said.output


def test_a_store_that_is_not_there_or_in_use_is_an_error(store: Path, tmp_path: Path) -> None:
    missing = run("doctor", "--store", tmp_path / "nothing.db")
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "there is no store" in missing.stderr
    with SQLiteStorage(store):
        assert "is in use" in run("doctor", "--store", store).stderr
        assert run("backup", "--store", store, "--out", tmp_path / "copy.db").exit_code == 0
    assert run("doctor", "--store", tmp_path / "copy.db").exit_code == 0
    again = run("backup", "--store", store, "--out", tmp_path / "copy.db")
    assert again.exit_code == 1
    assert "exists already" in again.stderr


def test_both_kinds_of_export_say_the_same(store: Path, tmp_path: Path) -> None:
    table, lines = tmp_path / "log.parquet", tmp_path / "log.jsonl"
    assert run("export", "--store", store, "--out", table).exit_code == 0
    assert run("export", "--store", store, "--out", lines).exit_code == 0
    frame = pl.read_parquet(table)
    parsed = [json.loads(line) for line in lines.read_text().splitlines()]
    assert frame.height == len(parsed) > 20
    plain = ["bandit", "decision", "arm", "probability", "key", "reward", "status", "default"]
    assert frame.select(plain).to_dicts() == [{name: row[name] for name in plain} for row in parsed]
    assert set(frame["status"]) >= {"open", "rewarded"}
    explored = frame.filter(pl.col("bandit") == "explore")["probability"]
    assert explored.null_count() == 0
    assert frame.filter(pl.col("bandit") == "race")["probability"].null_count() > 0
    one = tmp_path / "one.parquet"
    assert run("export", "--store", store, "--out", one, "--bandit", "ucb").exit_code == 0
    assert set(pl.read_parquet(one)["bandit"]) == {"ucb"}
    assert run("export", "--store", store, "--out", tmp_path / "log.txt").exit_code == 2


def test_keys_are_made_listed_and_removed(store: Path) -> None:
    with SQLiteStorage(store, durable=False) as storage, storage.begin() as tx:
        bandit = tx.bandits()[0].name
    locked_out = run("keys", "add", "--store", store, "--name", "shop", "--scope", "decide")
    assert locked_out.exit_code == 2
    assert "must have the scope admin" in locked_out.stderr
    key = run("keys", "add", "--store", store, "--name", "ops", "--scope", "admin").stdout.strip()
    run("keys", "add", "--store", store, "--name", "shop", "--scope", "decide", "--bandit", bandit)
    words = (
        "keys",
        "add",
        "--store",
        store,
        "--name",
        "x",
        "--scope",
        "decide",
        "--bandit",
        "none",
    )
    assert "there is no bandit 'none'" in run(*words).stderr
    listed = json.loads(run("keys", "list", "--store", store, "--json").stdout)
    assert [(row["name"], row["scopes"], row["bandit"]) for row in listed] == [
        ("ops", "admin", None),
        ("shop", "decide", bandit),
    ]
    assert "shop" in run("keys", "list", "--store", store).stdout
    with SQLiteStorage(store) as storage, storage.begin() as tx:
        assert tx.caller_keys()[0].digest == digest_of(key)
    assert key.encode() not in store.read_bytes()
    assert run("keys", "remove", "--store", store, listed[0]["id"]).exit_code == 0
    assert run("keys", "remove", "--store", store, listed[0]["id"]).exit_code == 2
    assert run("keys", "add", "--store", store, "--name", "x", "--scope", "all").exit_code == 2


def test_every_command_takes_a_store_in_postgresql(store: Path, tmp_path: Path) -> None:
    address = shared().new_store()
    copied = run("copy", "--from", store, "--to", address)
    assert copied.exit_code == 0, copied.stderr
    assert f"equal to {store}" in copied.stdout
    digest = copied.stdout.rpartition("SHA-256 ")[2]
    assert run("copy", "--from", store, "--to", address).exit_code == 1  # it is not empty

    said = run("doctor", "--store", address)
    assert (said.exit_code, "all is well" in said.stdout) == (0, True)
    tables = [tmp_path / "file.jsonl", tmp_path / "postgres.jsonl"]
    for place, table in zip((store, address), tables, strict=True):
        assert run("export", "--store", place, "--out", table).exit_code == 0
    assert tables[0].read_text() == tables[1].read_text()

    copy, backup = tmp_path / "copy.db", tmp_path / "backup.db"
    assert run("copy", "--from", address, "--to", copy).stdout.endswith(digest)
    assert run("copy", "--from", address, "--to", copy).exit_code == 1  # it exists
    assert run("backup", "--store", address, "--out", backup).exit_code == 0
    assert run("backup", "--store", address, "--out", backup).exit_code == 1
    assert [path.name for path in tmp_path.glob("backup*")] == ["backup.db"]
    for path in (copy, backup):
        assert run("doctor", "--store", path).exit_code == 0
    run("keys", "add", "--store", address, "--name", "ops", "--scope", "admin")
    (key,) = json.loads(run("keys", "list", "--store", address, "--json").stdout)
    assert run("keys", "remove", "--store", address, key["id"]).exit_code == 0


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    for wrong, said in (
        ("mysql://host/db", "postgresql://HOST/DATABASE"),
        ("postgresql://me:secret@127.0.0.1:1/db", "cannot be reached"),
    ):
        for words in (("doctor", "--store", wrong), ("copy", "--from", wrong, "--to", "x.db")):
            found = run(*words)
            assert found.exit_code in (1, 2)
            assert said in found.stderr
            assert "secret" not in found.output
