"""One call as a generator: it yields what to send and how long to wait, and returns the answer.

The generator does no input or output, and uses only the clock that it is given. `Client` and
`AsyncClient` carry out what it yields, so retries, time limits and the circuit breaker are written
once.

    send a request          -> Reply, or NoReply if the connection or the time-out failed it
    wait for some seconds   -> None

A request is sent again, byte for byte and with the same Idempotency-Key, after a failed connection,
a time-out, 429, 502, 503 and 504. Waits double from one attempt to the next, and are drawn at
random from the upper half of that range, so that clients that failed at the same time do not retry
at the same time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

from handful.client.breaker import Breaker
from handful.client.limits import Limits
from handful.errors import (
    AccessError,
    ClientError,
    ConflictError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)

RETRIED = frozenset({429, 502, 503, 504})
_REFUSED = {401: AccessError, 403: AccessError, 404: NotFoundError, 409: ConflictError}


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, the same at every attempt."""

    method: str
    path: str
    body: bytes | None = None
    idempotency_key: str | None = None


class Send(NamedTuple):
    """Send a request; the attempt may take so many seconds."""

    request: Request
    timeout: float


class Wait(NamedTuple):
    """Wait for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoReply(NamedTuple):
    """Why an attempt got no answer."""

    reason: str


T = TypeVar("T")
Steps = Generator[Send | Wait, Reply | NoReply | None, T]
"""What a driver carries out: it sends back what came of each step."""


@dataclass(slots=True)
class Exchange:
    """What all calls of a client share: its limits, its breaker, a clock and a source of jitter."""

    limits: Limits
    breaker: Breaker
    clock: Callable[[], float]
    draw: Callable[[], float]

    def call(
        self, request: Request, total: float | None = None, has_fallback: bool = False
    ) -> Steps[Any]:
        """Return the parsed answer of the first attempt that gets one.

        A call that has a fallback is not tried again once the breaker is open.
        """
        limits, breaker, clock = self.limits, self.breaker, self.clock
        began = clock()
        deadline = began + (limits.total if total is None else total)
        attempt = 0
        while True:
            attempt += 1
            got = yield Send(request, min(limits.timeout, deadline - clock()))
            assert got is not None
            if isinstance(got, Reply) and got.status < 500 and got.status not in RETRIED:
                breaker.answered()
                return _read(request, got)
            breaker.failed(clock())
            if isinstance(got, Reply) and got.status not in RETRIED:
                raise _unavailable(request, got, attempt, clock() - began)
            wait = max(self._pause(attempt), _retry_after(got) if isinstance(got, Reply) else 0.0)
            is_dead = has_fallback and breaker.is_open
            if attempt >= limits.attempts or is_dead or clock() + wait >= deadline:
                raise _unavailable(request, got, attempt, clock() - began)
            yield Wait(wait)

    def _pause(self, attempt: int) -> float:
        """Return how long to wait after so many attempts."""
        longest = min(self.limits.longest_wait, self.limits.first_wait * 2.0 ** (attempt - 1))
        return longest * (0.5 + 0.5 * self.draw())


def _read(request: Request, reply: Reply) -> Any:
    """Return the JSON of an answer, None if it is empty, or raise what it refuses."""
    if reply.status >= 400:
        raise _refused(request, reply)
    if 200 <= reply.status < 300:
        try:
            return json.loads(reply.body) if reply.body else None
        except ValueError:
            pass
    raise ClientError(
        f"{request.method} {request.path} was answered by {reply.status} and no JSON: "
        "is this the address of `handful serve`?",
        status=reply.status,
    )


def _problem(reply: Reply) -> dict[str, str]:
    """Return the title, the detail and the request id of a problem report, as far as there are."""
    try:
        data = json.loads(reply.body)
    except ValueError:
        data = None
    found = data if isinstance(data, dict) else {}
    return {name: str(found.get(name) or "") for name in ("title", "detail", "request_id")}


def _refused(request: Request, reply: Reply) -> RefusedError:
    problem = _problem(reply)
    said = ": ".join(filter(None, (problem["title"], problem["detail"])))
    said = said or f"{request.method} {request.path} was refused"
    return _REFUSED.get(reply.status, RefusedError)(
        f"{said} ({_status(reply.status, problem)})", status=reply.status, **problem
    )


def _unavailable(
    request: Request, got: Reply | NoReply, attempts: int, seconds: float
) -> UnavailableError:
    times = "once" if attempts == 1 else f"{attempts} times in {seconds:.1f} s"
    tried = f"{request.method} {request.path} was tried {times}"
    if isinstance(got, NoReply):
        return UnavailableError(f"{tried}: {got.reason}")
    problem = _problem(got)
    said = ": ".join(filter(None, (problem["title"], problem["detail"])))
    said = f"{said} ({_status(got.status, problem)})" if said else f"status {got.status}"
    return UnavailableError(f"{tried}: {said}", status=got.status, **problem)


def _status(status: int, problem: Mapping[str, str]) -> str:
    request_id = problem["request_id"]
    return f"status {status}, request {request_id}" if request_id else f"status {status}"


def _retry_after(reply: Reply) -> float:
    """Return the seconds of a Retry-After header: a number, or a date after that of the answer."""
    given = reply.headers.get("retry-after", "")
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(given)
        since = parsedate_to_datetime(reply.headers.get("date", ""))
        return max(0.0, (until - since).total_seconds())
    except (TypeError, ValueError):
        return 0.0
