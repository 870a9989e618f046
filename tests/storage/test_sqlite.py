"""A store in a file: what is damaged, emptied, or of another time is refused by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from handful.errors import DamagedStoreError, NewerStoreError, StoreError, StoreInUseError
from handful.service import bandits
from handful.service.bodies import NewBandit, NewDecisions
from handful.service.desk import Desk
from handful.service.doctor import examine
from handful.service.problems import Problem
from handful.storage import SQLiteStorage
from handful.storage.rows import Kind, Row, Snapshot
from tests.service.workload import Workload, states


def filled(path: Path) -> None:
    """Make a store with two bandits that have been used."""
    desk = Desk(SQLiteStorage(path, durable=False))
    with desk.batch() as session:
        for name in ("good", "bad"):
            session.create(NewBandit(name=name, memory=2, arms=["x", "y", "z"], window=9.0, seed=1))
            made = session.decide(name, NewDecisions(n=4, keys=[f"{name} {i}" for i in range(4)]))
            session.reward(made.decisions[0].id, 1.0)
    desk.close()


def change(path: Path, statement: str) -> None:
    direct = sqlite3.connect(path, isolation_level=None)
    direct.execute(statement)
    direct.close()


REFUSED = {
    "a bandit is missing": "DELETE FROM bandits WHERE id=2",
    "the end of the log is missing": "DELETE FROM log WHERE seq=12",
    "the head is missing": "DELETE FROM head",
    "the identity is missing": "DELETE FROM identity",
    "the identity is another": "UPDATE identity SET bytes=randomblob(16)",
    "a number is another": "UPDATE numbers SET value=value - 1 WHERE name='checkpoint'",
    "a table is another": "ALTER TABLE labels ADD COLUMN more INTEGER",
    "a table is missing": "DROP TABLE points",
    "a version is missing": "PRAGMA user_version=0",
}


@pytest.mark.parametrize("statement", REFUSED.values(), ids=list(REFUSED))
def test_a_start_is_refused(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "store.db"
    filled(path)
    change(path, statement)
    for _ in range(2):  # what was refused is not locked
        with pytest.raises(DamagedStoreError), SQLiteStorage(path) as storage:
            Desk(storage)


ONE_BANDIT = {
    "a label is another": "UPDATE labels SET label='w' WHERE bandit=2 AND number=1",
    "a label is missing": "DELETE FROM labels WHERE bandit=2 AND number=1",
    "its window is not watched": "DELETE FROM numbers WHERE name LIKE 'window%'",
    "its first row is damaged": "UPDATE log SET note=x'00' WHERE bandit=2 AND kind=1",
}


@pytest.mark.parametrize("statement", ONE_BANDIT.values(), ids=list(ONE_BANDIT))
def test_a_bandit_that_cannot_be_loaded(tmp_path: Path, statement: str) -> None:
    """It is refused by name; the others go on, are saved, and windows end."""
    path = tmp_path / "store.db"
    filled(path)
    if "log" in statement:
        change(path, "UPDATE snapshots SET seq=seq - 1 WHERE bandit=2")
    change(path, statement)
    clock = [10**12 * 2]
    desk = Desk(SQLiteStorage(path, durable=False), lambda: clock[0])
    if "window" in statement:
        with desk.batch() as session, pytest.raises(DamagedStoreError):
            session.describe("good")
        return
    for _ in range(2):
        with desk.batch() as session:
            with pytest.raises(Problem, match="cannot be loaded") as refused:
                session.decide("bad", NewDecisions())
            assert refused.value.status == 503
            assert len(session.decide("good", NewDecisions(n=2)).decisions) == 2
    if "log" not in statement:
        clock[0] += 10_000
        desk.sweep()
        with desk.batch() as session:
            assert session.describe("good").expired == 7
    desk.close()
    with SQLiteStorage(path) as storage:
        assert examine(storage).problems


LATER = {
    "the row of a decision": (
        "UPDATE log SET ref=ref + 1 WHERE seq=9",
        lambda session, ids: session.decision(ids(9)),
    ),
    "a row is missing": (
        "DELETE FROM log WHERE seq=9",
        lambda session, ids: session.reward(ids(9), 1.0),
    ),
    "an answer is gone": (
        "UPDATE log SET answer=NULL WHERE seq=8",
        lambda session, ids: session.reward(ids(8), 0.0),
    ),
    "an answer is that to another decision": (
        "UPDATE log SET answer=(SELECT answer FROM log WHERE seq=2) WHERE seq=8",
        lambda session, ids: session.reward(ids(8), 0.0),
    ),
    "a caller's own key": (
        "UPDATE own_keys SET decision=100 WHERE decision=9",
        lambda session, ids: session.decide("bad", NewDecisions(key="bad 1")),
    ),
    "a point of a history": (
        "UPDATE points SET body=x'00' WHERE bandit=2",
        lambda session, ids: session.history("bad"),
    ),
}


@pytest.mark.parametrize(("statement", "ask"), LATER.values(), ids=list(LATER))
def test_what_is_damaged_is_refused_when_it_is_read(
    tmp_path: Path, statement: str, ask: Callable[..., object]
) -> None:
    path = tmp_path / "store.db"
    filled(path)
    change(path, statement)
    desk = Desk(SQLiteStorage(path, durable=False))
    with pytest.raises(DamagedStoreError), desk.batch() as session:
        ask(session, desk.ids.name)
    with desk.batch() as session:
        assert len(session.decide("good", NewDecisions(n=2)).decisions) == 2
    desk.storage.close()


def test_a_snapshot_that_cannot_be_read_is_not_needed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path)
    with SQLiteStorage(path, durable=False) as storage:
        before = states(storage)
    change(path, "UPDATE snapshots SET body=x'00' WHERE bandit=1")
    with SQLiteStorage(path, durable=False) as storage:
        assert states(storage) == before
        with storage.begin() as tx:
            tx.put_snapshot(Snapshot(2, tx.last()[0], b"of another version"))
        assert states(storage) == before


def test_a_damaged_snapshot_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SQLiteStorage(path, durable=False) as storage, storage.begin() as tx:
        for bandit in range(1, 5):
            tx.put_snapshot(Snapshot(bandit, 7, b"state"))
    change(path, "UPDATE snapshots SET checksum=checksum + 1 WHERE bandit=1")
    change(path, "UPDATE snapshots SET body=x'7374617466' WHERE bandit=2")
    change(path, "UPDATE snapshots SET seq=6 WHERE bandit=3")
    with SQLiteStorage(path, durable=False) as storage, storage.begin() as tx:
        assert [tx.snapshot(bandit) is None for bandit in range(1, 5)] == [True, True, True, False]


def test_an_index_of_names_that_lost_a_bandit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path)
    direct = sqlite3.connect(path, isolation_level=None)
    (page,) = direct.execute(
        "SELECT rootpage FROM sqlite_master WHERE name='bandit_names'"
    ).fetchone()
    direct.close()
    contents = bytearray(path.read_bytes())
    contents[(page - 1) * 4096 + 3 : (page - 1) * 4096 + 5] = b"\0\0"  # how many entries it has
    path.write_bytes(contents)
    with SQLiteStorage(path, durable=False) as storage, storage.begin() as tx:
        with pytest.raises(DamagedStoreError, match="table of bandits"):
            tx.bandits()
        with pytest.raises(DamagedStoreError, match="table of bandits"):
            tx.bandit_named("good")


def test_an_emptied_file_is_refused(tmp_path: Path) -> None:
    """A file that lost its contents is no new store; one that was deleted is."""
    path = tmp_path / "store.db"
    filled(path)
    path.write_bytes(b"")
    with pytest.raises(DamagedStoreError, match="is empty, and was not before"):
        SQLiteStorage(path)
    path.unlink()
    with SQLiteStorage(path) as storage, storage.begin() as tx:
        assert tx.last() == (0, 0)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE things (a)")
    with pytest.raises(DamagedStoreError, match="is not a store of handful"):
        SQLiteStorage(path)
    path = tmp_path / "text.db"
    path.write_text("no database at all, " * 300)
    with pytest.raises(DamagedStoreError):
        SQLiteStorage(path)
    path = tmp_path / "newer.db"
    filled(path)
    change(path, "PRAGMA user_version=99")
    with pytest.raises(NewerStoreError, match="install a newer handful"):
        SQLiteStorage(path)


def test_a_write_ahead_log_that_lost_what_was_copied_is_refused(tmp_path: Path) -> None:
    """The remains of it would hide newer pages of the file."""
    path = tmp_path / "store.db"
    storage = SQLiteStorage(path, durable=False)
    work = Workload(storage, seed=3)
    for _ in range(20):
        work.batch()
    wal = path.with_name("store.db-wal").read_bytes()
    storage.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    file = path.read_bytes()
    storage.close()
    frame = 24 + 4096
    for frames, is_refused in ((0, False), (30, True), (len(wal) // frame, False)):
        path.write_bytes(file)
        path.with_name("store.db-wal").write_bytes(wal[: 32 + frames * frame])
        if is_refused:
            with pytest.raises(DamagedStoreError, match="no longer in its write-ahead log"):
                SQLiteStorage(path)
        else:
            with SQLiteStorage(path) as found:
                assert examine(found).problems == []


def test_two_stores_of_one_file(tmp_path: Path) -> None:
    storage = SQLiteStorage(tmp_path / "store.db")
    with pytest.raises(StoreInUseError, match="in use by another process"):
        SQLiteStorage(tmp_path / "store.db")
    storage.close()
    SQLiteStorage(tmp_path / "store.db").close()


def test_a_bandit_that_makes_room_is_saved_with_all_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new bandit takes the place of one whose last rows are not yet in the store.

    The third bandit is not saved, so that a restart reads these rows again.
    """
    monkeypatch.setattr(bandits, "MOST_LIVE", 2)
    desk = Desk(SQLiteStorage(tmp_path / "store.db", durable=False))
    with desk.batch() as session:
        for name in ("a", "c"):
            session.create(NewBandit(name=name, memory=2, arms=["x", "y", "z"], seed=1))
    with desk.batch() as session:
        session.decide("a", NewDecisions(n=3))
        session.decide("c", NewDecisions())
        session.create(NewBandit(name="b", memory=2, arms=["x", "y", "z"], seed=1))
    desk.storage.close()
    with SQLiteStorage(tmp_path / "store.db") as storage:
        assert examine(storage).problems == []


