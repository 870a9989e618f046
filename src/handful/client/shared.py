"""How both clients are constructed."""

from __future__ import annotations

import random
import time

from handful.client.breaker import Breaker
from handful.client.calls import Calls
from handful.client.exchange import Exchange
from handful.client.limits import Limits
from handful.client.wire import base_url, checked_key


class Connected:
    """A service at an address, and the calls of one client."""

    def __init__(self, url: str, key: str | None, limits: Limits | None) -> None:
        limits = limits or Limits()
        self._url = base_url(url)
        self._key = checked_key(key)
        breaker = Breaker(limits.failures, limits.pause)
        self._calls = Calls(Exchange(limits, breaker, time.monotonic, random.random))
