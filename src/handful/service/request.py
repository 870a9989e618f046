"""A request on its way through the service, and how its body is read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from random import getrandbits
from urllib.parse import parse_qsl

from handful.service.asgi import Receive
from handful.service.auth import Caller
from handful.service.limits import Limits, Patience
from handful.service.problems import Problem

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,100}")


class Request:
    """The head of a request, and what was found out about it."""

    __slots__ = ("address", "caller", "headers", "id", "method", "path", "query_string")

    def __init__(
        self,
        method: str,
        address: str,
        query_string: bytes,
        headers: Mapping[bytes, bytes] | Iterable[tuple[bytes, bytes]],
    ) -> None:
        self.method = method
        self.address = address
        """The path that was asked for."""
        self.query_string = query_string
        self.headers: dict[bytes, bytes] = dict(headers)
        self.path: dict[str, str] = {}
        """The names in the path."""
        self.caller: Caller | None = None
        given = self.headers.get(b"x-request-id")
        if given is not None and _REQUEST_ID.fullmatch(given):
            self.id = given.decode()
        else:
            self.id = getrandbits(64).to_bytes(8).hex()  # to tell requests apart, not a secret

    @property
    def query(self) -> dict[str, str]:
        """The parameters in the address."""
        if not self.query_string:
            return {}
        try:
            text = self.query_string.decode("ascii")
            return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=20))
        except ValueError:
            raise Problem(400, "the query of this address cannot be read") from None

    def text(self, header: bytes) -> str | None:
        """Return a header as text; None if it was not sent."""
        found = self.headers.get(header)
        return None if found is None else found.decode("latin-1")


async def body_of(request: Request, receive: Receive, limits: Limits, patience: Patience) -> bytes:
    """Return the whole body, if it is not too large and comes in time."""
    length = request.headers.get(b"content-length", b"0")
    if length.isdigit() and int(length[:20]) > limits.body_bytes:
        raise _too_large(limits)
    task = patience.begin()
    try:
        return await _chunks(receive, limits)
    except asyncio.CancelledError:
        patience.refuse_if_late(task)
        raise
    finally:
        patience.end(task)


async def _chunks(receive: Receive, limits: Limits) -> bytes:
    chunks = []
    size = 0
    while True:
        message = await receive()
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
