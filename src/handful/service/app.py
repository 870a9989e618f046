"""The HTTP application: every request passes through `Front`, which calls an operation.

    request id -> route -> caller -> limits -> body -> operation (in the writer) -> JSON

A refusal anywhere on the way is answered as `application/problem+json`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from handful.service import openapi
from handful.service.about import about
from handful.service.api import OPERATIONS, Call, Operation, encoded
from handful.service.asgi import Application, Headers, Message, Receive, Scope, Send
from handful.service.auth import Caller, Keys
from handful.service.bodies import Health, Outcome, Outcomes
from handful.service.desk import Desk, Session
from handful.service.limits import Buckets, Limits, Patience
from handful.service.live import Live
from handful.service.metrics import Metrics
from handful.service.origins import Origins
from handful.service.page import Page
from handful.service.problems import Problem
from handful.service.writer import Writer

log = logging.getLogger("handful.service")

JSON = (b"content-type", b"application/json")
PROBLEM = (b"content-type", b"application/problem+json")
ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,100}")
LOOPBACK_HOSTS = re.compile(rb"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?", re.IGNORECASE)

Given = dict[bytes, bytes]
Handler = Callable[["Request"], Awaitable[tuple[int, bytes, Headers]]]


class Request:
    """A request on its way."""

    __slots__ = ("app", "caller", "headers", "id", "path", "query", "receive", "scope", "send")

    def __init__(self, app: Service, scope: Scope, receive: Receive, send: Send) -> None:
        self.app = app
        self.scope = scope
        self.receive = receive
        self.send = send
        self.headers: Given = dict(scope["headers"])
        self.path: dict[str, str] = {}
        self.query: dict[str, str] = {}
        self.caller: Caller | None = None
        given = self.headers.get(b"x-request-id", b"")
        self.id = given.decode() if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)

    async def body(self, limits: Limits) -> bytes:
        """Return the whole body, if it is not too large and comes in time."""
        length = self.headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > limits.body_bytes:
            raise _too_large(limits)
        patience = self.app.patience
        task = patience.begin()
        try:
            return await self._chunks(limits)
        except asyncio.CancelledError:
            patience.refuse_if_late(task)
            raise
        finally:
            patience.end(task)

    async def _chunks(self, limits: Limits) -> bytes:
        chunks = []
        size = 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Problem(400, "the caller went away")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limits.body_bytes:
                raise _too_large(limits)
            chunks.append(chunk)
            if not message.get("more_body"):
                return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(limits: Limits) -> Problem:
    return Problem(413, f"a body may have {limits.body_bytes} bytes: send it in parts")


class Route:
    """A path with names in braces, and what handles its methods."""

    def __init__(self, path: str) -> None:
        self.path = path
        parts = re.split(r"{(\w+)}", path)
        pattern = ""
        for i, part in enumerate(parts):
            if i % 2 == 0:
                pattern += re.escape(part)
            else:
                pattern += f"(?P<{part}>{'.+' if part == 'label' else '[^/]+'})"
        self.pattern = re.compile(pattern, re.DOTALL)
        self.handlers: dict[str, Handler] = {}

    @property
    def allowed(self) -> str:
        """The methods that this address takes, as the header `Allow` lists them."""
        return ", ".join([*self.handlers, *(["HEAD"] if "GET" in self.handlers else [])])


class Service:
    """The application, as ASGI calls it."""

    def __init__(
        self,
        desk: Desk,
        *,
        key_needed: bool = False,
        limits: Limits | None = None,
        origins: Origins | None = None,
        access_log: bool = False,
    ) -> None:
        self.desk = desk
        self.writer = Writer(desk)
        self.limits = limits = limits or Limits()
        self.metrics = Metrics()
        self.live = Live(self.writer, desk, limits.streams)
        with desk.batch() as session:
            self.keys = Keys(session.tx.caller_keys(), key_needed)
        desk.keys = self.keys
        self._buckets = Buckets(limits.per_second)
        self.origins = origins or Origins()
        self.patience = Patience(limits.body_seconds)
        self._at_once = 0
        self._access_log = access_log
        self._routes: list[Route] = []
        self._fixed: dict[str, Route] = {}
        for operation in sorted(OPERATIONS, key=lambda each: each.name not in ("decide", "reward")):
            self._add(operation.method, operation.path, _handler(operation))
        for path, handler in (
            ("/openapi.json", _openapi),
            ("/healthz", _healthz),
            ("/readyz", _readyz),
            ("/metrics", _metrics),
        ):
            self._add("GET", path, handler)
        self._page = Page()

    def _add(self, method: str, path: str, handler: Handler) -> None:
        route = next((route for route in self._routes if route.path == path), None)
        if route is None:
            route = Route(path)
            self._routes.append(route)
            if "{" not in path:
                self._fixed[path] = route
        route.handlers[method] = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and stop."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(Request(self, scope, receive, send))
        else:
            raise RuntimeError(f"{scope['type']} is not served")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.writer.start()
        self.live.start()
        self.patience.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.patience.stop()
        await self.live.stop()
        await self.writer.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, request: Request) -> None:
        began = time.perf_counter()
        path = request.scope["path"]
        route = self._route(path, request)
        name = route.path if route else "other"
        self._at_once += 1
        try:
            method = request.scope["method"]
            if route is None:
                if path == "/v1/events" and method == "GET":
                    await self._stream(request)
                    return
                if self._page.serves(request.scope):
                    await self._page(request.scope, request.receive, request.send)
                    return
                raise Problem(404, "there is nothing at this address: see /openapi.json")
            handler = route.handlers.get("GET" if method == "HEAD" else method)
            if method == "OPTIONS":
                handler = _preflight
            if handler is None:
                raise Problem(405, f"this address takes {route.allowed}")
            if self._at_once > self.limits.at_once:
                raise Problem(503, "too many requests at once: try again soon", retry_after=1)
            status, body, headers = await handler(request)
        except Problem as problem:
            status, body, headers = self._refused(problem, request, route)
        except Exception:
            log.exception("a request failed", extra={"request_id": request.id, "route": name})
            unforeseen = Problem(500, "this request failed; the log of the service says why")
            status, body, headers = self._refused(unforeseen, request, route)
        finally:
            self._at_once -= 1
        await _respond(request, status, body, headers)
        seconds = time.perf_counter() - began
        self.metrics.answered(name, status, seconds)
        if self._access_log or status >= 500:
            log.info(
                "request",
                extra={
                    "request_id": request.id,
                    "method": request.scope["method"],
                    "route": name,
                    "status": status,
                    "milliseconds": round(1000.0 * seconds, 1),
                    "caller": request.caller.id if request.caller else None,
                },
            )

    def _route(self, path: str, request: Request) -> Route | None:
        found = self._fixed.get(path)
        if found is not None:
            return found
        for route in self._routes:
            match = route.pattern.fullmatch(path)
            if match:
                request.path = match.groupdict()
                return route
        return None

    def admit(self, request: Request) -> Caller:
        """Return whom a request comes from; refuse it if it may not come in."""
        headers = request.headers
        if self.keys.is_open and not LOOPBACK_HOSTS.fullmatch(headers.get(b"host", b"localhost")):
            # A page from elsewhere whose name was pointed to this machine.
            raise Problem(403, "without keys, only requests to a loopback address are taken")
        caller = self.keys.caller(_text(headers.get(b"authorization")))
        request.caller = caller
        self._buckets.take(caller.id)
        return caller

    async def _stream(self, request: Request) -> None:
        """Send the changes of bandits until the caller goes away."""
        try:
            caller = self.admit(request)
            query = _query(request)
            only = query.get("bandit", caller.bandit)
            caller.require("decide", only)
            events = self.live.events(only)
        except Problem as problem:
            await _respond(request, *self._refused(problem, request, None))
            return
        await self.live.send(request.send, request.receive, events, _always(request))

    def _refused(
        self, problem: Problem, request: Request, route: Route | None
    ) -> tuple[int, bytes, Headers]:
        headers = [PROBLEM]
        if problem.retry_after is not None:
            headers.append((b"retry-after", b"%d" % problem.retry_after))
        if problem.status == 401:
            headers.append((b"www-authenticate", b'Bearer realm="handful"'))
        if problem.status == 405 and route is not None:
            headers.append((b"allow", route.allowed.encode()))
        if problem.status in (408, 413):
            headers.append((b"connection", b"close"))
        return problem.status, problem.body(request.id), tuple(headers)


def _text(header: bytes | None) -> str | None:
    return None if header is None else header.decode("latin-1")


def _query(request: Request) -> dict[str, str]:
    raw = request.scope.get("query_string", b"")
    if not raw:
        return {}
    try:
        return dict(parse_qsl(raw.decode("ascii"), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise Problem(400, "the query of this address cannot be read") from None


def _always(request: Request) -> list[tuple[bytes, bytes]]:
    said = [*ALWAYS, (b"x-request-id", request.id.encode())]
    if request.scope["method"] != "OPTIONS" and b"origin" in request.headers:
        said.extend(request.app.origins.headers(request.headers[b"origin"]))
    return said


async def _respond(request: Request, status: int, body: bytes, headers: Headers) -> None:
    start: Message = {
        "type": "http.response.start",
        "status": status,
        "headers": [*headers, (b"content-length", b"%d" % len(body)), *_always(request)],
    }
    if request.scope["method"] == "HEAD":
        body = b""
    await request.send(start)
    await request.send({"type": "http.response.body", "body": body})


def _handler(operation: Operation) -> Handler:
    """Return what answers requests for an operation."""
    decoder = None if operation.takes is None else msgspec.json.Decoder(operation.takes)
    reads = operation.method == "GET"

    async def handle(request: Request) -> tuple[int, bytes, Headers]:
        app = request.app
        caller = app.admit(request)
        bandit = request.path.get("name")
        caller.require(operation.scope, bandit)
        raw = b""
        body = None
        if decoder is not None:
            raw = await request.body(app.limits)
            body = _decoded(decoder, raw, request.headers)
        call = Call(caller, request.path, _query(request), body)
        key = request.headers.get(b"idempotency-key") if operation.method != "GET" else None

        def work(session: Session) -> tuple[int, bytes, bool]:
            if key is None:
                return *_run(operation, session, call, request.id), False
            return session.once(
                f"{caller.id} {operation.method} {request.scope['path']}",
                _idempotency_key(key),
                hashlib.sha256(raw).digest(),
                lambda: _run(operation, session, call, request.id),
                secret=operation.gives_secret,
            )

        concerns = about(request.path, body)
        answered, body_out, again = await app.writer.run(work, reads=reads, about=concerns)
        if not again:
            _count(app.metrics, operation, answered, body, body_out)
        if operation.path.startswith("/v1/keys") and operation.method != "GET":
            keys = await app.writer.run(lambda session: session.tx.caller_keys(), reads=True)
            app.keys.load(keys)
        kind = JSON if answered < 400 else PROBLEM
        replayed = ((b"idempotency-replayed", b"true"),) if again else ()
        return answered, body_out, (kind, *replayed)

    return handle


def _run(operation: Operation, session: Session, call: Call, request_id: str) -> tuple[int, bytes]:
    result = operation.run(session, call)
    if isinstance(result, Problem):
        return result.status, result.body(request_id)
    return operation.status, encoded(result)


def _idempotency_key(key: bytes) -> str:
    if not 1 <= len(key) <= 200:
        raise Problem(422, "an Idempotency-Key has from 1 to 200 characters")
    return key.decode("latin-1")


def _decoded(decoder: Any, raw: bytes, headers: Given) -> Any:
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise Problem(415, "send JSON, with the header `Content-Type: application/json`")
    try:
        return decoder.decode(raw or b"{}")
    except msgspec.ValidationError as error:
        raise Problem(422, f"the JSON does not have the right form: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from None


def _count(metrics: Metrics, operation: Operation, status: int, given: Any, body: bytes) -> None:
    """Count decisions and rewards by what was answered."""
    if operation.name == "decide":
        metrics.decided(given.n)
    elif operation.name == "reward":
        if status == 410:
            metrics.rewarded("expired")
        else:
            metrics.rewarded(msgspec.json.decode(body, type=Outcome).outcome)
    elif operation.name == "reward_many":
        for each in msgspec.json.decode(body, type=Outcomes).outcomes:
            metrics.rewarded(each.outcome)


async def _preflight(request: Request) -> tuple[int, bytes, Headers]:
    """Answer a browser that asks whether a page from elsewhere may call."""
    said = request.app.origins.preflight(request.headers.get(b"origin"))
    if said is None:
        raise Problem(405, "pages from elsewhere are taken with: handful serve --allow-origin")
    return 204, b"", said


async def _openapi(request: Request) -> tuple[int, bytes, Headers]:
    return 200, openapi.document(), (JSON,)


async def _healthz(request: Request) -> tuple[int, bytes, Headers]:
    return 200, msgspec.json.encode(Health("ok")), (JSON,)


async def _readyz(request: Request) -> tuple[int, bytes, Headers]:
    failing = request.app.writer.failing
    if failing is not None:
        # A write shows whether there is room again.
        await request.app.writer.run(lambda session: session.tx.set_number("probe", session.now))
    return 200, msgspec.json.encode(Health("ready")), (JSON,)


async def _metrics(request: Request) -> tuple[int, bytes, Headers]:
    app = request.app
    app.admit(request).require("admin")
    metrics = app.metrics
    metrics.waiting.set(app.writer.waiting)
    metrics.batches.set(app.writer.batches)
    metrics.live.set(len(app.desk.bandits))
    metrics.bytes.set(app.desk.store_bytes())
    metrics.failing.set(app.writer.failing is not None)
    return 200, metrics.text(), ((b"content-type", b"text/plain; version=0.0.4; charset=utf-8"),)


@asynccontextmanager
async def running(app: Application) -> Any:
    """Start an application and stop it at the end of the block, as a server does. For tests."""
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    outbox: asyncio.Queue[Message] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan"}, inbox.get, outbox.put))
    await inbox.put({"type": "lifespan.startup"})
    await outbox.get()
    try:
        yield app
    finally:
        await inbox.put({"type": "lifespan.shutdown"})
        await outbox.get()
        await task
