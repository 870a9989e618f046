"""The page at `/`: static files, served with a strict policy of what they may load."""

from __future__ import annotations

from importlib.resources import files

from handful.service.asgi import Receive, Scope, Send

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

    def serves(self, scope: Scope) -> bool:
        """Return whether a request is for a file of the page."""
        return scope["path"] in self._files and scope["method"] in ("GET", "HEAD")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file."""
        kind, body = self._files[scope["path"]]
        headers = [
            (b"content-type", kind),
            (b"content-length", b"%d" % len(body)),
            (b"content-security-policy", POLICY),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cache-control", b"no-cache"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body}
        )
