"""Power failures and bad disks: the files of a store cut or flipped at random places.

What is guaranteed:

- A start gives the state of all bandits after some prefix of the transactions, or it is refused by
  a `StoreError`. A cut or damaged write-ahead log gives a prefix; a damaged file is refused, or is
  damaged where the state does not depend on it.
- A bandit is loaded when it is first asked for. If what it is loaded from is damaged, that request
  is refused by name, and other bandits go on.
- Whatever is read later has a checksum, so a row of the log, an answer, a label, a caller's key, a
  remembered answer is what was written, or is refused by name when it is read.
- One thing is noticed only by `handful doctor`: a caller's own key, or a remembered
  `Idempotency-Key`, that vanished together with its checksum. A retry with such a key is a new
  decision.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from handful.errors import StoreError
from handful.service import bandits, desk
from handful.service.bandits import Bandits, StoreLookUp
from handful.service.desk import Desk
from handful.service.doctor import examine
from handful.storage import SQLiteStorage
from handful.storage.contract import Transaction
from handful.storage.rows import ANSWERS, Kind, Row
from tests.service.workload import Workload, states

PAGE = 4096
SECTOR = 512


class Moment(NamedTuple):
    """The files of a store at some moment, and how far its log went."""

    file: bytes
    wal: bytes
    what: str
    last: int


class History(NamedTuple):
    """A store over time."""

    moments: list[Moment]
    states: dict[int, dict[str, bytes]]
    """Of all bandits, after each transaction, by its last row."""
    rows: dict[int, Row]
    labels: list[tuple[int, int, int, str]]
    """The row of the log, the bandit, the arm, its label."""
    own_keys: dict[int, tuple[int, str]]


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """Save, evict and load bandits all the time."""
    patch = pytest.MonkeyPatch()
    patch.setattr(bandits, "MOST_ROWS", 60)
    patch.setattr(bandits, "MOST_LIVE", 4)
    patch.setattr(desk, "MOST_DUE", 50)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def history(small: None, tmp_path_factory: pytest.TempPathFactory) -> History:
    path = tmp_path_factory.mktemp("torn") / "store.db"
    wal = path.with_name("store.db-wal")
    storage = SQLiteStorage(path, durable=False)
    storage.connection.execute("PRAGMA wal_autocheckpoint=100")
    work = Workload(storage, seed=1)
    moments: list[Moment] = []
    known: dict[int, dict[str, bytes]] = dict([(0, {}), states(storage)])
    before = path.read_bytes()
    for count in range(500):
        # One transaction.
        if count % 2:
            work.desk.sweep()
        else:
            work.batch()
        now, log = path.read_bytes(), wal.read_bytes()
        last, found = states(storage)
        known[last] = found
        if now != before:
            # A checkpoint copied the whole write-ahead log, page by page.
            moments.append(Moment(now, log, "after a checkpoint", last))
            for share in (0.02, 0.3, 0.8):
                at = int(share * len(now)) // PAGE * PAGE
                moments.append(Moment(now[:at] + before[at:], log, "during a checkpoint", last))
            before = now
        elif count % 30 == 0:
            moments.append(Moment(now, log, "before a checkpoint", last))
    with storage.begin() as tx:
        rows = {row.seq: row for row in tx.rows()}
        labels = list(labels_in(rows.values()))
        keys = tx.keys_of((0, last))
        own_keys = {seq: (rows[seq].bandit, key) for seq, key in keys.items()}
    work.desk.close()
    moments.append(Moment(path.read_bytes(), b"", "after a clean stop", last))
    return History(moments, known, rows, labels, own_keys)


def labels_in(rows: Iterable[Row]) -> Iterator[tuple[int, int, int, str]]:
    for row in rows:
        if row.kind not in (Kind.CREATED, Kind.ADDED):
            continue
        note = msgspec.json.decode(row.note or b"")
        labels = note[1] if row.kind == Kind.CREATED else note
        for number, label in enumerate(labels, row.ref or 0):
            yield row.seq, row.bandit, number, label


def damaged(contents: bytes, dice: random.Random) -> bytes:
    """Return contents with one fault of a disk."""
    found = bytearray(contents)
    at = dice.randrange(len(found))
    fault = dice.randrange(5)
    if fault == 0:
        return contents[:at]
    if fault == 1:
        found[at] ^= 1 << dice.randrange(8)
    elif fault == 2:
        for _ in range(dice.choice((2, 10, 100))):
            found[dice.randrange(len(found))] ^= 1 << dice.randrange(8)
    else:
        at -= at % SECTOR
        there = len(found[at : at + SECTOR])
        found[at : at + SECTOR] = bytes(there) if fault == 3 else dice.randbytes(there)
    return bytes(found)


def open_damaged(path: Path, moment: Moment, history: History, dice: random.Random) -> str:
    """Damage a moment's files and open them; return what became of them."""
    in_wal = bool(moment.wal) and dice.random() < 0.5
    file = moment.file if in_wal else damaged(moment.file, dice)
    wal = damaged(moment.wal, dice) if in_wal else moment.wal
    path.write_bytes(file)
    path.with_name(f"{path.name}-wal").write_bytes(wal)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    try:
        storage = SQLiteStorage(path, durable=False)
    except StoreError:
        return "refused"
    try:
        return look_at_all(storage, history)
    finally:
        with suppress(StoreError):
            storage.close()


