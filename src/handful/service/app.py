"""The HTTP application: every request passes through `Service`, which calls an operation.

    request id -> route -> limits -> caller -> body -> operation (in the writer) -> JSON

A refusal anywhere on the way is answered as `application/problem+json`. There are two ways in:
`answer` is called with requests for operations that have come as a whole, and calls back; anything
else comes by ASGI. Both ways hand a request for an operation to its `Endpoint`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time

import msgspec

from handful.service import openapi
from handful.service.answer_heads import Heads
from handful.service.api import OPERATIONS
from handful.service.asgi import Headers, Message, Receive, Scope, Send
from handful.service.auth import ANYBODY, Caller, Keys, had_key
from handful.service.bodies import Health
from handful.service.desk import Desk
from handful.service.endpoint import Endpoint
from handful.service.limits import Buckets, Limits, Patience
from handful.service.live import Events, Live
from handful.service.metrics import Metrics
from handful.service.origins import Origins
from handful.service.page import Page
from handful.service.problems import Problem
from handful.service.replies import JSON, Reply, SendAnswer, failed, refused
from handful.service.request import Request, body_of
from handful.service.routes import Handler, Plain, Route, Routes
from handful.service.writer import Writer

log = logging.getLogger("handful.service")

NO_SNIFF = (b"x-content-type-options", b"nosniff")
NO_STORE = (b"cache-control", b"no-store")
STANDARD = (NO_SNIFF, NO_STORE)
"""Headers of every answer."""
READ_AT_ONCE = 2**16
"""Bytes that are read from a connection at once. asyncio would make room for 256 KiB for each
request, which the system then has to map."""
LOOPBACK_HOSTS = re.compile(rb"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?", re.IGNORECASE)
OF_PROXIES = frozenset(
    b"forwarded via x-real-ip x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto "
    b"x-forwarded-server".split()
)
"""Headers that proxies add."""
OFTEN = ("decide", "reward")
"""Operations whose routes are tried first."""


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
        self.heads = Heads()
        self.received = memoryview(bytearray(READ_AT_ONCE))
        """What was read last from any connection; it is used up before the next one is read."""
        self.limits = limits = limits or Limits()
        self.metrics = Metrics()
        with desk.batch() as session:
            needed = key_needed or had_key(session.tx)
            self.keys = Keys(session.tx.caller_keys(), needed)
        desk.keys = self.keys
        self.live = Live(self.writer, desk, self.keys, limits.streams)
        self._buckets = Buckets(limits.per_second)
        self._origins = origins or Origins()
        self._patience = Patience(limits.body_seconds)
        self._at_once = 0
        self._access_log = access_log
        self._routes = Routes()
        for operation in sorted(OPERATIONS, key=lambda each: each.name not in OFTEN):
            self._routes.add(operation.method, operation.path, Endpoint(operation, self))
        self._routes.add("GET", "/v1/events", self.live)
        page = Page()
        self._routes.add("GET", "/", page)
        self._routes.add("GET", "/static/{file}", page)
        self._routes.add("GET", "/openapi.json", _openapi)
        self._routes.add("GET", "/healthz", _healthz)
        self._routes.add("GET", "/readyz", self._readyz)
        self._routes.add("GET", "/metrics", self._metrics)

    # A request for an operation that has come as a whole.

    def answer(self, request: Request, raw: bytes, reply: SendAnswer) -> bool:
        """Answer a request by a call of `reply`; return False if it must come by ASGI."""
        route = self._routes.find(request)
        endpoint = None if route is None else route.handlers.get(request.method)
        if not isinstance(endpoint, Endpoint) or len(raw) > self.limits.body_bytes:
            return False
        began = time.perf_counter()

        def done(status: int, body: bytes, headers: Headers) -> None:
            self._at_once -= 1
            reply(status, body, headers + self._standard(request), request.id.encode())
            self._note(request, route, status, began)

        self._at_once += 1
        endpoint.handle(request, raw, done)
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
        events = None
        self._at_once += 1
        try:
            handler = self._handler(route, method)
            if isinstance(handler, Live):
                events = self._subscribed(request)
                reply: Reply = 200, b"", ()
            else:
                reply = await self._handled(handler, request, receive)
        except Problem as problem:
            reply = refused(problem, request, None if route is None else route.allowed)
        except Exception:
            reply = failed(request, _name(route))
        finally:
            self._at_once -= 1
        if events is None:
            await self._respond(request, send, reply)
        self._note(request, route, reply[0], began)
        if events is not None:
            await self.live.send(send, receive, events, self._with_id(request))

    def _handler(self, route: Route | None, method: str) -> Handler:
        """Return what handles a request."""
        if route is None:
            raise Problem(404, "there is nothing at this address: see /openapi.json")
        found = self._preflight if method == "OPTIONS" else route.handler(method)
        if found is None:
            raise Problem(405, f"this address takes {route.allowed}")
        return found

    async def _handled(
        self, handler: Endpoint | Plain, request: Request, receive: Receive
    ) -> Reply:
        if not isinstance(handler, Endpoint):
            return await handler(request)
        handler.admit(request)
        raw = b""
        if handler.takes_body:
            raw = await body_of(request, receive, self.limits, self._patience)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

        def done(status: int, body: bytes, headers: Headers) -> None:
            if not future.done():
                future.set_result((status, body, headers))

        handler.handle(request, raw, done)
        return await future

    async def _respond(self, request: Request, send: Send, reply: Reply) -> None:
        status, body, headers = reply
        standard = self._with_id(request)
        if any(name == b"cache-control" for name, _ in headers):
            standard = tuple(each for each in standard if each != NO_STORE)
        length = () if status == 204 else ((b"content-length", b"%d" % len(body)),)
        start: Message = {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, *length, *standard],
        }
        if request.method == "HEAD":
            body = b""
        await send(start)
        await send({"type": "http.response.body", "body": body})

    def _subscribed(self, request: Request) -> Events:
        """Return the stream of events that a caller asks for."""
        caller = self.admit(request)
        only = request.query.get("bandit", caller.bandit)
        caller.require("decide", only)
        return self.live.events(only, caller.id)

    # What both ways share.

    def admit(self, request: Request) -> Caller:
        """Return whom a request comes from; refuse it if it may not come in."""
        if self._at_once > self.limits.at_once:
            raise Problem(503, "too many requests at once: try again soon", retry_after=1)
        if self.keys.is_open:
            _check_local(request.headers)
            caller = ANYBODY
        else:
            caller = self.keys.caller(request.text(b"authorization"))
        request.caller = caller
        self._buckets.take(caller.id)
        return caller

    def _standard(self, request: Request) -> Headers:
        """Return the headers of every answer, but for the id of the request."""
        origin = request.headers.get(b"origin")
        if origin is None or request.method == "OPTIONS":
            return STANDARD
        return STANDARD + self._origins.headers(origin)

    def _with_id(self, request: Request) -> Headers:
        return *self._standard(request), (b"x-request-id", request.id.encode())

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

    async def _preflight(self, request: Request) -> Reply:
        """Answer a browser that asks whether a page from elsewhere may call."""
        said = self._origins.preflight(request.headers.get(b"origin"))
        if said is None:
            raise Problem(405, "pages from elsewhere are taken with: handful serve --allow-origin")
        return 204, b"", said

    async def _readyz(self, request: Request) -> Reply:
        if self.writer.failing is not None:
            # A write shows whether there is room again.
            await self.writer.run(lambda session: session.tx.set_number("probe", session.now))
        return 200, msgspec.json.encode(Health("ready")), (JSON,)

    async def _metrics(self, request: Request) -> Reply:
        self.admit(request).require("admin")
        metrics = self.metrics
        metrics.waiting.set(self.writer.waiting)
        metrics.batches.set(self.writer.batches)
        metrics.live.set(len(self.desk.bandits))
        metrics.bytes.set(self.desk.store_bytes())
        metrics.failing.set(self.writer.failing is not None)
        kind = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
        return 200, metrics.text(), (kind,)


def _check_local(headers: dict[bytes, bytes]) -> None:
    """Refuse a request that does not come from this machine, as far as its headers say."""
    if not LOOPBACK_HOSTS.fullmatch(headers.get(b"host", b"localhost")):
        # A page from elsewhere whose name was pointed to this machine.
        raise Problem(403, "without keys, only requests to a loopback address are taken")
    if not OF_PROXIES.isdisjoint(headers):
        raise Problem(
            403,
            "this request came through a proxy, which may forward for anybody, and the store has "
            "no key: make one with `handful keys add --scope admin`",
        )


def _name(route: Route | None) -> str:
    return "other" if route is None else route.path


async def _openapi(request: Request) -> Reply:
    return 200, openapi.document(), (JSON,)


async def _healthz(request: Request) -> Reply:
    return 200, msgspec.json.encode(Health("ok")), (JSON,)
