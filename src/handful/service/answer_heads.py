"""The heads of answers as bytes. Within a second, most differ only in their request id."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from handful.service.asgi import Headers

MOST_KEPT = 256


class Heads:
    """The beginnings of heads that were made of late."""

    def __init__(self) -> None:
        self._default: list[tuple[bytes, bytes]] | None = None
        self._made: dict[tuple[int, Headers], bytes] = {}

    def head(self, status: int, default: list[tuple[bytes, bytes]], headers: Headers) -> bytes:
        """Return the status line and the headers, after which others may follow.

        `default` are the headers of the server: another list every second, for its date.
        """
        if default is not self._default or len(self._made) >= MOST_KEPT:
            self._default = default
            self._made.clear()
        key = status, headers
        found = self._made.get(key)
        if found is None:
            lines = [STATUS_LINE[status]]
            lines += [b"%b: %b\r\n" % each for each in (*default, *headers)]
            found = self._made[key] = b"".join(lines)
        return found
