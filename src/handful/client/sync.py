"""The client for plain Python."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self, overload

import httpx

from handful.client.answers import Bandit, Decision, Outcome, OwnKey, Summary
from handful.client.breaker import Breaker
from handful.client.calls import Calls
from handful.client.exchange import Exchange, NoReply, Reply, Send, Steps, T
from handful.client.limits import Limits
from handful.client.wire import base_url, checked_key, headers_of, no_reply, sent_headers


class Client:
    """The service at an address, for plain Python. May be used by several threads.

    url      where `handful serve` listens, such as "http://127.0.0.1:8000"
    key      a bearer key, if the service asks for one
    limits   time-outs, retries and the circuit breaker (`Limits`)
    http     an `httpx.Client` of yours, for proxies or certificates; it is not closed with this one

    Every call is tried again where that can help, and counted once (`handful.client.exchange`).
    What the service refuses is a `RefusedError` at once; no answer is an `UnavailableError`.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        limits: Limits | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        limits = limits or Limits()
        self._url = base_url(url)
        self._key = checked_key(key)
        self._http = http or httpx.Client()
        self._is_ours = http is None
        breaker = Breaker(limits.failures, limits.pause)
        self._calls = Calls(Exchange(limits, breaker, time.monotonic, random.random))

    def create_bandit(
        self,
        name: str,
        *,
        arms: Iterable[str],
        policy: str = "race",
        memory: int | None = None,
        settings: Mapping[str, float] | None = None,
        seed: int | None = None,
        window: float | None = None,
        default: float | None = None,
        explore: float | None = None,
        rescale: tuple[float, float] | None = None,
        open: bool | None = None,
    ) -> Bandit:
        """Create a bandit; one of that name that exists is a `ConflictError`.

        window    after how many seconds a reward that has not come is written off
        default   the reward of a decision that is written off; None: it counts as lost
        explore   the share of decisions that are uniform, with true probabilities in the log
        rescale   (lo, hi) if rewards lie in [lo, hi] and not in [0, 1]
        open      True if arms will be added for ever, as they are born
        """
        options = {
            "policy": policy, "memory": memory, "arms": arms, "settings": settings, "seed": seed,
            "window": window, "default": default, "explore": explore, "rescale": rescale,
            "open": open,
        }  # fmt: skip
        return self._run(self._calls.create_bandit(name, options))

    def bandit(self, name: str) -> Bandit:
        """Return a bandit: its settings, its counters and the arms that it remembers."""
        return self._run(self._calls.bandit(name))

    def bandits(self, after: str | None = None, page: int = 100) -> Iterator[Summary]:
        """Iterate over all bandits by name, one request for each page."""
        while True:
            listing = self._run(self._calls.bandits(after, page))
            yield from listing.bandits
            after = listing.next
            if after is None:
                return

    def change_bandit(self, name: str, **changes: float | None) -> Bandit:
        """Change `window`, `default` or `explore` of a bandit, and return it."""
        return self._run(self._calls.change_bandit(name, changes))

    def delete_bandit(self, name: str) -> None:
        """Delete a bandit."""
        self._run(self._calls.delete_bandit(name))

    def add_arms(self, name: str, arms: Iterable[str]) -> int:
        """Add arms to a bandit, and return how many it has now."""
        return self._run(self._calls.add_arms(name, arms))

    def remove_arms(self, name: str, arms: Iterable[str]) -> int:
        """Remove arms from a bandit, and return how many it has left."""
        return self._run(self._calls.remove_arms(name, arms))

    @overload
    def decide(
        self, name: str, *, allowed: Iterable[str] | None = None, key: str | None = None,
        fallback: str | None = None, total: float | None = None,
    ) -> Decision: ...  # fmt: skip

    @overload
    def decide(
        self, name: str, n: int, *, allowed: Iterable[str] | None = None,
        keys: Sequence[str] | None = None, fallback: str | None = None,
        total: float | None = None,
    ) -> list[Decision]: ...  # fmt: skip

    def decide(
        self,
        name: str,
        n: int | None = None,
        *,
        allowed: Iterable[str] | None = None,
        key: str | None = None,
        keys: Sequence[str] | None = None,
        fallback: str | None = None,
        total: float | None = None,
    ) -> Decision | list[Decision]:
        """Return an arm and the id for its reward; with n, a list of so many.

        allowed   no other arm is returned
        key       your own id of the decision, by which its reward can be given, too; with n: `keys`
        fallback  the arm to use if the service does not answer. The decision then has
                  `is_fallback`, and its reward is not sent
        total     how many seconds this call may take, if not those of the client's limits
        """
        own = [key] if key is not None else keys
        made = self._run(self._calls.decide(name, n, allowed, own, fallback, total))
        return made if n is not None else made[0]

    def reward(self, decision: Decision | str, reward: float) -> Outcome:
        """Give the reward of a decision, or of its id, and return what became of it.

        The first value counts: the same again is `duplicate` (so is a retry of ours whose first
        answer was lost), another one a `ConflictError`. After its window a reward is `expired`. The
        reward of a fallback is `ignored`.
        """
        return self._run(self._calls.reward(decision, reward))

    def rewards(self, pairs: Iterable[tuple[Decision | str | OwnKey, float]]) -> list[Outcome]:
        """Give many rewards at once, and return what became of each, in order.

        If this fails half-way, call it again with the same pairs: none counts twice.
        """
        return self._run(self._calls.rewards(pairs))

    def drop(self, decision: Decision | str) -> Outcome:
        """Close a decision whose reward will not come, without waiting for its window."""
        return self._run(self._calls.drop(decision))

    def close(self) -> None:
        """Close the connections."""
        if self._is_ours:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, steps: Steps[T]) -> T:
        """Carry out the steps of a call, and return its answer."""
        result: Reply | NoReply | None = None
        try:
            while True:
                step = steps.send(result)
                if isinstance(step, Send):
                    result = self._send(step)
                else:
                    time.sleep(step.seconds)
                    result = None
        except StopIteration as end:
            answer: T = end.value
            return answer

    def _send(self, step: Send) -> Reply | NoReply:
        request = step.request
        until = time.monotonic() + step.timeout
        try:
            with self._http.stream(
                request.method,
                self._url + request.path,
                content=request.body,
                headers=sent_headers(request, self._key),
                timeout=step.timeout,
            ) as response:
                body = bytearray()
                # The time-out of httpx is one for each read, not for all of them.
                for chunk in response.iter_bytes():
                    body += chunk
                    if time.monotonic() > until:
                        raise httpx.ReadTimeout("the answer took too long")
                return Reply(response.status_code, headers_of(response), bytes(body))
        except httpx.RequestError as error:
            return no_reply(error, self._url)
