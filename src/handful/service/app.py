"""The HTTP application: every request passes through `Service`, which calls an operation.

    request id -> route -> caller -> limits -> body -> operation (in the writer) -> JSON

A refusal anywhere on the way is answered as `application/problem+json`. There are two ways in:
`answer` is called with requests for operations that have come as a whole, and calls back; anything
else comes by ASGI, and an operation then takes the same three steps of its `Endpoint`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from handful.service import openapi
from handful.service.api import OPERATIONS
from handful.service.asgi import Application, Headers, Message, Receive, Scope, Send
from handful.service.auth import Caller, Keys, had_key
from handful.service.bodies import Health
from handful.service.desk import Desk
from handful.service.endpoint import JSON, PROBLEM, Answered, Endpoint
from handful.service.limits import Buckets, Limits, Patience
from handful.service.live import Live
from handful.service.metrics import Metrics
from handful.service.origins import Origins
from handful.service.page import Page
from handful.service.problems import Problem
from handful.service.request import Request, body_of
from handful.service.routes import Answer, Handler, Route, Routes
from handful.service.writer import Writer

log = logging.getLogger("handful.service")

ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
LOOPBACK_HOSTS = re.compile(rb"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?", re.IGNORECASE)
OFTEN = ("decide", "reward")
"""Operations whose routes are tried first."""

Reply = Callable[[int, bytes, Headers], None]


class Service:
    """The application."""

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
            needed = key_needed or had_key(session.tx)
            self.keys = Keys(session.tx.caller_keys(), needed)
        desk.keys = self.keys
        self._buckets = Buckets(limits.per_second)
        self._origins = origins or Origins()
        self._patience = Patience(limits.body_seconds)
        self._at_once = 0
        self._access_log = access_log
        self._page = Page()
        self._routes = Routes()
        for operation in sorted(OPERATIONS, key=lambda each: each.name not in OFTEN):
            self._routes.add(operation.method, operation.path, Endpoint(operation, self))
        self._routes.add("GET", "/openapi.json", _openapi)
        self._routes.add("GET", "/healthz", _healthz)
        self._routes.add("GET", "/readyz", self._readyz)
        self._routes.add("GET", "/metrics", self._metrics)

    # A request for an operation that has come as a whole.

    def answer(self, request: Request, raw: bytes, reply: Reply) -> bool:
        """Answer a request by a call of `reply`; return False if it must come by ASGI."""
        route = self._routes.find(request)
        endpoint = None if route is None else route.handlers.get(request.method)
        if not isinstance(endpoint, Endpoint) or len(raw) > self.limits.body_bytes:
            return False
        assert route is not None
        began = time.perf_counter()

        def done(result: Answered | Problem) -> None:
            self._at_once -= 1
            if isinstance(result, Problem):
                status, body, headers = _refused(result, request, route)
            else:
                status, body, headers = endpoint.finish(result)
            reply(status, body, (*headers, *self._always(request)))
            self._note(request, route, status, began)

        self._at_once += 1
        try:
            self._check_load()
            endpoint.admit(request)
            endpoint.begin(request, raw, done)
        except Problem as problem:
            done(problem)
        except Exception:
            done(_unforeseen(request, route))
        return True

    # Any request, by ASGI.

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and stop."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            raise RuntimeError(f"{scope['type']} is not served")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.writer.start()
        self.live.start()
        self._patience.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._patience.stop()
        await self.live.stop()
        await self.writer.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        method, path = scope["method"], scope["path"]
        request = Request(method, path, scope.get("query_string", b""), scope["headers"])
        route = self._routes.find(request)
        self._at_once += 1
        try:
            if route is None:
                if path == "/v1/events" and method == "GET":
                    await self._stream(request, receive, send)
                    return
                if self._page.serves(scope):
                    await self._page(scope, receive, send)
                    return
                raise Problem(404, "there is nothing at this address: see /openapi.json")
            handler = route.handlers.get("GET" if method == "HEAD" else method)
            if method == "OPTIONS":
                handler = self._preflight
            if handler is None:
                raise Problem(405, f"this address takes {route.allowed}")
            self._check_load()
            status, body, headers = await self._handled(handler, request, receive)
        except Problem as problem:
            status, body, headers = _refused(problem, request, route)
        except Exception:
            status, body, headers = _refused(_unforeseen(request, route), request, route)
        finally:
            self._at_once -= 1
        await self._respond(request, send, status, body, headers)
        self._note(request, route, status, began)

    async def _handled(self, handler: Handler, request: Request, receive: Receive) -> Answer:
        if not isinstance(handler, Endpoint):
            return await handler(request)
        handler.admit(request)
        raw = b""
        if handler.takes_body:
            raw = await body_of(request, receive, self.limits, self._patience)
        future: asyncio.Future[Answered | Problem] = asyncio.get_running_loop().create_future()

        def done(result: Answered | Problem) -> None:
            if not future.done():
                future.set_result(result)

        handler.begin(request, raw, done)
        result = await future
        if isinstance(result, Problem):
            raise result
        return handler.finish(result)

    async def _respond(
        self, request: Request, send: Send, status: int, body: bytes, headers: Headers
    ) -> None:
        length = (b"content-length", b"%d" % len(body))
        start: Message = {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, length, *self._always(request)],
        }
        if request.method == "HEAD":
            body = b""
        await send(start)
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, request: Request, receive: Receive, send: Send) -> None:
        """Send the changes of bandits until the caller goes away."""
        try:
            caller = self.admit(request)
            only = request.query.get("bandit", caller.bandit)
            caller.require("decide", only)
            events = self.live.events(only)
        except Problem as problem:
            await self._respond(request, send, *_refused(problem, request, None))
            return
        await self.live.send(send, receive, events, self._always(request))

    # What both ways share.

    def _check_load(self) -> None:
        if self._at_once > self.limits.at_once:
            raise Problem(503, "too many requests at once: try again soon", retry_after=1)

    def admit(self, request: Request) -> Caller:
        """Return whom a request comes from; refuse it if it may not come in."""
        host = request.headers.get(b"host", b"localhost")
        if self.keys.is_open and not LOOPBACK_HOSTS.fullmatch(host):
            # A page from elsewhere whose name was pointed to this machine.
            raise Problem(403, "without keys, only requests to a loopback address are taken")
        caller = self.keys.caller(request.text(b"authorization"))
        request.caller = caller
        self._buckets.take(caller.id)
        return caller

    def _always(self, request: Request) -> Headers:
        """Return the headers of every answer."""
        own = (b"x-request-id", request.id.encode())
        origin = request.headers.get(b"origin")
        if origin is None or request.method == "OPTIONS":
            return *ALWAYS, own
        return *ALWAYS, own, *self._origins.headers(origin)

    def _note(self, request: Request, route: Route | None, status: int, began: float) -> None:
        """Count a request that was answered, and log it if that is asked for."""
        seconds = time.perf_counter() - began
        name = _name(route)
        self.metrics.answered(name, status, seconds)
        if self._access_log or status >= 500:
            log.info(
                "request",
                extra={
                    "request_id": request.id,
                    "method": request.method,
                    "route": name,
                    "status": status,
                    "milliseconds": round(1000.0 * seconds, 1),
                    "caller": request.caller.id if request.caller else None,
                },
            )

    # What is not about bandits.

    async def _preflight(self, request: Request) -> Answer:
        """Answer a browser that asks whether a page from elsewhere may call."""
        said = self._origins.preflight(request.headers.get(b"origin"))
        if said is None:
            raise Problem(405, "pages from elsewhere are taken with: handful serve --allow-origin")
        return 204, b"", said

    async def _readyz(self, request: Request) -> Answer:
        if self.writer.failing is not None:
            # A write shows whether there is room again.
            await self.writer.run(lambda session: session.tx.set_number("probe", session.now))
        return 200, msgspec.json.encode(Health("ready")), (JSON,)

    async def _metrics(self, request: Request) -> Answer:
        self.admit(request).require("admin")
        metrics = self.metrics
        metrics.waiting.set(self.writer.waiting)
        metrics.batches.set(self.writer.batches)
        metrics.live.set(len(self.desk.bandits))
        metrics.bytes.set(self.desk.store_bytes())
        metrics.failing.set(self.writer.failing is not None)
        kind = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
        return 200, metrics.text(), (kind,)


def _name(route: Route | None) -> str:
    return "other" if route is None else route.path


def _unforeseen(request: Request, route: Route | None) -> Problem:
    """Log an exception that nobody foresaw, and return what is answered."""
    log.exception("a request failed", extra={"request_id": request.id, "route": _name(route)})
    return Problem(500, "this request failed; the log of the service says why")


def _refused(problem: Problem, request: Request, route: Route | None) -> Answer:
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


async def _openapi(request: Request) -> Answer:
    return 200, openapi.document(), (JSON,)


async def _healthz(request: Request) -> Answer:
    return 200, msgspec.json.encode(Health("ok")), (JSON,)


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
