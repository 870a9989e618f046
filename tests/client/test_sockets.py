"""Both clients against the stub on a real port: connections that break, hang and are refused."""

from __future__ import annotations

import asyncio
import socket
from threading import Event, Thread

import pytest

from handful.client import AsyncClient, Client, Limits
from handful.errors import UnavailableError
from tests.client.stub import Fault, Stub

BROKEN = [Fault.CUT_AFTER, Fault.CUT_BEFORE, Fault.DOWN_BEFORE, Fault.HANG_AFTER, Fault.BUSY_BEFORE]
QUICK = Limits(timeout=0.3, total=30, attempts=6, first_wait=0, failures=9)


def stub() -> Stub:
    return Stub(bandits={"front": {"name": "front", "arms": ["a", "b"]}})


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_a_decision_is_made_once_over_broken_connections() -> None:
    service = stub()
    with service.served() as url, Client(url, limits=QUICK) as client:
        service.faults.extend(BROKEN)
        decision = client.decide("front")
        service.faults.extend(BROKEN)
        assert client.reward(decision, 1.0) == "duplicate"
    assert len(service.seen) == 2 * len(BROKEN) + 2
    assert (len(service.decisions), service.credited) == (1, 1)


def test_and_so_it_is_with_asyncio() -> None:
    async def converse(url: str) -> None:
        async with AsyncClient(url, limits=QUICK) as client:
            service.faults.extend(BROKEN)
            decision = await client.decide("front")
            service.faults.extend(BROKEN)
            assert await client.reward(decision, 1.0) == "duplicate"

    service = stub()
    with service.served() as url:
        asyncio.run(converse(url))
    assert len(service.seen) == 2 * len(BROKEN) + 2
    assert (len(service.decisions), service.credited) == (1, 1)


def test_many_threads_share_a_client() -> None:
    service = stub()
    with service.served() as url, Client(url) as client:

        def work() -> None:
            for _ in range(10):
                client.reward(client.decide("front"), 1.0)

        threads = [Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(service.decisions), service.credited) == (80, 80)


def test_where_nobody_listens_the_message_says_what_to_start() -> None:
    limits = Limits(attempts=2, first_wait=0)
    url = f"http://127.0.0.1:{free_port()}"
    with Client(url, limits=limits) as client:
        with pytest.raises(UnavailableError, match="is `handful serve` running there") as caught:
            client.bandit("front")
        assert isinstance(caught.value, ConnectionError)
        assert client.decide("front", fallback="b").is_fallback


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 200\r\n"


@pytest.mark.parametrize("begins", [HEAD + b"\r\n", HEAD + b"x-trickles: "], ids=["body", "head"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_answer_that_trickles_in_is_timed_out(asynchronous: bool, begins: bytes) -> None:
    """A head that trickled in held the plain client for ever."""

    def trickle() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(begins)
            try:
                for _ in range(1000):
                    if done.wait(0.01):
                        break
                    connection.sendall(b" ")
            except OSError:
                pass

    def ask(url: str) -> None:
        with Client(url, limits=limits) as client:
            client.bandit("front")

    async def ask_asynchronously(url: str) -> None:
        async with AsyncClient(url, limits=limits) as client:
            await client.bandit("front")

    limits = Limits(timeout=0.2, attempts=1)
    done = Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = Thread(target=trickle)
        thread.start()
        with pytest.raises(UnavailableError, match="no answer from"):
            asyncio.run(ask_asynchronously(url)) if asynchronous else ask(url)
        done.set()
        thread.join()
