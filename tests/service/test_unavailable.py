"""A full disk, files that were moved or deleted, a second process, and a stop under load.

What cannot be stored is answered with 503 and stored nowhere; what can be read is still read; and
when there is room again, everything goes on without a restart.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from handful.errors import StoreUnavailableError
from handful.service.doctor import examine
from handful.service.ids import Ids
from handful.storage import SQLiteStorage
from handful.storage.rows import Kind
from tests.service.server import PATIENCE, SMALL, Answer, Client, Server

BANDIT = {"name": "a", "memory": 2, "arms": ["x", "y", "z"], "seed": 1}
Room = Callable[[Server, Path], None]


class Told:
    """A client that counts what it was told."""

    def __init__(self, server: Server) -> None:
        self.client = Client(server)
        self.decisions: list[str] = []
        self.rewarded: list[str] = []

    def decide(self, n: int = 1) -> Answer:
        answer = self.client.ask("POST", "/v1/bandits/a/decisions", {"n": n})
        if answer.status == 201:
            self.decisions += [made["id"] for made in answer.body["decisions"]]
        return answer

    def reward(self, id: str) -> Answer:
        answer = self.client.ask("PUT", f"/v1/decisions/{id}/reward", {"reward": 1.0})
        if answer.status == 200 and id not in self.rewarded:
            self.rewarded.append(id)
        return answer

    def get(self, path: str) -> int:
        return self.client.ask("GET", path).status


def started(server: Server) -> Told:
    server.start()
    told = Told(server)
    while True:
        try:
            assert told.client.ask("POST", "/v1/bandits", BANDIT).status == 201
            return told
        except ConnectionError:  # it does not listen yet
            continue


def check(store: Path, *told: Told) -> None:
    """The store has what clients were told, and nothing else."""
    with SQLiteStorage(store) as storage:
        assert examine(storage).problems == []
        ids = Ids(storage.identity())
        with storage.begin() as tx:
            rows = list(tx.rows())
    decided = [ids.name(row.seq) for row in rows if row.kind == Kind.DECIDED]
    rewarded = [ids.name(row.ref or 0) for row in rows if row.kind == Kind.REWARDED]
    assert sorted(decided) == sorted(id for each in told for id in each.decisions)
    assert sorted(rewarded) == sorted(id for each in told for id in each.rewarded)


# A full disk: files of the server may not grow, or a small file system has no room left.


def _limited(server: Server, store: Path) -> None:
    assert server.pid is not None
    most = store.with_name(f"{store.name}-wal").stat().st_size
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (most, hard))


def _unlimited(server: Server, store: Path) -> None:
    assert server.pid is not None
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard, hard))


def _filled(server: Server, store: Path) -> None:
    with store.with_name("filler").open("wb", buffering=0) as filler:
        for size in (65536, 4096, 512, 1):
            try:
                while filler.write(b"x" * size) == size:
                    pass
            except OSError:
                continue


def _emptied(server: Server, store: Path) -> None:
    store.with_name("filler").unlink()


@contextmanager
def small_file_system(folder: Path) -> Iterator[None]:
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True
    )
    if made.returncode:
        pytest.fail(f"this test needs the right to mount a file system: {made.stderr.decode()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    ("fill", "free"), [(_limited, _unlimited), (_filled, _emptied)], ids=["limit", "file system"]
)
def test_a_full_disk(tmp_path: Path, fill: Room, free: Room) -> None:
    store = tmp_path / "store.db"
    with ExitStack() as stack:
        if fill is _filled:
            stack.enter_context(small_file_system(tmp_path))
        server = stack.enter_context(Server(store, SMALL))
        told = started(server)
        for _ in range(3):
            before = len(told.decisions)
            assert told.decide(20).status == 201
            assert told.reward(told.decisions[-1]).status == 200
            fill(server, store)
            refused = [told.decide(20) for _ in range(10)]
            refused.append(told.reward(told.decisions[before]))
            for answer in refused[1:]:
                assert answer.status == 503
                assert int(answer.headers["retry-after"]) > 0
                assert answer.headers["content-type"] == "application/problem+json"
            assert told.get("/readyz") == 503
            assert told.get("/healthz") == 200
            answer = told.client.ask("GET", "/v1/bandits/a")
            assert answer.body["decisions"] == len(told.decisions)
            for path in ("/v1/bandits", "/v1/bandits/a/history", "/v1/bandits/a/arms", "/metrics"):
                assert told.get(path) == 200
            assert told.get(f"/v1/decisions/{told.decisions[0]}") == 200
            free(server, store)
            assert told.get("/readyz") == 200
            assert told.reward(told.decisions[before]).status == 200
            assert told.decide(20).status == 201
        assert server.stop() == 0
        assert len([line for line in server.lines if "the store cannot be used" in line]) == 3
        check(store, told)


def test_a_full_disk_under_load(tmp_path: Path) -> None:
    """Reads and writes share transactions; the writes alone are refused."""
    store = tmp_path / "store.db"
    with Server(store, SMALL) as server:
        clients = [started(server), *(Told(server) for _ in range(7))]
        statuses: set[int] = set()
        reads: set[int] = set()
        full, done = threading.Event(), threading.Event()

        def work(told: Told) -> None:
            while not done.is_set():
                answer = told.decide()
                if full.is_set():
                    statuses.add(answer.status)
                reads.add(told.get("/v1/bandits/a"))
                if answer.status == 201:
                    told.reward(told.decisions[-1])

        threads = [threading.Thread(target=work, args=(told,), daemon=True) for told in clients]
        for thread in threads:
            thread.start()
        watch = Told(server)
        for _ in range(4):
            while watch.client.ask("GET", "/v1/bandits/a").body["decisions"] % 50 < 40:
                pass
            _limited(server, store)
            full.set()
            while watch.get("/readyz") == 200:
                watch.decide()
            full.clear()
            _unlimited(server, store)
            while watch.get("/readyz") != 200:
                pass
        done.set()
        for thread in threads:
            thread.join(PATIENCE)
        assert server.stop() == 0
    assert 503 in statuses
    assert reads == {200}
    check(store, watch, *clients)


# Files that are not where they were.


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_file_that_was_moved(tmp_path: Path, suffix: str) -> None:
    store = tmp_path / "store.db"
    file = tmp_path / f"store.db{suffix}"
    with Server(store) as server:
        told = started(server)
        assert told.decide(5).status == 201
        file.rename(tmp_path / "elsewhere")
        answer = told.decide()
        assert answer.status == 503
        assert "moved, replaced or deleted" in answer.body["detail"]
        assert told.get("/readyz") == 503
        assert told.get("/v1/bandits/a") == 200
        (tmp_path / "elsewhere").rename(file)
        assert told.get("/readyz") == 200
        assert told.decide().status == 201
        assert server.stop() == 0
    check(store, told)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_deleted(tmp_path: Path, replaced: bool) -> None:
    """Nothing is acknowledged that would vanish with the file."""
    store = tmp_path / "store.db"
    with Server(store) as server:
        told = started(server)
        assert told.decide(5).status == 201
        for file in tmp_path.glob("store.db*"):
            file.unlink()
        if replaced:
            SQLiteStorage(store).close()
        for _ in range(3):
            assert told.decide().status == 503
        assert told.get("/v1/bandits/a") == 200
        server.stop()
        server.start()
        told = Told(server)
        while True:
            try:
                assert told.get("/v1/bandits/a") == 404
                break
            except ConnectionError:
                continue


def test_a_file_that_cannot_be_written_to() -> None:
    """A start is refused by name, and the file is as it was."""
    script = (
        "import os, sys\n"
        "from handful.errors import StoreUnavailableError\n"
        "from handful.storage import SQLiteStorage\n"
        "os.geteuid() == 0 and os.setuid(65534)\n"
        "try: SQLiteStorage(sys.argv[1])\n"
        "except StoreUnavailableError as error: print(error)\n"
    )
    with TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        SQLiteStorage(store).close()
        before = store.read_bytes()
        for lock in (0o444, 0o666):
            store.with_name("store.db.lock").chmod(lock)
            store.chmod(0o444)
            Path(folder).chmod(0o555)
            ran = subprocess.run(
                [sys.executable, "-c", script, str(store)], capture_output=True, text=True
            )
            assert "store" in ran.stdout, ran.stderr
            assert not ran.stderr
            assert store.read_bytes() == before
        Path(folder).chmod(0o755)


# Processes.


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with Server(store) as server, Server(store) as second:
        told = started(server)
        with pytest.raises(RuntimeError, match="is in use by another process"):
            second.start()
        assert told.decide().status == 201
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        second.start()
        assert second.stop() == 0
    check(store, told)


def test_a_stop_under_load(tmp_path: Path) -> None:
    """What was begun is answered, the store is closed, and bandits are saved."""
    store = tmp_path / "store.db"
    with Server(store) as server:
        clients = [started(server), *(Told(server) for _ in range(7))]
        begun = threading.Barrier(len(clients) + 1)

        def work(told: Told) -> None:
            for count in range(10**6):
                if count == 10:
                    begun.wait(PATIENCE)
                try:
                    if told.decide().status != 201 or told.reward(told.decisions[-1]).status != 200:
                        return
                except ConnectionError:
                    return

        threads = [threading.Thread(target=work, args=(told,), daemon=True) for told in clients]
        for thread in threads:
            thread.start()
        begun.wait(PATIENCE)
        assert server.stop() == 0
        for thread in threads:
            thread.join(PATIENCE)
        assert not [line for line in server.lines if '"level":"error"' in line]
    assert not store.with_name("store.db-wal").exists()
    with SQLiteStorage(store) as storage, storage.begin() as tx:
        assert tx.number("checkpoint") == tx.last()[0]
    check(store, *clients)


def test_a_commit_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """The contract: the store is as it was, and works again when there is room."""
    with SQLiteStorage(tmp_path / "store.db") as storage:
        with storage.begin() as tx:
            tx.set_number("a", 1)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = (tmp_path / "store.db-wal").stat().st_size
        for value in (2, 3):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            tx = storage.begin()
            tx.set_number("a", 100)
            tx.set_number("b", 100)
            try:
                with pytest.raises(StoreUnavailableError, match="may be sent again"):
                    tx.commit()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            with storage.begin() as tx:
                assert (tx.number("a"), tx.number("b")) == (value - 1, 0)
                tx.set_number("a", value)
            size = (tmp_path / "store.db-wal").stat().st_size