def look_at_all(storage: SQLiteStorage, history: History) -> str:
    try:
        Desk(storage)
        tx = storage.begin()
    except StoreError:
        return "refused"
    try:
        last = tx.last()[0]
        wanted = history.states[last]
        became = look_at_states(tx, wanted)
        refused_rows = look_at_rows(tx, history, last)
        vanished = look_at_keys(tx, history, last)
    finally:
        tx.rollback()
    if vanished:
        assert examine(storage).problems
    if became == "prefix" and (refused_rows or vanished):
        return "prefix, damage found later"
    return became


def look_at_states(tx: Transaction, wanted: dict[str, bytes]) -> str:
    """All bandits, and no others, are in the state of the prefix, or are refused."""
    became = "prefix"
    live, look_up = Bandits(), StoreLookUp(tx)
    try:
        listed = tx.bandits()
    except StoreError:
        listed = []
        became = "refused when asked for"
    else:
        assert [row.name for row in listed] == sorted(wanted)
    for row in listed:
        try:
            found = live.get(look_up, row.id).to_bytes()
        except StoreError:
            became = "refused when asked for"
            live = Bandits()
            continue
        assert found == wanted[row.name], row.name
    for name in wanted:
        try:
            assert tx.bandit_named(name) is not None, name
        except StoreError:
            became = "refused when asked for"
    return became


def look_at_rows(tx: Transaction, history: History, last: int) -> int:
    """Rows, answers and labels are what was written, or are refused."""
    refused = 0
    answers = {
        row.ref: row.seq for row in history.rows.values() if row.kind in ANSWERS and row.seq <= last
    }
    for seq in range(1, last + 1):
        row = history.rows[seq]
        try:
            assert tx.row(seq) == row
            found = tx.answer_to(seq)
            if found is not None and found != answers.get(seq):
                answer = tx.row(found)
                # What a desk looks at before it believes it.
                assert answer is None or answer.ref != seq
                refused += 1
            else:
                assert found == answers.get(seq)
        except StoreError:
            refused += 1
    for seq, bandit, number, label in history.labels:
        if seq <= last:
            try:
                assert tx.labels(bandit, [number]) == {number: label}
            except StoreError:
                refused += 1
    return refused


def look_at_keys(tx: Transaction, history: History, last: int) -> int:
    """A caller's own key is that of its decision, or it is refused, or it has vanished."""
    vanished = 0
    for seq, (bandit, key) in history.own_keys.items():
        if seq <= last:
            try:
                found = tx.decision_with_key(bandit, key)
            except StoreError:
                continue
            assert found in (seq, None)
            vanished += found is None
    return vanished


def try_many(history: History, folder: Path, times: range) -> Counter[str]:
    became: Counter[str] = Counter()
    for seed in times:
        dice = random.Random(seed)
        moment = dice.choice(history.moments)
        path = folder / "store.db"
        try:
            became[open_damaged(path, moment, history, dice)] += 1
        except BaseException as error:
            error.add_note(f"seed {seed}, {moment.what}")
            raise
    return became


def test_the_files_of_every_moment_are_the_store_of_that_moment(
    history: History, tmp_path: Path
) -> None:
    assert {moment.what for moment in history.moments} == {
        "before a checkpoint", "during a checkpoint", "after a checkpoint", "after a clean stop",
    }  # fmt: skip
    for moment in history.moments:
        path = tmp_path / "store.db"
        path.write_bytes(moment.file)
        path.with_name("store.db-wal").write_bytes(moment.wal)
        with SQLiteStorage(path, durable=False) as storage:
            assert look_at_all(storage, history) == "prefix", moment.what
            with storage.begin() as tx:
                assert tx.last()[0] == moment.last


def test_a_damaged_file_is_a_prefix_of_history_or_refused(history: History, tmp_path: Path) -> None:
    became = try_many(history, tmp_path, range(150))
    assert became["prefix"] > 10
    assert became["refused"] > 10


@pytest.mark.long
def test_two_thousand_damaged_files(history: History, tmp_path: Path) -> None:
    became = try_many(history, tmp_path, range(2000))
    print(became)
    assert sum(became.values()) == 2000
