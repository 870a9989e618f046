"""A load generator for the service: each client decides, gives the reward, and does so again.

    python -m benchmarks.load --url http://127.0.0.1:8000 --clients 32 --seconds 10 --bandits 1

A client is one connection that is kept open, with one request on its way at any time (a closed
loop). Decisions and rewards are 1:1. It prints requests a second, latencies and errors; `--json`
for programs. It sends only to loopback addresses, unless `--host-is-mine` is given.

The generator shares its cores with the server that it measures, so it has to be light: HTTP/1.1 is
written by hand on asyncio protocols. `handful.client` is not used, since httpx takes several times
as long for a request as the service does, and would be measured in its place. Answers must have a
Content-Length. The share of a core that the generator itself took is part of the result.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import ipaddress
import json
import os
import random
import sys
import time
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle
from urllib.parse import SplitResult, urlsplit

ARMS = [f"arm {i}" for i in range(100)]
MEMORY = 8
MOST_ERRORS = 1000
"""After so many errors the run ends."""
GRACE = 10.0
"""Seconds that answers may take after the end of the run."""


@dataclass(frozen=True)
class Load:
    """What is sent: to which service, by how many clients, for how long."""

    url: str
    clients: int = 32
    seconds: float = 10.0
    warm_up: float = 1.0
    bandits: int = 1
    requests: int | None = None
    keyed: bool = False
    existing: bool = False

    @property
    def address(self) -> SplitResult:
        """The parts of the URL."""
        return urlsplit(self.url)


@dataclass
class Tally:
    """What came back. Latencies are those after the warm-up, in seconds."""

    decisions: array[float] = field(default_factory=lambda: array("d"))
    rewards: array[float] = field(default_factory=lambda: array("d"))
    errors: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    began: float = 0.0
    ended: float = 0.0
    cpu: float = 0.0


@dataclass(frozen=True)
class Figures:
    """The result of a run. Latencies are in milliseconds, None if there were none.

    requests  answered after the warm-up
    sent      sent at any time
    """

    requests: int
    sent: int
    seconds: float
    rate: float
    p50: float | None
    p90: float | None
    p99: float | None
    highest: float | None
    decision_p99: float | None
    reward_p99: float | None
    errors: dict[str, int]
    generator_cpu: float

    @property
    def text(self) -> str:
        """The figures in a line, and the errors in another."""

        def ms(value: float | None) -> str:
            return "-" if value is None else f"{value:.1f} ms"

        line = (
            f"{self.rate:,.0f} requests/s   p50 {ms(self.p50)}   p90 {ms(self.p90)}   "
            f"p99 {ms(self.p99)}   highest {ms(self.highest)}   "
            f"errors {sum(self.errors.values())}   the generator took {self.generator_cpu:.0%} "
            "of a core"
        )
        return "\n".join([line, *(f"{n} x {what}" for what, n in self.errors.items())])


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least this share of all values does not exceed."""
    if not ordered:
        return None
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def figures(tally: Tally) -> Figures:
    """Return the figures of what came back."""
    everything = sorted([*tally.decisions, *tally.rewards])
    seconds = max(tally.ended - tally.began, 1e-9)

    def ms(values: Sequence[float], share: float) -> float | None:
        found = percentile(values, share)
        return None if found is None else round(1000 * found, 3)

    return Figures(
        requests=len(everything),
        sent=tally.sent,
        seconds=round(seconds, 3),
        rate=round(len(everything) / seconds, 1),
        p50=ms(everything, 0.5),
        p90=ms(everything, 0.9),
        p99=ms(everything, 0.99),
        highest=ms(everything, 1.0),
        decision_p99=ms(sorted(tally.decisions), 0.99),
        reward_p99=ms(sorted(tally.rewards), 0.99),
        errors=dict(tally.errors),
        generator_cpu=round(tally.cpu / seconds, 3),
    )


