"""Replies: a status, a body and headers. A refusal is `application/problem+json`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from handful.service.asgi import Headers
from handful.service.problems import Problem
from handful.service.request import Request

Reply: TypeAlias = tuple[int, bytes, Headers]
"""The status, the body and headers."""
SendReply: TypeAlias = Callable[[int, bytes, Headers], None]
SendAnswer: TypeAlias = Callable[[int, bytes, Headers, bytes], None]
"""Also takes the id of the request."""

JSON = (b"content-type", b"application/json")
PROBLEM = (b"content-type", b"application/problem+json")
REPLAYED = (b"idempotency-replayed", b"true")

log = logging.getLogger("handful.service")


def refused(problem: Problem, request: Request, allowed: str | None = None) -> Reply:
    """Return the reply to a request that is refused; `allowed` are the methods that it may have."""
    headers = [PROBLEM]
    if problem.retry_after is not None:
        headers.append((b"retry-after", b"%d" % problem.retry_after))
    if problem.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="handful"'))
    if problem.status == 405 and allowed is not None:
        headers.append((b"allow", allowed.encode()))
    if problem.status in (408, 413):
        headers.append((b"connection", b"close"))
    return problem.status, problem.body(request.id), tuple(headers)


def failed(request: Request, route: str) -> Reply:
    """Log the present exception, which is unexpected, and return the reply."""
    log.exception("a request failed", extra={"request_id": request.id, "route": route})
    return refused(Problem(500, "this request failed; the log of the service says why"), request)
