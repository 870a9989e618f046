"""Dask clusters: `tcp://host:8786`, whose scheduler is running, or `local:4`, started on demand.

This is the only module that imports `distributed`, and only when a cluster is named. All parts go
through the executor of Dask's client, which is a `concurrent.futures.Executor`: nothing else here
knows about Dask.

Dask handles the loss of a worker: its tasks run again on another one. If the scheduler is lost,
its client cancels all tasks, which `running.py` reports as an executor that was lost.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from handful.errors import ClusterError, MissingExtraError, SettingError
from handful.sweeps.task import fingerprint

FORMS = "tcp://HOST:PORT of a Dask scheduler, or local:N for N processes on this machine"
_ADDRESS = re.compile(r"(tcp|tls)://\S+:\d+")
_LOCAL = re.compile(r"local:(\d{1,4})")
_CONNECT = 10.0
_FIRST_WORKER = 30.0
"""Seconds that a scheduler, and then its first worker, has to answer."""
_LOGGERS = ("asyncio", "distributed", "tornado")
"""Dask's loggers, and those of the event loop that its connections are served by."""


@dataclass(frozen=True)
class Cluster:
    """A cluster whose workers have the sources of this process."""

    address: str
    executor: Executor
    workers: int
    """The threads of all workers when the cluster was joined; workers may come and go."""


def check_address(address: str) -> str:
    """Return the address of a cluster; refuse any other text, such as local:0."""
    local = _LOCAL.fullmatch(address)
    if not _ADDRESS.fullmatch(address) and (local is None or int(local[1]) < 1):
        raise SettingError(f"cluster {address!r}: give {FORMS}")
    return address


@contextmanager
def joined(address: str) -> Iterator[Cluster]:
    """Join a cluster, or start a local one; leave it, or end it, afterwards."""
    check_address(address)
    with _quiet(), joined_client(address) as client:
        workers = check_workers(client, address)
        executor: Executor = client.get_executor(pure=False)
        try:
            yield Cluster(address, executor, workers)
        finally:
            with suppress(Exception):  # of a scheduler that is lost
                executor.shutdown(wait=False)


@contextmanager
def joined_client(address: str, direct: bool = False) -> Iterator[Any]:
    """Join a cluster, or start a local one, by a client of Dask.

    `direct`: what the client asks of workers does not go through the scheduler.
    """
    check_address(address)
    distributed = _imported()
    with _running(address, distributed) as where, _connected(where, distributed, direct) as client:
        yield client


def _imported() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("a cluster", "distributed", "cluster") from None
    return distributed


@contextmanager
def _running(address: str, distributed: Any) -> Iterator[Any]:
    """Yield a cluster of processes on this machine, or the address of one that is there."""
    local = _LOCAL.fullmatch(address)
    if local is None:
        yield address
        return
    made = distributed.LocalCluster(
        n_workers=int(local[1]),
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # None would be port 8787, and a warning if it is taken
        silence_logs=logging.CRITICAL,
    )
    try:
        yield made
    finally:
        made.close()


@contextmanager
def _connected(where: Any, distributed: Any, direct: bool) -> Iterator[Any]:
    try:
        with warnings.catch_warnings():
            # Versions of packages that matter to the numbers are compared by their sources.
            warnings.filterwarnings("ignore", category=distributed.versions.VersionMismatchWarning)
            client = distributed.Client(
                where, timeout=_CONNECT, set_as_default=False, direct_to_workers=direct
            )
    except (OSError, TimeoutError) as error:
        raise ClusterError(
            f"no scheduler answers at {where}: start one with `dask scheduler`, and workers with "
            f"`dask worker {where}` ({error})"
        ) from None
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=2)


def check_workers(client: Any, address: str) -> int:
    """Return how many threads the workers have; refuse workers with other sources than here."""
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER)
    except TimeoutError:
        raise ClusterError(
            f"the scheduler at {address} has no workers: start some with `dask worker {address}`"
        ) from None
    mine = fingerprint()
    everywhere = {
        "the scheduler": _asked(lambda: client.run_on_scheduler(fingerprint), "the scheduler"),
        **_asked(lambda: client.run(fingerprint), "a worker"),
    }
    other = {who: found for who, found in everywhere.items() if tuple(found) != mine}
    if other:
        who, (version, sources) = next(iter(other.items()))
        raise ClusterError(
            f"{who} has handful {version} with sources {sources}, and this process {mine[0]} with "
            f"{mine[1]}: install the same on all hosts ({len(other)} of {len(everywhere)} differ)"
        )
    return sum(client.nthreads().values())


def _asked(ask: Callable[[], Any], who: str) -> Any:
    try:
        return ask()
    except Exception as error:
        raise ClusterError(
            f"{who} cannot run handful: {type(error).__name__}: {error}. Install the same handful, "
            "with its extra [cluster], on all hosts"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's loggers: the loss of a worker or scheduler is reported once, by us."""
    _imported()  # Dask makes its loggers, and sets their levels, when it is imported
    loggers = [
        logger
        for name, logger in logging.root.manager.loggerDict.items()
        if name.partition(".")[0] in _LOGGERS and isinstance(logger, logging.Logger)
    ]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