class Run:
    """One run: its clients share the tally, and stop together."""

    def __init__(self, load: Load) -> None:
        self.tally = Tally()
        self.loop = asyncio.get_running_loop()
        self.clock = self.loop.time
        self.load = load
        self._open = load.clients
        self._cpu = 0.0
        self._bandits = cycle(range(load.bandits))
        self.done = asyncio.Event()
        self.is_over = False
        host = load.address.netloc.rpartition("@")[2]
        key = os.environ.get("HANDFUL_KEY")
        bearer = f"Authorization: Bearer {key}\r\n" if key else ""
        self._rest = f"Host: {host}\r\n{bearer}Content-Type: application/json\r\n"
        rest = self._rest.encode()
        self._decisions = [
            f"POST /v1/bandits/load-{i}/decisions HTTP/1.1\r\n{self._rest}".encode()
            for i in range(load.bandits)
        ]
        self.reward_tails = [
            b"/reward HTTP/1.1\r\n" + rest + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
            for body in (b'{"reward":0}', b'{"reward":1}')
        ]

    def decision(self) -> bytes:
        """Return a request for a decision of the next bandit."""
        key = f"Idempotency-Key: {random.getrandbits(128):032x}\r\n" if self.load.keyed else ""
        head = self._decisions[next(self._bandits)]
        return head + key.encode() + b"Content-Length: 2\r\n\r\n{}"

    def begin(self) -> None:
        """Count from now on: the warm-up is over."""
        for values in (self.tally.decisions, self.tally.rewards):
            del values[:]
        self.tally.errors.clear()
        self.tally.began, self._cpu = self.clock(), time.process_time()

    def end(self) -> None:
        """Send nothing more; answers under way are still waited for."""
        if not self.is_over:
            self.is_over = True
            self.tally.ended = self.clock()
            self.tally.cpu = time.process_time() - self._cpu

    def may_send(self) -> bool:
        """Return whether another request may be sent, and count it."""
        most = self.load.requests
        if self.is_over or (most is not None and self.tally.sent >= most):
            return False
        self.tally.sent += 1
        return True

    def failed(self, what: str) -> None:
        """Count an error."""
        self.tally.errors[what] += 1
        if sum(self.tally.errors.values()) >= MOST_ERRORS:
            self.end()

    def closed(self) -> None:
        """Count a client that has finished."""
        self._open -= 1
        if self._open == 0:
            self.end()
            self.done.set()


class Connection(asyncio.Protocol):
    """A client: decide, reward, decide, ..."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._clock = run.clock
        self._buffer = b""
        self._since = 0.0
        self._is_reward = False
        self._is_finished = False
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._decide()

    def data_received(self, data: bytes) -> None:
        """Take in an answer, and send the next request when it is complete."""
        buffer = self._buffer + data if self._buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            self._buffer = buffer
            return
        head = buffer[:end].lower()
        at = head.find(b"content-length:")
        if at < 0:
            self._fail("an answer without Content-Length")
            return
        length = int(head[at + 15 :].split(b"\r", 1)[0])
        if len(buffer) < end + 4 + length:
            self._buffer = buffer
            return
        self._buffer = b""
        self._answered(head[9:12], buffer[end + 4 :])

    def _answered(self, status: bytes, body: bytes) -> None:
        run = self._run
        tally = run.tally
        is_reward = self._is_reward
        took = self._clock() - self._since
        if status[:1] != b"2":
            run.failed(f"{'reward' if is_reward else 'decision'}: status {status.decode()}")
            self._decide()
        elif not run.is_over:
            (tally.rewards if is_reward else tally.decisions).append(took)
            if is_reward:
                self._decide()
            else:
                self._reward(body)
        else:
            self._finish()

    def _decide(self) -> None:
        self._is_reward = False
        self._send(self._run.decision())

    def _reward(self, body: bytes) -> None:
        at = body.find(b'"', body.find(b'"id"') + 4) + 1
        number = body[at : body.find(b'"', at)]
        self._is_reward = True
        tail = self._run.reward_tails[random.random() < 0.5]
        self._send(b"PUT /v1/decisions/" + number + tail)

    def _send(self, request: bytes) -> None:
        if self._run.may_send():
            self._since = self._clock()
            self.transport.write(request)
        else:
            self._finish()

    def _fail(self, what: str) -> None:
        self._run.failed(what)
        self._finish()

    def _finish(self) -> None:
        if not self._is_finished:
            self._is_finished = True
            self._run.closed()
        self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Count a connection that broke, and open another in its place."""
        if self._is_finished:
            return
        self._is_finished = True
        self._run.failed("the connection broke")
        self._run.loop.create_task(connect(self._run))


