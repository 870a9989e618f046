"""Routes: paths with names in braces, and the handlers of their methods."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from handful.service.endpoint import Endpoint
from handful.service.live import Live
from handful.service.replies import Reply
from handful.service.request import Request

Plain: TypeAlias = Callable[[Request], Awaitable[Reply]]
Handler: TypeAlias = Endpoint | Live | Plain


class Route:
    """A path with names in braces, and what handles its methods."""

    def __init__(self, path: str) -> None:
        self.path = path
        parts = re.split(r"{(\w+)}", path)
        pattern = ""
        for i, part in enumerate(parts):
            if i % 2 == 0:
                pattern += re.escape(part)
            else:
                pattern += f"(?P<{part}>{'.+' if part == 'label' else '[^/]+'})"
        self.pattern = re.compile(pattern, re.DOTALL)
        self.handlers: dict[str, Handler] = {}

    @property
    def allowed(self) -> str:
        """The methods that this address takes, as the header `Allow` lists them."""
        return ", ".join([*self.handlers, *(["HEAD"] if self.handler("HEAD") else [])])

    def handler(self, method: str) -> Handler | None:
        """Return what handles a method. HEAD is GET without a body, but for a stream."""
        if method != "HEAD":
            return self.handlers.get(method)
        found = self.handlers.get("GET")
        return None if isinstance(found, Live) else found


class Routes:
    """All routes. Those that were added first are tried first."""

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}

    def add(self, method: str, path: str, handler: Handler) -> None:
        """Add what handles a method of a path."""
        self._routes.setdefault(path, Route(path)).handlers[method] = handler

    def find(self, request: Request) -> Route | None:
        """Return where a request leads, and note the names in its path."""
        address = request.address
        found = self._routes.get(address)
        if found is not None and "{" not in address:
            return found
        for route in self._routes.values():
            match = route.pattern.fullmatch(address)
            if match:
                request.path = match.groupdict()
                return route
        return None
