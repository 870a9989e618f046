"""Refusals of requests, as `application/problem+json` that says what to do."""

from __future__ import annotations

import msgspec

TITLES = {
    400: "Bad request",
    401: "A key is needed",
    403: "Not allowed with this key",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    415: "Not JSON",
    422: "Invalid request",
    429: "Too many requests",
    431: "Head too large",
    500: "Something is wrong in the service",
    503: "Unavailable",
}


class Problem(Exception):
    """A request that is refused. Nothing has changed."""

    def __init__(
        self, status: int, detail: str, *, title: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title or TITLES.get(status, "Refused")
        self.detail = detail
        self.retry_after = retry_after

    def body(self, request_id: str) -> bytes:
        """Return the problem as JSON."""
        return msgspec.json.encode(
            {
                "type": "about:blank",
                "title": self.title,
                "status": self.status,
                "detail": self.detail,
                "request_id": request_id,
            }
        )
