"""Requests to the application, in this process: no socket, and a clock that is set by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import httpx

from handful.service.app import Service
from handful.service.asgi import Application, Message
from tests.service.world import World

P = ParamSpec("P")
FRONT = {"name": "front", "policy": "race", "memory": 2, "arms": ["a", "b", "c"], "seed": 1}


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test in an event loop."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


class Caller:
    """Sends requests, with a key or without."""

    def __init__(self, world: World, service: Service, client: httpx.AsyncClient) -> None:
        self.world = world
        self.service = service
        self.client = client
        self.key: str | None = None

    async def __call__(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> httpx.Response:
        """Send a request; headers are given with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key is not None:
            named.setdefault("authorization", f"Bearer {self.key}")
        answer = await self.client.request(method, path, json=body, headers=named)
        if answer.status_code >= 400 and method != "HEAD":
            is_problem(answer)
        return answer

    async def front(self, **given: Any) -> Any:
        """Create a bandit and return it."""
        answer = await self("POST", "/v1/bandits", {**FRONT, **given})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def decide(self, name: str = "front", **given: Any) -> Any:
        """Make decisions and return them."""
        answer = await self("POST", f"/v1/bandits/{name}/decisions", given)
        assert answer.status_code == 201, answer.text
        return answer.json()["decisions"]

    async def make_key(self, *scopes: str, bandit: str | None = None) -> Any:
        """Make a key and return it."""
        body = {"name": "a key", "scopes": scopes, "bandit": bandit}
        answer = await self("POST", "/v1/keys", body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def sweep(self, seconds: float) -> None:
        """Let time pass, and windows end."""
        self.world.clock.wait(seconds)
        await self.service.writer.run(lambda session: session.sweep())


def is_problem(answer: httpx.Response) -> None:
    """Check that an answer is a problem of RFC 9457, with its request id."""
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert set(body) == {"type", "title", "status", "detail", "request_id"}
    assert body["status"] == answer.status_code
    assert body["request_id"] == answer.headers["x-request-id"]
    assert body["title"]
    assert body["detail"]


@asynccontextmanager
async def running(app: Application) -> AsyncIterator[None]:
    """Start an application, and stop it at the end of the block, as a server does."""
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    outbox: asyncio.Queue[Message] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan"}, inbox.get, outbox.put))
    await inbox.put({"type": "lifespan.startup"})
    await outbox.get()
    try:
        yield
    finally:
        await inbox.put({"type": "lifespan.shutdown"})
        await outbox.get()
        await task


@asynccontextmanager
async def served(
    path: Path | None = None, *, world: World | None = None, host: str = "localhost", **options: Any
) -> AsyncIterator[Caller]:
    """A service that runs, and a caller of it."""
    here = world or World(path)
    service = Service(here.desk, **options)
    async with running(service):
        transport = httpx.ASGITransport(app=service)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            yield Caller(here, service, client)
