"""Conversion between the client's requests and replies and those of httpx."""

from __future__ import annotations

import httpx

from handful.client.exchange import NoReply, Request
from handful.errors import SettingError


def base_url(url: str) -> str:
    """Return the address of a service without a slash at its end."""
    if not url.startswith(("http://", "https://")):
        raise SettingError(f"url={url!r}: give an address such as http://127.0.0.1:8000")
    return url.rstrip("/")


def checked_key(key: str | None) -> str | None:
    """Return a bearer key that a header can carry. The message does not show it."""
    if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
        raise SettingError("the key is empty, or has a space or a character that no key has")
    return key


def sent_headers(request: Request, key: str | None) -> dict[str, str]:
    """Return the headers of a request."""
    headers = {"Accept": "application/json", "User-Agent": "handful-client"}
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    if request.idempotency_key is not None:
        headers["Idempotency-Key"] = request.idempotency_key
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return headers


def headers_of(response: httpx.Response) -> dict[str, str]:
    """Return the headers of an answer by their names in lower case."""
    return {name.lower(): value for name, value in response.headers.items()}


def no_reply(error: Exception, url: str) -> NoReply:
    """Say why there was no answer."""
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return NoReply(f"no answer from {url} in time")
    if isinstance(error, httpx.ConnectError):
        return NoReply(f"no connection to {url} ({error}): is `handful serve` running there?")
    return NoReply(f"the connection to {url} broke ({error})")