async def connect(run: Run) -> None:
    """Open the connection of one client."""
    address = run.load.address
    if run.is_over:
        run.closed()
        return
    try:
        await run.loop.create_connection(
            lambda: Connection(run), str(address.hostname), address.port or 80
        )
    except OSError as error:
        run.failed(f"no connection: {error}")
        run.closed()


async def apply(load: Load) -> Figures:
    """Load a service whose bandits exist, and return the figures."""
    run = Run(load)
    run.begin()
    await asyncio.gather(*(connect(run) for _ in range(load.clients)))
    if load.requests is None:
        run.loop.call_later(load.warm_up, run.begin)
        run.loop.call_later(load.warm_up + load.seconds, run.end)
    else:
        run.loop.call_later(load.seconds, run.end)
    try:
        await asyncio.wait_for(run.done.wait(), load.warm_up + load.seconds + GRACE)
    except TimeoutError:
        run.end()
        run.failed("no answer in time")
    return figures(run.tally)


def create_bandits(load: Load) -> None:
    """Create the bandits of a load, unless they exist."""
    address = load.address
    connection = http.client.HTTPConnection(
        str(address.hostname), address.port or 80, timeout=GRACE
    )
    key = os.environ.get("HANDFUL_KEY")
    headers = {"Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    for i in range(load.bandits):
        body = {"name": f"load-{i}", "policy": "race", "memory": MEMORY, "arms": ARMS, "seed": i}
        connection.request("POST", "/v1/bandits", json.dumps(body), headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status not in (201, 409):
            raise SystemExit(f"{load.url} answered {answer.status} to a new bandit: {said[:300]!r}")
    connection.close()


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this computer by its address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def given(words: Sequence[str] | None = None) -> tuple[Load, bool]:
    """Return the load of a command line, and whether JSON is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--url", required=True, help="such as http://127.0.0.1:8000")
    parser.add_argument("--clients", type=int, default=32, help="connections (default: 32)")
    parser.add_argument("--seconds", type=float, default=10.0, help="after the warm-up (10)")
    parser.add_argument("--warm-up", type=float, default=1.0, help="seconds not counted (1)")
    parser.add_argument("--requests", type=int, help="stop after so many, without a warm-up")
    parser.add_argument("--bandits", type=int, default=1, help="used in turn (1)")
    parser.add_argument("--keyed", action="store_true", help="an Idempotency-Key for each decision")
    parser.add_argument("--existing", action="store_true", help="the bandits were made before")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--host-is-mine", action="store_true", help="allow other computers")
    options = parser.parse_args(words)
    address = urlsplit(options.url)
    if address.scheme != "http" or not address.hostname:
        parser.error(f"--url {options.url}: give an address such as http://127.0.0.1:8000")
    if not options.host_is_mine and not is_loopback(address.hostname):
        parser.error(
            f"{address.hostname} is not this computer: give --host-is-mine if you may load it"
        )
    if not 1 <= options.clients <= 10_000 or not 1 <= options.bandits <= 1_000_000:
        parser.error("give 1 to 10,000 clients and 1 to 1,000,000 bandits")
    if not 0 < options.seconds <= 3600 or not 0 <= options.warm_up <= 60:
        parser.error("give up to 3,600 seconds and a warm-up of up to 60")
    load = Load(
        options.url, options.clients, options.seconds, options.warm_up, options.bandits,
        options.requests, options.keyed, options.existing,
    )  # fmt: skip
    return load, options.json


def main(words: Sequence[str] | None = None) -> int:
    load, as_json = given(words)
    try:
        if not load.existing:
            create_bandits(load)
    except OSError as error:
        print(f"no connection to {load.url}: {error}", file=sys.stderr)
        return 1
    found = asyncio.run(apply(load))
    print(json.dumps(asdict(found)) if as_json else found.text)
    return 1 if found.errors else 0


if __name__ == "__main__":
    sys.exit(main())
