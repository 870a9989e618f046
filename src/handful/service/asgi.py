"""The types of ASGI, the interface by which the HTTP server calls the application.

The application has its own routing: a dozen paths need no framework, and each request passes
through one function that can be read from top to bottom.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]
Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
