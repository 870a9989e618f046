"""Pages from elsewhere may call the service only if their origin was allowed."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from handful.errors import SettingError
from handful.service.app import Service
from handful.service.desk import Desk
from handful.service.origins import Origins
from handful.storage import MemoryStorage
from tests.service.requests import running

SHOP = "https://shop.example.org"


async def ask(method: str, origin: str | None, path: str = "/v1/bandits") -> httpx.Response:
    """Send a request as a browser does for a page of an origin."""
    app = Service(Desk(MemoryStorage()), origins=Origins((SHOP,)))
    headers = {} if origin is None else {"Origin": origin}
    async with running(app):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, headers=headers)


@pytest.mark.parametrize(
    ("method", "origin", "status", "allowed"),
    [
        ("GET", SHOP, 200, SHOP),
        ("GET", "https://other.example.org", 200, None),
        ("GET", None, 200, None),
        ("OPTIONS", SHOP, 204, SHOP),
        ("OPTIONS", "https://other.example.org", 405, None),
        ("OPTIONS", None, 405, None),
    ],
)
def test_an_origin_is_named_only_if_it_was_allowed(
    method: str, origin: str | None, status: int, allowed: str | None
) -> None:
    answer = asyncio.run(ask(method, origin))
    assert answer.status_code == status
    assert answer.headers.get("access-control-allow-origin") == allowed
    if method == "OPTIONS" and allowed:
        assert "Idempotency-Key" in answer.headers["access-control-allow-headers"]
        assert "PUT" in answer.headers["access-control-allow-methods"]


def test_a_page_may_ask_for_events() -> None:
    """A browser that asked first was answered by 404."""
    assert asyncio.run(ask("OPTIONS", SHOP, "/v1/events")).status_code == 204


@pytest.mark.parametrize("origin", ["*", "shop.example.org", "https://a b", "https://a/path", ""])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(SettingError, match="is not an origin"):
        Origins((origin,))
