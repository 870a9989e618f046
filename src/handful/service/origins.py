"""Cross-origin requests (CORS): which origins may call the service from a browser."""

from __future__ import annotations

import re

from handful.errors import SettingError
from handful.service.asgi import Headers

_FORM = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")
METHODS = b"GET, POST, PUT, PATCH, DELETE"
SENT = b"Authorization, Content-Type, Idempotency-Key, X-Request-Id"
SEEN = b"Idempotency-Replayed, Retry-After, X-Request-Id"


class Origins:
    """The origins that were allowed; none, unless some are given."""

    def __init__(self, allowed: tuple[str, ...] = ()) -> None:
        for origin in allowed:
            if not _FORM.fullmatch(origin):
                raise SettingError(
                    f"{origin!r} is not an origin: give a scheme and a host, such as "
                    "https://www.example.org"
                )
        self._allowed = frozenset(origin.encode() for origin in allowed)

    def headers(self, origin: bytes | None) -> Headers:
        """Return what an answer to a page from an origin says."""
        if origin is None or origin not in self._allowed:
            return ()
        return (
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", SEEN),
            (b"vary", b"Origin"),
        )

    def preflight(self, origin: bytes | None) -> Headers | None:
        """Return what a browser that asks first is answered; None if it may not call."""
        said = self.headers(origin)
        if not said:
            return None
        return (
            *said,
            (b"access-control-allow-methods", METHODS),
            (b"access-control-allow-headers", SENT),
            (b"access-control-max-age", b"600"),
        )
