"""A Python client of the service: `Client`, and `AsyncClient` for asyncio.

    with Client("http://127.0.0.1:8000") as client:
        client.create_bandit("front", memory=8, arms=headlines)
        decision = client.decide("front", fallback=headlines[0])
        client.reward(decision, 1.0)

`handful.js` beside this file does the same in browsers and in Node.
"""

from __future__ import annotations

from handful.client.answers import (
    FALLBACK_ID,
    ArmInMemory,
    Bandit,
    Decision,
    Outcome,
    OwnKey,
    Summary,
)
from handful.client.limits import Limits
from handful.errors import MissingExtraError

try:
    from handful.client.asynchronous import AsyncClient
    from handful.client.sync import Client
except ImportError as error:
    if error.name != "httpx":
        raise
    raise MissingExtraError("the client", "httpx", "client") from None

__all__ = [
    "FALLBACK_ID",
    "ArmInMemory",
    "AsyncClient",
    "Bandit",
    "Client",
    "Decision",
    "Limits",
    "Outcome",
    "OwnKey",
    "Summary",
]
