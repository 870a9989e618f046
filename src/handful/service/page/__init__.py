"""The page at `/`: static files, served with a strict content security policy."""

from __future__ import annotations

from importlib.resources import files

from handful.service.problems import Problem
from handful.service.replies import Reply
from handful.service.request import Request

KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
)


class Page:
    """The files of the page, in memory."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, bytes]] = {}
        for file in files(__package__).iterdir():
            kind = KINDS.get(f".{file.name.rpartition('.')[2]}")
            if kind is not None:
                self._files[f"/static/{file.name}"] = kind, file.read_bytes()
        if "/static/index.html" in self._files:
            self._files["/"] = self._files.pop("/static/index.html")

    async def __call__(self, request: Request) -> Reply:
        """Return a file."""
        found = self._files.get(request.address)
        if found is None:
            raise Problem(404, "there is no such file of the page: see /")
        kind, body = found
        return 200, body, ((b"content-type", kind), *HEADERS)
