"""A request for an operation of the API, from its head and body to the reply.

    admit    check who sends the request, and whether the sender may
    begin    read its JSON, and return what the writer has to do
    finish   answer, once that is on disk

`handle` takes all three steps, and never raises. Nothing blocks between `begin` and `finish`: the
writer calls back, in the order in which requests were carried out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from handful.core.tuples import new_tuple
from handful.service.about import NOTHING, about
from handful.service.api import Call, Operation, encoded
from handful.service.auth import Caller, Keys
from handful.service.bodies import NAME_IN_WORDS, NAME_PATTERN
from handful.service.desk import Session
from handful.service.metrics import Metrics
from handful.service.problems import Problem
from handful.service.replies import JSON, PROBLEM, REPLAYED, Reply, SendReply, failed, refused
from handful.service.request import Request
from handful.service.writer import Writer
from handful.storage.rows import KeyRow

NO_QUERY: dict[str, str] = {}


class Answered(NamedTuple):
    """What became of a request, once it is on disk."""

    status: int
    body: bytes
    result: Any = None
    """What the operation returned; None if the answer is one that was given before."""
    again: bool = False
    keys: list[KeyRow] | None = None
    """All keys of the store, if the request may have changed them."""


class Front(Protocol):
    """What an endpoint needs from the service."""

    writer: Writer
    metrics: Metrics
    keys: Keys

    def admit(self, request: Request) -> Caller:
        """Return whom a request comes from; refuse it if it may not come in."""


class Endpoint:
    """Handles the requests for one operation."""

    def __init__(self, operation: Operation, front: Front) -> None:
        self.operation = operation
        self._front = front
        self._decoder = None if operation.takes is None else msgspec.json.Decoder(operation.takes)
        self._reads = operation.method == "GET"
        self._changes_keys = not self._reads and operation.path.startswith("/v1/keys")
        self._headers = () if operation.status == 204 else (JSON,)

    @property
    def takes_body(self) -> bool:
        """Whether the body of a request is looked at."""
        return self._decoder is not None

    def admit(self, request: Request) -> None:
        """Refuse a request that its caller may not send."""
        caller = self._front.admit(request)
        caller.require(self.operation.scope, request.path.get("name"))

    def handle(self, request: Request, raw: bytes, reply: SendReply) -> None:
        """Run the request, and call `reply` when it is on disk, or with a refusal.

        A request that was not admitted before is admitted now.
        """

        def finish(result: Answered | Problem) -> None:
            if isinstance(result, Problem):
                reply(*refused(result, request))
            else:
                reply(*self._finished(result))

        try:
            if request.caller is None:
                self.admit(request)
            self._begin(request, raw if self.takes_body else b"", finish)
        except Problem as problem:
            finish(problem)
        except Exception:
            reply(*failed(request, self.operation.path))

    def _begin(
        self, request: Request, raw: bytes, done: Callable[[Answered | Problem], None]
    ) -> None:
        """Hand a request to the writer, which calls `done` when it is on disk."""
        caller = request.caller
        assert caller is not None
        operation = self.operation
        body = None
        if self._decoder is not None:
            body = _decoded(self._decoder, raw, request)
        query = request.query if request.query_string else NO_QUERY
        call = new_tuple(Call, (caller, request.path, query, body))
        key = None if self._reads else request.headers.get(b"idempotency-key")
        if key is None and not self._changes_keys:

            def work(session: Session) -> Answered:
                return _run(operation, session, call, request.id)

        else:

            def work(session: Session) -> Answered:
                return self._once(session, call, request, key, raw)

        writer = self._front.writer
        asks_about = about(request.path, body) if writer.is_remote else NOTHING
        writer.submit(work, done, self._reads, asks_about)

    def _once(
        self, session: Session, call: Call, request: Request, key: bytes | None, raw: bytes
    ) -> Answered:
        """Run the request, unless one with the same `Idempotency-Key` was run before."""
        operation = self.operation
        found: list[Answered] = []

        def handle() -> tuple[int, bytes]:
            found.append(_run(operation, session, call, request.id))
            return found[0][:2]

        if key is None:
            handle()
        else:
            status, body, again = session.once(
                f"{call.caller.id} {operation.method} {request.address}",
                _idempotency_key(key),
                hashlib.sha256(raw).digest(),
                handle,
                secret=operation.gives_secret,
            )
            if again:
                return Answered(status, body, again=True)
        keys = session.tx.caller_keys() if self._changes_keys else None
        return found[0]._replace(keys=keys)

    def _finished(self, answered: Answered) -> Reply:
        """Return what is answered."""
        status, body, result, again, keys = answered
        if keys is not None:
            # Here, where the writer calls back: lists of keys are taken in the order of changes.
            self._front.keys.load(keys)
        headers = self._headers if status < 400 else (PROBLEM,)
        if again:
            return status, body, (*headers, REPLAYED)
        _count(self._front.metrics, self.operation.name, result)
        return status, body, headers


def _run(operation: Operation, session: Session, call: Call, request_id: str) -> Answered:
    result = operation.run(session, call)
    if isinstance(result, Problem):
        return Answered(result.status, result.body(request_id), result)
    return new_tuple(Answered, (operation.status, encoded(result), result, False, None))


def _idempotency_key(key: bytes) -> str:
    if not 1 <= len(key) <= 200:
        raise Problem(422, "an Idempotency-Key has from 1 to 200 characters")
    return key.decode("latin-1")


def _decoded(decoder: Any, raw: bytes, request: Request) -> Any:
    kind = request.headers.get(b"content-type", b"")
    if kind != b"application/json":
        if kind.partition(b";")[0].strip().lower() != b"application/json":
            raise Problem(415, "send JSON, with the header `Content-Type: application/json`")
    try:
        return decoder.decode(raw or b"{}")
    except msgspec.ValidationError as error:
        said = str(error).replace(f"matching regex {NAME_PATTERN!r}", f"of {NAME_IN_WORDS}")
        raise Problem(422, f"the JSON does not have the right form: {said}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from None


def _count(metrics: Metrics, operation: str, result: Any) -> None:
    """Count decisions and rewards by what was answered."""
    if operation == "decide":
        metrics.decided(len(result.decisions))
    elif operation == "reward":
        metrics.rewarded("expired" if isinstance(result, Problem) else result.outcome)
    elif operation == "reward_many":
        for each in result.outcomes:
            metrics.rewarded(each.outcome)