def test_a_backup_beside_the_write_ahead_log_of_another_store_is_refused(tmp_path: Path) -> None:
    """SQLite applied that log to the backup, and the store was a mixture of two."""
    path, backup = tmp_path / "store.db", tmp_path / "backup.db"
    desk = Desk(SQLiteStorage(path))
    with desk.batch() as session:
        session.create(NewBandit(name="a", policy="race", memory=2, arms=["x", "y"]))
    desk.storage.backup(backup)
    with desk.batch() as session:
        session.decide("a", NewDecisions(n=5))
    log = path.with_name("store.db-wal").read_bytes()
    desk.storage.close()
    path.write_bytes(backup.read_bytes())
    path.with_name("store.db-wal").write_bytes(log)
    with pytest.raises(DamagedStoreError, match=r"is a backup.*remove store\.db-wal"):
        SQLiteStorage(path)
    path.with_name("store.db-wal").unlink()
    desk = Desk(SQLiteStorage(path))
    with desk.batch() as session:
        assert session.describe("a").decisions == 0
    desk.close()


def test_what_is_written_after_a_commit_was_prepared_is_refused(tmp_path: Path) -> None:
    """The head of the store would not be that of its log: the next start would be refused."""
    path = tmp_path / "store.db"
    with SQLiteStorage(path, durable=False) as storage:
        for numbers in ([1], []):
            tx = storage.begin()
            tx.append([Row(seq, 0, 1, Kind.CREATED) for seq in numbers])
            tx.prepare_commit()
            tx.append([Row(len(numbers) + 1, 0, 1, Kind.CREATED)])
            with pytest.raises(StoreError, match="after `prepare_commit`"):
                tx.commit()
        with storage.begin() as tx:
            assert tx.last() == (0, 0)
            tx.append([Row(1, 0, 1, Kind.CREATED)])
            tx.prepare_commit()
            tx.prepare_commit()
    with SQLiteStorage(path, durable=False) as storage:
        assert storage.verify() == []
        with storage.begin() as tx:
            assert tx.last() == (1, 0)
